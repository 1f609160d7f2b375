"""Both libraries, in front of a broker that falls silent: what they give up is what is reported, exactly."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, KafkaTimeoutError
from kafka.structs import OffsetAndMetadata
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from collector.clients import (
    CommitFailed,
    ConfluentKafkaTimeoutInstrumentor,
    DeliveryReports,
    EventsReporter,
    KafkaPythonTimeoutInstrumentor,
    OpenTelemetryReporter,
    Retried,
    Timeout,
)
from deadwatch.runtime.kafka import KafkaConnection
from lab.broker import LoneBroker
from lab.faults import Partition
from lab.proxy import Proxy
from lab.topics import Topics
from tests.kafka_topics import messages
from tests.unit.collector.clients.seen import Seen, counted, instrumented
from tests.waiting import eventually

WITHIN_S = 60.0
OnDelivery = Callable[[confluent_kafka.KafkaError | None, confluent_kafka.Message], None]
PARTITIONS = 2
DELIVERY_MS = 4_000
"""Enough for what has to arrive before the broker falls silent."""


@pytest.fixture
def proxy(broker: LoneBroker) -> Iterator[Proxy]:
    with broker.proxy as running:
        yield running


def silence(proxy: Proxy) -> None:
    """The broker takes what comes and answers nothing any more."""
    proxy.inject(Partition(WITHIN_S * 10, requests=True, answers=True))


@pytest.fixture
def topic(broker: LoneBroker) -> str:
    name = f"clients-{uuid.uuid4()}"
    Topics(broker.bootstrap_servers).create(name, partitions=PARTITIONS)
    return name


watched = partial(instrumented, ConfluentKafkaTimeoutInstrumentor())


@pytest.fixture
def seen() -> Iterator[Seen]:
    """What both libraries report."""
    with instrumented(KafkaPythonTimeoutInstrumentor(), Seen()) as seen, watched(seen):
        yield seen


@contextmanager
def producing(servers: str, client_id: str) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(
        bootstrap_servers=servers,
        client_id=client_id,
        linger_ms=100,
        request_timeout_ms=1_500,
        delivery_timeout_ms=DELIVERY_MS,
        max_block_ms=DELIVERY_MS,
        enable_idempotence=False,  # else nothing expires after the first, which waits for a new id
    )
    try:
        yield producer
    finally:
        producer.close(timeout=1)  # what it has to tell, it has told


def test_kafka_python_tells_each_expired_batch_once_with_all_its_records(
    proxy: Proxy, topic: str, seen: Seen
) -> None:
    with producing(proxy.address, "p-1") as producer:
        producer.send(topic, b"arrives", partition=0).get(WITHIN_S)
        silence(proxy)
        futures = [producer.send(topic, b"x" * 1_000, partition=number % PARTITIONS) for number in range(50)]
        assert eventually(lambda: all(future.is_done for future in futures))
    truth = Counter(str(future.exception) for future in futures)
    assert {type(future.exception) for future in futures} == {KafkaTimeoutError}
    assert len({id(future.exception) for future in futures}) == len(seen.expired) > PARTITIONS
    assert Counter({expired.message: expired.records for expired in seen.expired}) == truth
    assert {(expired.client_id, expired.topic) for expired in seen.expired} == {("p-1", topic)}
    assert Counter(expired.partition for expired in seen.expired).keys() == set(range(PARTITIONS))
    assert all(DELIVERY_MS <= expired.elapsed_ms < WITHIN_S * 1_000 for expired in seen.expired)


def test_kafka_python_tells_request_timeouts_retries_and_waits_for_metadata(
    proxy: Proxy, topic: str, seen: Seen
) -> None:
    with producing(proxy.address, "p-2") as producer:
        producer.send(topic, b"arrives", partition=0).get(WITHIN_S)
        silence(proxy)
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


def test_kafka_python_tells_a_late_poll_and_the_commit_that_comes_too_late(
    broker: LoneBroker, topic: str, seen: Seen
) -> None:
    """It is a member, and does not poll any more until it has been dismissed."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        client_id=f"g-{topic}",
        group_id=f"g-{topic}",
        max_poll_interval_ms=4_000,
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
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


def expire(proxy: Proxy, topic: str, callback: OnDelivery | None) -> None:
    """Produce a record that arrives and 60 that do not; every other one has the callback, if there is one."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": proxy.address,
            "client.id": "c-1",
            "log_level": 0,
            "delivery.timeout.ms": DELIVERY_MS,
        }
    )
    producer.list_topics(topic, WITHIN_S)  # what a first connection takes is not the record's time
    producer.produce(topic, b"arrives", partition=0, on_delivery=callback)
    assert producer.flush(WITHIN_S) == 0
    silence(proxy)
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

    expire(proxy, topic, callback)
    assert heard == [("", 0), *[("_MSG_TIMED_OUT", 1)] * 30]
    assert eventually(lambda: sum(each.records for each in seen.expired) == 60)
    places = ((each.topic, each.partition) for each in seen.expired for _ in range(each.records))
    assert Counter(places) == {(topic, 0): 30, (topic, 1): 30}, "noticed in one round or several"
    assert {(each.client_id, each.error) for each in seen.expired} == {("c-1", "_MSG_TIMED_OUT")}
    assert all(DELIVERY_MS - 500 <= each.elapsed_ms < WITHIN_S * 1_000 for each in seen.expired)


def test_expired_records_arrive_as_events_and_as_metrics_when_only_failures_are_reported(
    proxy: Proxy, broker: LoneBroker, topic: str
) -> None:
    reader = InMemoryMetricReader()
    metrics = OpenTelemetryReporter(MeterProvider([reader]))
    events_topic = f"events-{topic}"
    Topics(broker.bootstrap_servers).create(events_topic)
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    events = EventsReporter(kafka, kafka_cluster="lab", topic=events_topic)
    with watched(Seen(), metrics, events, delivery_reports=DeliveryReports.FAILURES):
        expire(proxy, topic, None)
    published: list[Any] = []

    def all_arrived() -> bool:
        """A thread reports them, soon after they have expired."""
        found = messages(broker.bootstrap_servers, events_topic)
        published[:] = [json.loads(one.value() or b"") for one in found]
        return sum(int(each["records"]) for each in published) == 60

    assert eventually(all_arrived)
    places = ((each["topic"], each["partition"]) for each in published for _ in range(each["records"]))
    assert Counter(places) == {(topic, 0): 30, (topic, 1): 30}
    assert {each["client"] for each in published} == {"librdkafka"}
    positions = [tuple(each["position"]) for each in published]
    assert positions == sorted(set(positions))
    assert len({each["source"] for each in published}) == 1
    assert events.close(10_000) == events.dropped == 0
    assert {name: value for name, (value, _) in counted(reader).items()} == {
        "deadwatch.client.delivery_timeouts": len(published),
        "deadwatch.client.delivery_timeout.records": 60,
    }


def test_confluent_kafka_tells_a_late_poll_and_the_commit_that_comes_too_late(
    broker: LoneBroker, topic: str, seen: Seen
) -> None:
    group = f"g-{topic}"
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
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
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
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
