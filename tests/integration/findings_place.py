"""From a wrong configuration of a real broker or Connect to what the api says of it."""

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import UnknownTopicOrPartitionError

from api.signals.findings import finding_rows
from collector.sources.brokers.dead_letter_topics import DeadLetterTopicsSource
from deadwatch.contract.events import FindingsSnapshot
from deadwatch.contract.events.findings import FindingKind
from lab import Lab
from tests.integration.collected import Collected, collected, topics_source
from tests.waiting import until

WITHIN_S = 30
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


@dataclass
class Way:
    """From the configurations through the collector's source and the store to what the api reads."""

    source: DeadLetterTopicsSource
    store: Collected
    others: Found = field(default_factory=set)

    def found(self) -> Found:
        """What is found now besides what was there before."""
        chunk = self.source.poll()
        assert chunk is not None
        assert not chunk.trouble
        (snapshot,) = (one for one in chunk.events if isinstance(one, FindingsSnapshot))
        self.store.apply(snapshot)
        with self.store.read() as connection:
            return {(row.kind, row.subject) for row in finding_rows(connection)} - self.others

    def until_found(self, *expected: tuple[FindingKind, str]) -> None:
        """Return when exactly these are found."""
        wanted = {(kind.value, subject) for kind, subject in expected}
        seen: Found = set()

        def agrees() -> bool:
            nonlocal seen
            seen = self.found()
            return seen == wanted

        until(agrees, lambda: f"{seen} instead of {wanted}")


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Iterator[Way]:
    source = topics_source(lab)
    with collected(tmp_path) as store:
        opened = Way(source, store)
        opened.others = opened.found()
        yield opened
    source.close()


@pytest.fixture
def admin(lab: Lab) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers)
    yield client
    client.close()


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
def queue(admin: KafkaAdminClient, name: str = QUEUE, **settings: str) -> Iterator[None]:
    configs = {key.replace("_", "."): value for key, value in settings.items()}
    admin.create_topics([NewTopic(name, 1, 1, topic_configs=configs)], wait_for_metadata=True)
    try:
        yield
    finally:
        with contextlib.suppress(UnknownTopicOrPartitionError):
            admin.delete_topics([name])


@contextmanager
def records(lab: Lab, topic: str, count: int, timestamp_ms: int | None = None) -> Iterator[None]:
    producer = KafkaProducer(bootstrap_servers=lab.bootstrap_servers)
    try:
        for _ in range(count):
            producer.send(topic, b"x", timestamp_ms=timestamp_ms).get(WITHIN_S)
    finally:
        producer.close()
    yield
