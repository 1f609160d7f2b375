"""The source of dead letter topics: which there are, how much they hold, since when, consumed or not.

A topic is a dead letter topic when a pattern of ``dlq_topics`` matches it, or when a share group or connector
names it as its dead letter queue. The topics of what redrives have parked (``<topic>.parked``) are measured
beside theirs.

What a topic holds is its backlog: a dead letter is handled when it is no longer there, by retention or
because somebody deleted it. The committed offsets of its consumers say nothing about that: whoever looks at
dead letters reads them without having handled one.

What it asks serves the findings too: see ``findings``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from collector.settings import CollectorSettings
from collector.sources.brokers import kafka_admin
from collector.sources.brokers.findings_watch import FindingsWatch
from collector.sources.brokers.kafka_admin import Extent, Names
from collector.sources.source import Chunk, Publishing, Snapshots, down
from deadwatch.contract.events import DeadLetterTopic, DeadLetterTopicsSnapshot
from deadwatch.contract.topics import PARKED_SUFFIX, is_dead_letter_topic, is_internal
from deadwatch.runtime import kafka_topics
from deadwatch.runtime.kafka_topics import Layout

MAX_TOPICS: Final = 2_000
"""How many topics one event holds; those with the most records go first."""


class DeadLetterTopicsSource:
    """Polls Kafka's admin interface and the REST of the Connect clusters."""

    kind = "dead_letter_topics"

    def __init__(self, settings: CollectorSettings, publishing: Publishing) -> None:
        self.name = f"dead-letter-topics:{settings.name}"
        self.poll_interval_ms = settings.dlq_topics_poll_interval_ms
        self._settings = settings
        self._snapshots = Snapshots(self.name, publishing)
        self._names = Names(settings.connect, self._snapshots.saved)
        self._findings = FindingsWatch(settings, self._snapshots.saved, publishing)
        self._extents: dict[str, Extent] = {}
        self._admin: KafkaAdminClient | None = None

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        self._names.ask_connect()
        troubles = self._ask_kafka()
        topics = sorted(self._topics(), key=lambda topic: (-topic.records, topic.topic))
        kept = self._snapshots.fitting(topics, MAX_TOPICS)
        if len(kept) < len(topics):
            troubles.append("there are more topics than one event holds; the smallest are left out")
        left_out, found = self._findings.due()
        troubles += left_out
        events = (*self._snapshots.due(DeadLetterTopicsSnapshot, dead_letter_topics=kept), *found)
        return self._snapshots.chunk(events, troubles, **self._names.state(), **self._findings.state())

    def close(self) -> None:
        """Close all connections that are open."""
        self._names.close()
        self._findings.close()
        self._disconnect()

    def _ask_kafka(self) -> list[str]:
        """Ask Kafka; what could not be asked of single topics."""
        try:
            if self._admin is None:
                self._admin = kafka_topics.connect(self._settings.kafka)
            troubles = [*self._names.ask_share_groups(self._admin)]
            layouts = kafka_topics.topics(self._admin)  # after the names: what they name may be new
            troubles += self._measure(self._admin, layouts)
            # What is denied is a group's queue all the same.
            named = (topic for topic in self._names.topics() if not is_internal(topic))
            judged = frozenset(filter(self._is_read, layouts)).union(named)
            return [
                *troubles,
                *self._findings.judge(self._admin, self._names, judged, layouts, self._extents),
            ]
        except KafkaError as error:
            self._disconnect()
            text = (
                f"Kafka does not describe its topics ({type(error).__name__}): the backlog of dead letters "
                "is not known; check the brokers and our permission to Describe"
            )
            raise down("looking up dead letter topics", text, error) from None

    def _measure(self, admin: KafkaAdminClient, layouts: Mapping[str, Layout]) -> Iterator[str]:
        """Measure dead letter topics and those of parked ones; without a leader one keeps what was known."""
        queues, named = {topic: topic.removesuffix(PARKED_SUFFIX) for topic in layouts}, self._named()
        read = {topic for topic, queue in queues.items() if self._is_read(queue) or queue in named}
        measured = {topic: layout for topic, layout in layouts.items() if topic in read}
        led = {topic: layout.partitions for topic, layout in measured.items() if layout.led}
        known = {topic: extent for topic, extent in self._extents.items() if topic in measured}
        self._extents = known | kafka_admin.extents(admin, led)
        if leaderless := sorted(measured.keys() - led.keys()):
            yield f"{leaderless[0]} has a partition without leader, its backlog is not known; see the brokers"

    def _is_read(self, topic: str) -> bool:
        return is_dead_letter_topic(topic, self._settings.dlq_topics, self._settings.dlq_topics_deny)

    def _named(self) -> set[str]:
        """The topics that configurations name, without internal and denied ones."""
        never = self._settings.dlq_topics_deny
        return {topic for topic in self._names.topics() if not is_internal(topic) and topic not in never}

    def _topics(self) -> Iterator[DeadLetterTopic]:
        missing = dict.fromkeys(self._named(), Extent())
        for topic, extent in (missing | self._extents).items():
            named_by, read = self._names.of(topic), self._is_read(topic)
            yield DeadLetterTopic(topic=topic, **asdict(extent), named_by=named_by, read=read)

    def _disconnect(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
