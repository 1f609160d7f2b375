"""Topics that are truncated, deleted and made anew while the query runs or is away: counted, never silent."""

import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from lab.lone_broker import LoneBroker
from tests.integration.test_streaming import Streaming, Traffic, eventually

pytestmark = pytest.mark.integration
PARTITIONS = 2


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with LoneBroker() as broker:
        yield broker.bootstrap_servers


class Queue:
    """A dead letter topic whose records, deletions and new lives are told."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._servers = servers

    def create(self) -> None:
        """Make it; again and again until the old one is gone."""
        assert eventually(self._created)

    def _created(self) -> bool:
        created = self._admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])[self.name]
        return created.exception() is None

    def delete(self) -> None:
        """Delete it."""
        self._admin.delete_topics([self.name])[self.name].result()

    def write(self, records: int) -> None:
        """As many to every partition, by a producer that has not known an earlier topic of this name."""
        producer = Producer({"bootstrap.servers": self._servers})
        errors: list[KafkaError] = []
        for number in range(records * PARTITIONS):
            producer.produce(
                self.name,
                b"v",
                partition=number % PARTITIONS,
                on_delivery=lambda error, _: errors.append(error) if error else None,
            )
        assert producer.flush(30) == 0
        assert not errors

    def truncate(self, offset: int) -> None:
        """Delete what is before ``offset`` of every partition."""
        places = [TopicPartition(self.name, partition, offset) for partition in range(PARTITIONS)]
        for deleted in self._admin.delete_records(places).values():
            deleted.result()


class Counted:
    """What is in the store of a stream."""

    def __init__(self, directory: Path) -> None:
        self._url = f"sqlite:///{directory / 'deadwatch.db'}"

    def __call__(self) -> dict[tuple[str, ...], int]:
        """Records by topic, what was missed by topic and reason; nothing that is 0."""
        totals: Counter[tuple[str, ...]] = Counter()
        for name, labels, value in self._rows():
            told = json.loads(labels)
            if name == "dead_letters":
                totals[(told["dlq_topic"],)] += value
            elif name == "records_missed":
                totals[told["topic"], told["reason"]] += value
        return {key: value for key, value in totals.items() if value}

    def _rows(self) -> list[tuple[str, str, int]]:
        engine = create_engine(self._url)
        try:
            with contextlib.suppress(DBAPIError), engine.connect() as connection:
                rows = connection.execute(text("SELECT name, labels, value FROM series"))
                return [(name, labels, value) for name, labels, value in rows]
        finally:
            engine.dispose()
        return []


@pytest.fixture
def traffic(servers: str) -> Traffic:
    return Traffic(servers, f"gaps-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def queue(servers: str, traffic: Traffic) -> Queue:
    return Queue(servers, traffic.dlq_topic)


@pytest.fixture
def streaming(servers: str, traffic: Traffic, tmp_path: Path) -> Streaming:
    return Streaming(servers, traffic, tmp_path)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def test_what_retention_took_while_the_query_was_away_is_counted(
    streaming: Streaming, queue: Queue, counted: Counted
) -> None:
    name = queue.name
    queue.write(30)
    with streaming.running():
        assert eventually(lambda: counted() == {(name,): 60}), (counted(), streaming.log())
    queue.write(50)
    queue.truncate(60)
    with streaming.running():
        expected = {(name,): 100, (name, "deleted_unread"): 60}
        assert eventually(lambda: counted() == expected), (counted(), streaming.log())
        queue.truncate(70)  # of what was read
        queue.write(5)
        expected[name,] += 10
        assert eventually(lambda: counted() == expected), (counted(), streaming.log())


def test_a_topic_made_anew_is_counted_from_its_beginning(
    streaming: Streaming, traffic: Traffic, queue: Queue, counted: Counted
) -> None:
    name = queue.name
    queue.write(30)
    with streaming.running():
        assert eventually(lambda: counted() == {(name,): 60}), (counted(), streaming.log())
        for records, total in ((50, 160), (10, 180)):  # more than before, and less
            queue.delete()
            queue.create()
            queue.write(records)
            assert eventually(lambda: counted() == {(name,): total}), (counted(), streaming.log())  # noqa: B023 -- called at once
        traffic.write(1)
        assert eventually(lambda: counted() == {(name,): 185}), (counted(), streaming.log())
    queue.delete()
    queue.create()
    queue.write(200)
    with streaming.running():
        assert eventually(lambda: counted() == {(name,): 585}), (counted(), streaming.log())
    assert "Traceback" not in streaming.log()


def test_a_deleted_topic_holds_nothing_up(
    servers: str, streaming: Streaming, traffic: Traffic, queue: Queue, counted: Counted
) -> None:
    name, other = queue.name, Queue(servers, traffic.quarantine_topic)
    other.create()
    queue.write(30)
    with streaming.running():
        assert eventually(lambda: counted() == {(name,): 60}), (counted(), streaming.log())
        queue.delete()
        for records in range(1, 4):
            other.write(1)
            expected = {(name,): 60, (other.name,): 2 * records}
            assert eventually(lambda: counted() == expected), (counted(), streaming.log())  # noqa: B023 -- called at once


def test_a_topic_that_appears_is_read_by_the_running_query(
    streaming: Streaming, traffic: Traffic, queue: Queue, counted: Counted
) -> None:
    queue.delete()
    traffic.write_corrupt()
    with streaming.running():
        assert eventually(lambda: streaming.totals().get("quarantined") == 1), streaming.log()
        queue.create()
        queue.write(1)
        assert eventually(lambda: counted().get((queue.name,)) == 2), streaming.log()
