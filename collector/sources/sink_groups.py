"""The consumer groups of sink connectors, asked for over one connection that is made when it is needed.

Connect names the consumer of a task ``connector-consumer-<connector>-<task>``: so a member's partitions are
those of a task. A RUNNING task that is no member has been thrown out (``max.poll.interval.ms``): the
partitions that nobody holds wait for it. Under client ids of another making (``consumer.override.client.id``)
partitions can only be told apart where a connector has a single task.
"""

from collections.abc import Collection

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from collector.kafka import KafkaConnection
from collector.sources import consumer_groups, kafka_topics
from collector.sources.abandoned import Key
from collector.sources.consumer_groups import Extents, Group
from collector.sources.stalled import Extent


class SinkGroups:
    """Asks one Kafka cluster; ``troubles`` are those of the latest round."""

    def __init__(self, connection: KafkaConnection) -> None:
        self.troubles: list[str] = []
        self._connection = connection
        self._admin: KafkaAdminClient | None = None
        self._proofs: dict[tuple[TopicPartition, Extent], bool] = {}
        self._used: dict[tuple[TopicPartition, Extent], bool] = {}

    def ask(self, names: Collection[str]) -> dict[str, Group | None]:
        """The groups; none where Kafka does not tell. A new round begins."""
        self._proofs, self._used, self.troubles = self._used, {}, []
        if not names:
            return {}
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._connection)
            groups = consumer_groups.read(self._admin, names)
        except KafkaError as error:
            self.close()
            self._complain(f"Kafka does not tell of the groups of sinks ({type(error).__name__})")
            return {}
        if unseen := sorted(name for name, group in groups.items() if group is None):
            self._complain(f"Kafka does not tell of group {unseen[0]}; allow us to Describe it")
        return groups

    def a_record_waits(self, extents: Extents, beyond: int) -> bool:
        """Whether one of the partitions has a record further than ``beyond`` from its committed offset."""
        return any(
            self._proven(place, Extent(extent.committed + beyond, extent.end))
            for place, extent in extents.items()
            if extent.committed + beyond < extent.end
        )

    def close(self) -> None:
        """Let go of the connection."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _proven(self, place: TopicPartition, extent: Extent) -> bool:
        known = self._proofs.get((place, extent))
        if known is None:
            try:
                known = consumer_groups.a_record_waits(self._connection, place, extent)
            except KafkaError as error:
                self._complain(f"{place.topic} cannot be read ({type(error).__name__}); allow us to Read it")
                return False
        self._used[place, extent] = known
        return known

    def _complain(self, what: str) -> None:
        trouble = f"{what}: whether records wait for sinks is not known"
        if trouble not in self.troubles:
            self.troubles.append(trouble)


def of_task(key: Key, group: Group, *, only: bool) -> Extents:
    """The part of its group that waits for a task; ``only``: its connector has no other."""
    prefix = f"connector-consumer-{key.connector}-"
    taken = frozenset[TopicPartition]().union(*group.held.values())
    places = group.held.get(prefix + key.task)
    if places is None and all(client_id.startswith(prefix) for client_id in group.held):
        places = frozenset(group.extents) - taken
    elif places is None:
        places = taken if only else frozenset()
    return {place: group.extents[place] for place in sorted(places) if place in group.extents}
