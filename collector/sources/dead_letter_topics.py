"""The source of dead letter topics: which there are, how much they hold, since when, consumed or not.

A topic is a dead letter topic when a pattern of ``dlq_topics`` matches it, or when a share group or connector
names it as its dead letter queue.

What a topic holds is its backlog: a dead letter is handled when it is no longer there, by retention or
because somebody deleted it. The committed offsets of its consumers say nothing about that: whoever looks at
dead letters reads them without having handled one.
"""

from collections.abc import Callable, Iterator
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from collector.contract.events import DeadLetterTopic, DeadLetterTopicsSnapshot
from collector.contract.topics import is_dead_letter_topic, is_internal
from collector.settings import CollectorSettings
from collector.sources import kafka_topics
from collector.sources.dead_letter_names import Names
from collector.sources.kafka_topics import Extent
from collector.sources.snapshots import Snapshots
from collector.sources.source import Chunk, SourceDownError, State

MAX_TOPICS: Final = 2_000
"""How many topics one event holds; those with the most records go first."""


def source_name(settings: CollectorSettings) -> str:
    """The source's name."""
    return f"dead-letter-topics:{settings.name}"


class DeadLetterTopicsSource:
    """Polls Kafka's admin interface and the REST of the Connect clusters."""

    kind = "dead_letter_topics"

    def __init__(self, settings: CollectorSettings, *, saved: State | None, clock: Callable[[], int]) -> None:
        self.name = source_name(settings)
        self.poll_interval_ms = settings.dlq_topics_poll_interval_ms
        self._settings = settings
        self._names = Names(settings.connect, saved)
        self._snapshots = Snapshots(saved, settings.heartbeat_interval_ms, clock)
        self._extents: dict[str, Extent] = {}
        self._admin: KafkaAdminClient | None = None

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        self._names.ask_connect()
        troubles = self._ask_kafka()
        topics = sorted(self._topics(), key=lambda topic: (-topic.records, topic.topic))
        if len(topics) > MAX_TOPICS:
            troubles.append(f"there are more than {MAX_TOPICS} dead letter topics; the smallest are left out")
        events = self._due(tuple(topics[:MAX_TOPICS]))
        if not events and not troubles:
            return None
        return Chunk(events, {**self._snapshots.state(), **self._names.state()}, "; ".join(troubles))

    def close(self) -> None:
        """Let go of the connections."""
        self._names.close()
        self._let_go()

    def _ask_kafka(self) -> list[str]:
        """Learn what Kafka knows; what it does not tell of single topics."""
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._settings.kafka)
            return [*self._names.ask_share_groups(self._admin), *self._measure(self._admin)]
        except KafkaError as error:
            self._let_go()
            raise SourceDownError(
                f"Kafka does not tell of its topics ({type(error).__name__}): the backlog of dead letters is "
                "not known; check the brokers and our permission to Describe"
            ) from None

    def _measure(self, admin: KafkaAdminClient) -> Iterator[str]:
        """Measure the topics that have leaders; the others keep what was known of them."""
        wanted = {topic: places for topic, places in kafka_topics.topics(admin).items() if self._wants(topic)}
        led = {topic: places for topic, places in wanted.items() if places is not None}
        known = {topic: extent for topic, extent in self._extents.items() if topic in wanted}
        self._extents = known | kafka_topics.extents(admin, led)
        if leaderless := sorted(wanted.keys() - led.keys()):
            yield f"{leaderless[0]} has a partition without leader, its backlog is not known; see the brokers"

    def _wants(self, topic: str) -> bool:
        return self._is_read(topic) or topic in self._named()

    def _is_read(self, topic: str) -> bool:
        return is_dead_letter_topic(topic, self._settings.dlq_topics, self._settings.dlq_topics_deny)

    def _named(self) -> set[str]:
        """What configurations name, without what we never look at."""
        never = self._settings.dlq_topics_deny
        return {topic for topic in self._names.topics() if not is_internal(topic) and topic not in never}

    def _topics(self) -> Iterator[DeadLetterTopic]:
        missing = dict.fromkeys(self._named(), Extent())
        for topic, extent in (missing | self._extents).items():
            yield DeadLetterTopic(
                topic=topic,
                partitions=extent.partitions,
                records=extent.records,
                oldest_at_ms=extent.oldest_at_ms,
                named_by=self._names.of(topic),
                read=self._is_read(topic),
            )

    def _due(self, topics: tuple[DeadLetterTopic, ...]) -> tuple[DeadLetterTopicsSnapshot, ...]:
        moment = self._snapshots.due(topics)
        if moment is None:
            return ()
        snapshot = DeadLetterTopicsSnapshot(
            source=self.name,
            position=moment.position,
            happened_at_ms=moment.now_ms,
            observed_at_ms=moment.now_ms,
            kafka_cluster=self._settings.kafka_cluster,
            dead_letter_topics=topics,
        )
        return (snapshot,)

    def _let_go(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
