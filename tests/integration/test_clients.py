"""Both libraries, in front of a broker that falls silent: what they give up is what is reported, exactly."""

import json
import selectors
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, KafkaTimeoutError
from kafka.structs import OffsetAndMetadata
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Sum

from collector.clients import (
    CommitFailed,
    ConfluentKafkaTimeoutInstrumentor,
    DeliveryReports,
    EventsReporter,
    Expired,
    KafkaPythonTimeoutInstrumentor,
    Observation,
    OpenTelemetryReporter,
    Reporter,
    Retried,
    TimedOut,
    Timeout,
)
from collector.kafka import KafkaConnection
from lab import Lab
from lab.topics import Topics

pytestmark = pytest.mark.integration
WITHIN_S = 60.0
OnDelivery = Callable[[confluent_kafka.KafkaError | None, confluent_kafka.Message], None]
PARTITIONS = 2


class Seen:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.all: list[Observation] = []

    def report(self, seen: Observation) -> None:
        self.all.append(seen)

    @property
    def expired(self) -> list[Expired]:
        return [seen for seen in self.all if isinstance(seen, Expired)]

    def timeouts(self, client_id: str) -> Counter[Timeout]:
        return Counter(
            seen.timeout for seen in self.all if isinstance(seen, TimedOut) and seen.client_id == client_id
        )


class Proxy:
    """Stands before the broker, also for the address that the broker tells, until it falls silent."""

    def __init__(self, broker: str) -> None:
        host, port = broker.split(":")
        self._broker = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._silent = threading.Event()
        self._stopped = threading.Event()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        told = [host.encode() + at[1].to_bytes(4) for at in (self._broker, self._listener.getsockname())]
        self._rename = (told[0], told[1])
        self._thread = threading.Thread(target=self._run, name="proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()
        for each in (*self._peers, self._listener):
            each.close()
        self._selector.close()

    def silence(self) -> None:
        """Take what comes and answer nothing any more."""
        self._silent.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            for key, _ in self._selector.select(0.05):
                if key.data is None:
                    self._accept()
                else:
                    self._forward(key.data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        broker = socket.create_connection(self._broker)
        self._peers |= {client: broker, broker: client}
        for each in (client, broker):
            self._selector.register(each, selectors.EVENT_READ, each)

    def _forward(self, reader: socket.socket) -> None:
        with suppress(OSError):
            data = reader.recv(1 << 20)
            if data and not self._silent.is_set():
                self._peers[reader].sendall(data.replace(*self._rename))
            if data:
                return
        self._selector.unregister(reader)
        with suppress(OSError):
            self._peers[reader].shutdown(socket.SHUT_WR)


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + WITHIN_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def proxy(lab: Lab) -> Iterator[Proxy]:
    with Proxy(lab.bootstrap_servers) as running:
        yield running


@pytest.fixture
def topic(lab: Lab) -> str:
    name = f"clients-{uuid.uuid4()}"
    Topics(lab.bootstrap_servers).create(name, partitions=PARTITIONS)
    return name


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def instrumented(seen: Seen) -> Iterator[None]:
    with kafka_python(seen), confluent(DeliveryReports.ALL, seen):
        yield


@contextmanager
def kafka_python(*reporters: Reporter) -> Iterator[None]:
    instrumentor = KafkaPythonTimeoutInstrumentor()
    instrumentor.instrument(reporters=reporters)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextmanager
def confluent(delivery_reports: DeliveryReports, *reporters: Reporter) -> Iterator[None]:
    instrumentor = ConfluentKafkaTimeoutInstrumentor()
    instrumentor.instrument(reporters=reporters, delivery_reports=delivery_reports)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextmanager
def producing(servers: str, client_id: str) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(
        bootstrap_servers=servers,
        client_id=client_id,
        linger_ms=100,
        request_timeout_ms=700,
        delivery_timeout_ms=2_000,
        max_block_ms=1_000,
        enable_idempotence=False,  # else nothing expires after the first, which waits for a new id
    )
    try:
        yield producer
    finally:
        producer.close(timeout=WITHIN_S)


@pytest.mark.usefixtures("instrumented")
def test_kafka_python_tells_each_expired_batch_once_with_all_its_records(
    proxy: Proxy, topic: str, seen: Seen
) -> None:
    with producing(proxy.address, "p-1") as producer:
        producer.send(topic, b"arrives", partition=0).get(WITHIN_S)
        proxy.silence()
        futures = [producer.send(topic, b"x" * 1_000, partition=number % PARTITIONS) for number in range(50)]
        assert eventually(lambda: all(future.is_done for future in futures))
    truth = Counter(str(future.exception) for future in futures)
    assert {type(future.exception) for future in futures} == {KafkaTimeoutError}
    assert len({id(future.exception) for future in futures}) == len(seen.expired) > PARTITIONS
    assert Counter({expired.message: expired.records for expired in seen.expired}) == truth
    assert {(expired.client_id, expired.topic) for expired in seen.expired} == {("p-1", topic)}
    assert Counter(expired.partition for expired in seen.expired).keys() == set(range(PARTITIONS))
    assert all(2_000 <= expired.elapsed_ms < WITHIN_S * 1_000 for expired in seen.expired)


@pytest.mark.usefixtures("instrumented")
def test_kafka_python_tells_request_timeouts_retries_and_waits_for_metadata(
    proxy: Proxy, topic: str, seen: Seen
) -> None:
    with producing(proxy.address, "p-2") as producer:
        producer.send(topic, b"arrives", partition=0).get(WITHIN_S)
        proxy.silence()
        future = producer.send(topic, b"x", partition=0)
        with pytest.raises(KafkaTimeoutError, match="Failed to update metadata"):
            producer.send(f"{topic}-unknown", b"x")
        assert eventually(lambda: future.is_done)
    timeouts = seen.timeouts("p-2")
    assert timeouts[Timeout.METADATA] == 1
    assert timeouts[Timeout.REQUEST] >= 1
    retried = [retry for retry in seen.all if isinstance(retry, Retried)]
    assert {(retry.topic, retry.records) for retry in retried} == {(topic, 1)}
    assert sum(expired.records for expired in seen.expired) == 1


def late(servers: str, group: str) -> KafkaConsumer:
    """A consumer that is a member, and does not poll any more until it has been dismissed."""
    return KafkaConsumer(
        bootstrap_servers=servers,
        client_id=group,
        group_id=group,
        max_poll_interval_ms=1_000,
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )


@pytest.mark.usefixtures("instrumented")
def test_kafka_python_tells_a_late_poll_and_the_commit_that_comes_too_late(
    lab: Lab, topic: str, seen: Seen
) -> None:
    consumer = late(lab.bootstrap_servers, f"g-{topic}")
    try:
        assert eventually(lambda: bool(consumer.partitions_for_topic(topic)))  # else nothing is assigned
        consumer.subscribe([topic])
        assert eventually(lambda: consumer.poll(timeout_ms=100) == {} and bool(consumer.assignment()))
        assert eventually(lambda: bool(seen.timeouts(f"g-{topic}")))
        with pytest.raises(CommitFailedError):
            consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(1, "", -1)})
    finally:
        consumer.close()
    assert seen.timeouts(f"g-{topic}") == {Timeout.POLL: 1, Timeout.COMMIT: 1}
    assert [type(each).__name__ for each in seen.all if isinstance(each, CommitFailed)] == ["CommitFailed"]


def expire(address: str, topic: str, silence: Callable[[], None], callback: OnDelivery | None) -> None:
    """Produce a record that arrives and 60 that do not; every other one has the callback, if there is one."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "client.id": "c-1", "log_level": 0, "delivery.timeout.ms": 1_500}
    )
    producer.produce(topic, b"arrives", partition=0, on_delivery=callback)
    assert producer.flush(WITHIN_S) == 0
    silence()
    for number in range(60):
        on_delivery = callback if number % 2 else None
        producer.produce(topic, b"x", partition=number % PARTITIONS, on_delivery=on_delivery)
    assert producer.flush(WITHIN_S) == 0


def test_confluent_kafka_tells_every_expired_record_and_callbacks_hear_what_they_ever_heard(
    proxy: Proxy, topic: str, seen: Seen
) -> None:
    heard: list[tuple[str, int | None]] = []

    def callback(error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
        heard.append(("" if error is None else error.name(), message.partition()))

    with confluent(DeliveryReports.ALL, seen):
        expire(proxy.address, topic, proxy.silence, callback)
    assert heard == [("", 0), *[("_MSG_TIMED_OUT", 1)] * 30]
    assert eventually(lambda: len(seen.expired) == PARTITIONS)
    assert {(each.topic, each.partition, each.records) for each in seen.expired} == {
        (topic, 0, 30),
        (topic, 1, 30),
    }
    assert {(each.client_id, each.error) for each in seen.expired} == {("c-1", "_MSG_TIMED_OUT")}
    assert all(1_000 <= each.elapsed_ms < WITHIN_S * 1_000 for each in seen.expired)


def test_expired_records_arrive_as_events_and_as_metrics_when_only_failures_are_reported(
    proxy: Proxy, lab: Lab, topic: str
) -> None:
    reader = InMemoryMetricReader()
    metrics = OpenTelemetryReporter(MeterProvider([reader]))
    events_topic = f"events-{topic}"
    Topics(lab.bootstrap_servers).create(events_topic)
    kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
    events = EventsReporter(kafka, kafka_cluster="lab", topic=events_topic)
    with confluent(DeliveryReports.FAILURES, metrics, events):
        expire(proxy.address, topic, proxy.silence, None)
    published = read_events(lab, events_topic, PARTITIONS)
    assert sorted((each["topic"], each["partition"], each["records"]) for each in published) == [
        (topic, 0, 30),
        (topic, 1, 30),
    ]
    assert {each["client"] for each in published} == {"librdkafka"}
    positions = [tuple(each["position"]) for each in published]
    assert positions == sorted(set(positions))
    assert len({each["source"] for each in published}) == 1
    assert events.close(10_000) == events.dropped == 0
    assert counted(reader) == {
        "deadwatch.client.delivery_timeouts": PARTITIONS,
        "deadwatch.client.delivery_timeout.records": 60,
    }


def read_events(lab: Lab, topic: str, count: int) -> list[dict[str, Any]]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": lab.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        return [json.loads(message.value() or b"") for message in consumer.consume(count, WITHIN_S)]
    finally:
        consumer.close()


def counted(reader: InMemoryMetricReader) -> dict[str, int]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: sum(int(point.value) for point in metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if isinstance(metric.data, Sum)
    }


def test_confluent_kafka_tells_a_late_poll_and_the_commit_that_comes_too_late(
    lab: Lab, topic: str, seen: Seen
) -> None:
    group = f"g-{topic}"
    with confluent(DeliveryReports.ALL, seen):
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": lab.bootstrap_servers,
                "client.id": "c-2",
                "group.id": group,
                "session.timeout.ms": 6_000,
                "max.poll.interval.ms": 6_000,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
    try:
        consumer.subscribe([topic])
        assert eventually(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()))
        admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
        assert eventually(lambda: not members(admin, group))
        with pytest.raises(confluent_kafka.KafkaException):
            consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 1)], asynchronous=False)
        message = consumer.poll(WITHIN_S)
        assert message is not None
        assert message.error() is not None
    finally:
        consumer.close()
    assert seen.timeouts("c-2") == {Timeout.POLL: 1, Timeout.COMMIT: 1}


def members(admin: AdminClient, group: str) -> int:
    return len(admin.describe_consumer_groups([group])[group].result(WITHIN_S).members)
