"""The findings of a collector from poll to poll: what they are judged by, what is told, what stays known."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from collector.contract.events import FindingsSnapshot
from collector.contract.topics import is_dead_letter_topic
from collector.settings import CollectorSettings
from collector.sources import kafka_settings
from collector.sources.dead_letter_names import Names
from collector.sources.findings import Told, bounded, findings, restored, saved
from collector.sources.findings_picture import Broker, Picture, Topic
from collector.sources.findings_share import suspects
from collector.sources.kafka_topics import Extent, Layout
from collector.sources.share_rejections import Rejections
from collector.sources.snapshots import Snapshots
from collector.sources.source import State


class FindingsWatch:
    """Looks at what the source of dead letter topics has asked, and asks for the rest."""

    def __init__(self, settings: CollectorSettings, before: State | None, clock: Callable[[], int]) -> None:
        state = (before or {}).get("findings", {})
        self._name = f"findings:{settings.name}"
        self._settings = settings
        self._clock = clock
        self._snapshots = Snapshots(state, settings.heartbeat_interval_ms, clock)
        self._rejections = Rejections(settings.brokers)
        self._suspects = frozenset[str](state.get("suspects", ()))
        self._told: Told = restored(state.get("told", {}))

    def look(
        self,
        admin: KafkaAdminClient,
        names: Names,
        wanted: frozenset[str],
        layouts: Mapping[str, Layout],
        extents: Mapping[str, Extent],
    ) -> Iterator[str]:
        """Judge anew; yields what may not be seen. Raises ``KafkaError``."""
        settings = kafka_settings.of_topics(admin, sorted(wanted & layouts.keys()))
        absent = wanted - layouts.keys()
        hidden = kafka_settings.hidden_topics(admin, sorted(absent))
        picture = replace(
            self._asked(admin, names),
            topics=_topics(settings, layouts, extents),
            named=wanted & names.topics() - frozenset(self._settings.dlq_topics_deny),
            missing=absent - hidden,
        )
        self._suspects, self._told = picture.suspects, findings(picture, self._told)
        if closed := sorted(name for name in wanted & layouts.keys() if self._is_closed(name, layouts[name])):
            yield f"dead letters of {closed[0]} may not be read: allow us Read on it, or deny it"
        yield from _refusals(picture, {*hidden, *(name for name, told in settings.items() if told is None)})

    def _is_closed(self, topic: str, layout: Layout) -> bool:
        """Whether its dead letters would be counted if they might be read."""
        patterns, deny = self._settings.dlq_topics, self._settings.dlq_topics_deny
        return not layout.readable and is_dead_letter_topic(topic, patterns, deny)

    def _asked(self, admin: KafkaAdminClient, names: Names) -> Picture:
        """The picture without its topics."""
        ids, brokers = _brokers(admin)
        return Picture(
            now_ms=self._clock(),
            warning_ms=self._settings.dlq_expiry_warning_ms,
            kafka_cluster=self._settings.kafka_cluster,
            bootstrap_servers=self._settings.kafka.bootstrap_servers,
            patterns=self._settings.dlq_topics,
            deny=self._settings.dlq_topics_deny,
            share_version=kafka_settings.share_version(admin),
            brokers=brokers,
            broker_ids=ids,
            queues=names.queues,
            connectors=names.connectors,
            suspects=suspects(self._suspects, names.queues, grew=self._rejections.grew()),
        )

    def due(self) -> tuple[list[str], tuple[FindingsSnapshot, ...]]:
        """What is left out, and the snapshot if it is due."""
        kept, left_out = bounded(self._told)
        troubles = [f"there are {left_out} findings more than one event holds"] if left_out else []
        moment = self._snapshots.due(kept)
        if moment is None:
            return troubles, ()
        snapshot = FindingsSnapshot(
            source=self._name,
            position=moment.position,
            happened_at_ms=moment.now_ms,
            observed_at_ms=moment.now_ms,
            kafka_cluster=self._settings.kafka_cluster,
            findings=kept,
        )
        return troubles, (snapshot,)

    def state(self) -> dict[str, object]:
        """What to save."""
        told, suspected = saved(self._told), sorted(self._suspects)
        return {"findings": {**self._snapshots.state(), "told": told, "suspects": suspected}}

    def close(self) -> None:
        """Let go of the connections."""
        self._rejections.close()


def _topics(
    settings: Mapping[str, dict[str, str] | None],
    layouts: Mapping[str, Layout],
    extents: Mapping[str, Extent],
) -> dict[str, Topic]:
    """The dead letter topics that exist."""
    return {
        name: Topic(layouts[name].replicas, extents[name].oldest_at_ms if name in extents else None, told)
        for name, told in settings.items()
    }


def _brokers(admin: KafkaAdminClient) -> tuple[tuple[int, ...], dict[int, Broker | None]]:
    """The ids of all brokers, and the settings of those that are up, None where one does not tell."""
    brokers = admin.describe_cluster()["brokers"]
    up = [broker["broker_id"] for broker in brokers if not broker.get("is_fenced")]
    try:
        settings = kafka_settings.of_brokers(admin, up)
    except KafkaError:
        settings = dict.fromkeys(up)
    return tuple(sorted(broker["broker_id"] for broker in brokers)), settings


def _refusals(picture: Picture, topics: Iterable[str]) -> Iterator[str]:
    """Why something cannot be judged; what was told of it stays."""
    if None in picture.brokers.values():
        yield "a broker does not tell its settings: check it, and allow us DescribeConfigs on the cluster"
    if unread := sorted(topics):
        yield f"settings of {unread[0]} may not be read: allow us Describe and DescribeConfigs on it"
