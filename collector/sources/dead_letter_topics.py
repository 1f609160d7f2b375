"""The source of dead letter topics: which there are, how much they hold, since when, consumed or not.

A topic is a dead letter topic when a pattern of ``dlq_topics`` matches it, or when a share group or connector
names it as its dead letter queue. The topics of what redrives have parked (``<topic>.parked``) are measured
beside theirs.

What a topic holds is its backlog: a dead letter is handled when it is no longer there, by retention or
because somebody deleted it. The committed offsets of its consumers say nothing about that: whoever looks at
dead letters reads them without having handled one.

What it asks serves the findings too: see ``findings``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from collector.contract.events import DeadLetterTopic, DeadLetterTopicsSnapshot
from collector.contract.topics import PARKED_SUFFIX, is_dead_letter_topic, is_internal
from collector.settings import CollectorSettings
from collector.sources import kafka_topics
from collector.sources.dead_letter_names import Names
from collector.sources.findings_watch import FindingsWatch
from collector.sources.kafka_timeouts import down
from collector.sources.kafka_topics import Extent, Layout
from collector.sources.snapshots import Snapshots
from collector.sources.source import Chunk, State

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
        self._findings = FindingsWatch(settings, saved, clock)
        self._extents: dict[str, Extent] = {}
        self._admin: KafkaAdminClient | None = None

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        self._names.ask_connect()
        troubles = self._ask_kafka()
        topics = sorted(self._topics(), key=lambda topic: (-topic.records, topic.topic))
        if len(topics) > MAX_TOPICS:
            troubles.append(f"there are more than {MAX_TOPICS} dead letter topics; the smallest are left out")
        left_out, found = self._findings.due()
        troubles += left_out
        events = (*self._due(tuple(topics[:MAX_TOPICS])), *found)
        if not events and not troubles:
            return None
        state = {**self._snapshots.state(), **self._names.state(), **self._findings.state()}
        return Chunk(events, state, "; ".join(troubles))

    def close(self) -> None:
        """Let go of the connections."""
        self._names.close()
        self._findings.close()
        self._let_go()

    def _ask_kafka(self) -> list[str]:
        """Learn what Kafka knows; what it does not tell of single topics."""
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._settings.kafka)
            troubles = [*self._names.ask_share_groups(self._admin)]
            layouts = kafka_topics.topics(self._admin)  # after the names: what they name may be new
            return [*troubles, *self._measure(self._admin, layouts), *self._look(self._admin, layouts)]
        except KafkaError as error:
            self._let_go()
            text = (
                f"Kafka does not tell of its topics ({type(error).__name__}): the backlog of dead letters is "
                "not known; check the brokers and our permission to Describe"
            )
            raise down("looking up dead letter topics", text, error) from None

    def _measure(self, admin: KafkaAdminClient, layouts: Mapping[str, Layout]) -> Iterator[str]:
        """Measure the topics that have leaders; the others keep what was known of them."""
        wanted = {topic: layout for topic, layout in layouts.items() if self._wants(topic)}
        led = {topic: layout.partitions for topic, layout in wanted.items() if layout.led}
        known = {topic: extent for topic, extent in self._extents.items() if topic in wanted}
        self._extents = known | kafka_topics.extents(admin, led)
        if leaderless := sorted(wanted.keys() - led.keys()):
            yield f"{leaderless[0]} has a partition without leader, its backlog is not known; see the brokers"

    def _look(self, admin: KafkaAdminClient, layouts: Mapping[str, Layout]) -> Iterator[str]:
        """Judge what is read and what is named; what is denied is a group's queue all the same."""
        named = (topic for topic in self._names.topics() if not is_internal(topic))
        wanted = frozenset(filter(self._is_read, layouts)).union(named)
        return self._findings.look(admin, self._names, wanted, layouts, self._extents)

    def _wants(self, topic: str) -> bool:
        """Whether it is measured: a dead letter topic, or that of what was parked of one."""
        queue = topic.removesuffix(PARKED_SUFFIX)
        return self._is_read(queue) or queue in self._named()

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
