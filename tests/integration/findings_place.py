"""From a wrong configuration of a real broker or Connect to what the api says of it."""

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import UnknownTopicOrPartitionError

from api.store import every_row
from collector.sources.brokers.dead_letter_topics import DeadLetterTopicsSource
from deadwatch.contract.events import FindingsSnapshot
from deadwatch.contract.events.findings import FindingKind
from deadwatch.store import schema
from lab import Lab
from tests.integration.collected import Collected, snapshot
from tests.kafka_topics import producing
from tests.waiting import until

GROUP = "findings-group"
SINK = "findings-sink"
QUEUE = "dlq.findings"
SINK_QUEUE = "dlq.findings-sink"
ORDERS = "findings-orders"
NAME = "errors.deadletterqueue.topic.name"
ENABLED = "errors.deadletterqueue.group.enable"
CREATES = "errors.deadletterqueue.auto.create.topics.enable"
Found = set[tuple[str, str]]
Settings = Mapping[str, str]
NONE: Settings = MappingProxyType({})


@dataclass
class Way:
    """From the configurations through the collector's source and the store to what the api reads."""

    source: DeadLetterTopicsSource
    store: Collected
    others: Found = field(default_factory=set)

    def found(self) -> Found:
        """What is found now besides what was there before."""
        self.store.apply(snapshot(self.source, FindingsSnapshot))
        with self.store.read() as connection:
            return {(row.kind, row.subject) for row in every_row(connection, schema.findings)} - self.others

    def until_found(self, *expected: tuple[FindingKind, str]) -> None:
        """Return when exactly these are found."""
        wanted = {(kind.value, subject) for kind, subject in expected}
        seen: Found = set()

        def agrees() -> bool:
            nonlocal seen
            seen = self.found()
            return seen == wanted

        until(agrees, lambda: f"{seen} instead of {wanted}")


def alter(admin: KafkaAdminClient, kind: ConfigResourceType, name: str, settings: Settings) -> None:
    answer = admin.alter_configs([ConfigResource(kind, name, dict(settings))])
    assert answer[kind.name.lower()][name] == "OK"


@contextmanager
def altered(
    admin: KafkaAdminClient, kind: ConfigResourceType, name: str, settings: Settings, back: Settings
) -> Iterator[None]:
    alter(admin, kind, name, settings)
    try:
        yield
    finally:
        alter(admin, kind, name, back)


@contextmanager
def queue(
    admin: KafkaAdminClient, name: str = QUEUE, settings: Settings = NONE, partitions: int = 1
) -> Iterator[None]:
    topic = NewTopic(name, partitions, 1, topic_configs=dict(settings))
    admin.create_topics([topic], wait_for_metadata=True)
    try:
        yield
    finally:
        with contextlib.suppress(UnknownTopicOrPartitionError):
            admin.delete_topics([name])


@contextmanager
def records(lab: Lab, topic: str, count: int, timestamp_ms: int = 0) -> Iterator[None]:
    with producing(lab.bootstrap_servers) as producer:
        for _ in range(count):
            producer.produce(topic, b"x", timestamp=timestamp_ms)
    yield
