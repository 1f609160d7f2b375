"""The watching subclasses of confluent-kafka, with the real library and a broker that does not exist."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.serialization import StringSerializer

from collector.clients import (
    CommitFailed,
    ConfluentKafkaTimeoutInstrumentor,
    DeliveryReports,
    Expired,
    Observation,
    TimedOut,
    Timeout,
)

CONFIG = {
    "bootstrap.servers": "127.0.0.1:1",
    "client.id": "c-1",
    "log_level": 0,
    "delivery.timeout.ms": 1_000,
    "linger.ms": 0,
}
CONFIG_OF_A_CONSUMER: dict[str, Any] = {
    "bootstrap.servers": "127.0.0.1:1",
    "group.id": "g",
    "log_level": 0,
    "session.timeout.ms": 500,
    "heartbeat.interval.ms": 100,
}
WITHIN_S = 30


class Seen:
    """A reporter that wakes whoever waits for it."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.all: list[Observation] = []
        self.first = threading.Event()
        self._failure = failure

    def report(self, seen: Observation) -> None:
        self.all.append(seen)
        self.first.set()
        if self._failure is not None:
            raise self._failure


@contextmanager
def instrumented(reporter: Seen, delivery_reports: DeliveryReports = DeliveryReports.ALL) -> Iterator[None]:
    instrumentor = ConfluentKafkaTimeoutInstrumentor()
    instrumentor.instrument(reporters=[reporter], delivery_reports=delivery_reports)
    try:
        yield
    finally:
        instrumentor.uninstrument()


class Application:
    """Its callbacks, and what they have heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_delivery(self, error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
        self.heard.append(f"{error and error.name()} {message.topic()} {message.value()!r}")

    def ignored(self, *_: object) -> None:
        self.heard.append("what nobody should hear")


Produce = Callable[[confluent_kafka.Producer, Application], object]
WAYS: dict[str, tuple[dict[str, object], Produce]] = {
    "by name": ({}, lambda p, a: p.produce("orders", value=b"x", on_delivery=a.on_delivery)),
    "by its other name": ({}, lambda p, a: p.produce("orders", value=b"x", callback=a.on_delivery)),
    "by both, where one rules": (
        {},
        lambda p, a: p.produce("orders", b"x", callback=a.on_delivery, on_delivery=a.ignored),
    ),
    "by position": ({}, lambda p, a: p.produce("orders", b"x", None, -1, a.on_delivery)),
    "for a batch": ({}, lambda p, a: p.produce_batch("orders", [{"value": b"x"}], on_delivery=a.on_delivery)),
    "in a batch": (
        {},
        lambda p, a: p.produce_batch("orders", [{"value": b"x", "callback": a.on_delivery}]),
    ),
    "for the producer, and a batch without": (
        {"on_delivery": True},
        lambda p, _: p.produce_batch("orders", [{"value": b"x"}]),
    ),
    "for the producer": ({"on_delivery": True}, lambda p, _: p.produce("orders", b"x")),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_callback_hears_what_it_ever_heard_when_it_is_given(way: str) -> None:
    more, produce = WAYS[way]
    seen, application = Seen(), Application()
    with instrumented(seen):
        callbacks = dict.fromkeys(more, application.on_delivery)
        producer = confluent_kafka.Producer(CONFIG | callbacks)
        produce(producer, application)
        assert producer.flush(WITHIN_S) == 0
    assert application.heard == ["_MSG_TIMED_OUT orders b'x'"]
    assert seen.first.wait(WITHIN_S)
    [expired] = seen.all
    assert isinstance(expired, Expired)
    assert (expired.client, expired.client_id, expired.topic, expired.records) == (
        "librdkafka",
        "c-1",
        "orders",
        1,
    )


def test_a_batch_is_given_back_as_it_was() -> None:
    application = Application()
    message: dict[str, Any] = {"value": b"x", "callback": application.on_delivery}
    with instrumented(Seen()):
        producer = confluent_kafka.Producer(CONFIG)
        producer.produce_batch("orders", [message])
        producer.flush(WITHIN_S)
    assert message == {"value": b"x", "callback": application.on_delivery}


def test_a_batch_that_the_library_refuses_is_refused_as_ever() -> None:
    with instrumented(Seen()):
        producer = confluent_kafka.Producer(CONFIG)
        with pytest.raises(TypeError, match="dict"):
            producer.produce_batch("orders", [3])  # type: ignore[list-item]  # on purpose


@pytest.mark.parametrize("delivery_reports", DeliveryReports)
def test_records_without_a_callback_are_told_too(delivery_reports: DeliveryReports) -> None:
    seen = Seen()
    with instrumented(seen, delivery_reports):
        producer = confluent_kafka.SerializingProducer(CONFIG | {"value.serializer": StringSerializer()})
        for _ in range(5):
            producer.produce("orders", value="x")
        assert producer.flush(WITHIN_S) == 0
    end_s = time.monotonic() + WITHIN_S
    while (records := sum(each.records for each in seen.all if isinstance(each, Expired))) < 5:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    assert records == 5


def test_a_full_buffer_is_told_and_raised() -> None:
    seen = Seen()
    with instrumented(seen):
        producer = confluent_kafka.Producer(CONFIG | {"queue.buffering.max.messages": 1})
        producer.produce("orders", b"x")
        with pytest.raises(BufferError):
            producer.produce("orders", b"x")
        producer.purge()
        producer.flush(WITHIN_S)
    assert [each.timeout for each in seen.all if isinstance(each, TimedOut)] == [Timeout.BUFFER]


def test_a_commit_that_fails_is_told_and_raised() -> None:
    seen = Seen()
    with instrumented(seen):
        consumer = confluent_kafka.Consumer(CONFIG_OF_A_CONSUMER)
    offsets = [confluent_kafka.TopicPartition("orders", 0, 1)]
    with pytest.raises(confluent_kafka.KafkaException):
        consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()
    assert [(type(each), each.error) for each in seen.all] == [(CommitFailed, "_WAIT_COORD")]


def test_errors_and_asynchronous_commits_reach_the_application_and_us() -> None:
    seen = Seen()
    heard: list[object] = []
    config = CONFIG_OF_A_CONSUMER | {
        "error_cb": heard.append,
        "on_commit": lambda error, partitions: heard.append((error, partitions)),
    }
    with instrumented(seen):
        consumer = confluent_kafka.Consumer(config)
    timed_out = confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
    teller = vars(consumer)["_teller"]
    teller.error(timed_out)
    teller.committed(timed_out, [])
    teller.committed(None, [])
    told = list(heard)  # closing tells of brokers that are away
    consumer.close()
    assert told == [timed_out, (timed_out, []), (None, [])]
    assert [type(each) for each in seen.all] == [TimedOut, CommitFailed, TimedOut]
    assert [each.timeout for each in seen.all if isinstance(each, TimedOut)] == [
        Timeout.REQUEST,
        Timeout.COMMIT,
    ]


def test_a_reporter_that_fails_and_a_callback_that_raises_do_not_meet() -> None:
    seen = Seen(RuntimeError("ours"))

    def on_delivery(*_: object) -> None:
        raise LookupError("theirs")

    with instrumented(seen):
        producer = confluent_kafka.Producer(CONFIG)
        producer.produce("orders", b"x", on_delivery=on_delivery)
        with pytest.raises(LookupError, match="theirs"):
            producer.flush(WITHIN_S)
    assert seen.first.wait(WITHIN_S)


def test_uninstrumenting_leaves_the_library_as_it_was() -> None:
    names = ("Producer", "SerializingProducer", "Consumer", "DeserializingConsumer")
    before = SimpleNamespace(**{name: getattr(confluent_kafka, name) for name in names})
    with instrumented(Seen()):
        assert all(getattr(confluent_kafka, name) is not vars(before)[name] for name in names)
        assert all(issubclass(getattr(confluent_kafka, name), vars(before)[name]) for name in names)
    assert all(getattr(confluent_kafka, name) is vars(before)[name] for name in names)
