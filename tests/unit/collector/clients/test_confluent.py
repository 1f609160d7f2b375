"""The watching subclasses of confluent-kafka, with the real library and a broker that does not exist."""

import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import Mock

import confluent_kafka
import pytest
from confluent_kafka.serialization import StringSerializer

from collector.clients import (
    CommitFailed,
    ConfluentKafkaTimeoutInstrumentor,
    DeliveryReports,
    Expired,
    TimedOut,
    Timeout,
)
from collector.clients.librdkafka import Deliveries
from collector.clients.observations import Watch
from tests.unit.collector.clients.seen import Seen, instrumented
from tests.waiting import until

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


watched = partial(instrumented, ConfluentKafkaTimeoutInstrumentor())


class Application:
    """Its callbacks, and what they have heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_delivery(self, error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
        self.heard.append(f"{error and error.name()} {message.topic()} {message.value()!r}")

    def ignored(self, *_: object) -> None:
        self.heard.append("what nobody should hear")


WAYS: dict[str, Callable[[confluent_kafka.Producer, Application], object]] = {
    "by name": lambda p, a: p.produce("orders", value=b"x", on_delivery=a.on_delivery),
    "by its other name": lambda p, a: p.produce("orders", value=b"x", callback=a.on_delivery),
    "by both, where one rules": lambda p, a: p.produce(
        "orders", b"x", callback=a.on_delivery, on_delivery=a.ignored
    ),
    "by position": lambda p, a: p.produce("orders", b"x", None, -1, a.on_delivery),
    "for a batch": lambda p, a: p.produce_batch("orders", [{"value": b"x"}], on_delivery=a.on_delivery),
    "in a batch": lambda p, a: p.produce_batch("orders", [{"value": b"x", "callback": a.on_delivery}]),
    "for the producer, and a batch without": lambda p, _: p.produce_batch("orders", [{"value": b"x"}]),
    "for the producer": lambda p, _: p.produce("orders", b"x"),
}


@dataclass
class Waiting:
    """Producers that wait for their timeouts side by side; what they bring to the application and to us."""

    applications: dict[str, Application]
    seen: Seen
    plain: dict[DeliveryReports, tuple[confluent_kafka.SerializingProducer, Seen]]
    failing: tuple[confluent_kafka.Producer, Seen]
    commits: Seen


@pytest.fixture(scope="module")
def waiting() -> Waiting:
    started = Waiting({}, Seen(), {}, (confluent_kafka.Producer(CONFIG), Seen()), Seen())
    producers = list[confluent_kafka.Producer]()
    for reports in DeliveryReports:
        seen = Seen()
        with watched(seen, delivery_reports=reports):
            plain = confluent_kafka.SerializingProducer(CONFIG | {"value.serializer": StringSerializer()})
        for _ in range(5):
            plain.produce("orders", value="x")
        started.plain[reports] = (plain, seen)
    with watched(Seen(RuntimeError("ours"))) as failing:
        started.failing = (confluent_kafka.Producer(CONFIG), failing)
    started.failing[0].produce("orders", b"x", on_delivery=Mock(side_effect=LookupError("theirs")))
    with watched(started.seen):
        for way, produce in WAYS.items():
            application = started.applications[way] = Application()
            own = {"on_delivery": application.on_delivery} if way.startswith("for the producer") else {}
            producers.append(confluent_kafka.Producer(CONFIG | own, **{"client.id": way}))
            produce(producers[-1], application)
    with watched(started.commits):
        consumer = confluent_kafka.Consumer(CONFIG_OF_A_CONSUMER)
    with pytest.raises(confluent_kafka.KafkaException):
        consumer.commit(offsets=[confluent_kafka.TopicPartition("orders", 0, 1)], asynchronous=False)
    consumer.close()
    assert [producer.flush(WITHIN_S) for producer in producers] == [0] * len(WAYS)
    until(lambda: len(started.seen.all) == len(WAYS))
    return started


@pytest.mark.parametrize("way", WAYS)
def test_a_callback_hears_what_it_ever_heard_when_it_is_given(way: str, waiting: Waiting) -> None:
    assert waiting.applications[way].heard == ["_MSG_TIMED_OUT orders b'x'"]
    [expired] = [each for each in waiting.seen.all if each.client_id == way]
    assert isinstance(expired, Expired)
    assert (expired.client, expired.topic, expired.records) == ("librdkafka", "orders", 1)


def test_a_batch_is_given_back_as_it_was_and_refused_as_ever() -> None:
    application = Application()
    message: dict[str, Any] = {"value": b"x", "callback": application.on_delivery}
    with watched(Seen()):
        producer = confluent_kafka.Producer(CONFIG)
        producer.produce_batch("orders", [message])
        with pytest.raises(TypeError, match="dict"):
            producer.produce_batch("orders", [3])  # type: ignore[list-item]  # on purpose
        producer.purge()
    assert message == {"value": b"x", "callback": application.on_delivery}


@pytest.mark.parametrize("delivery_reports", DeliveryReports)
def test_records_without_a_callback_are_reported_too(
    delivery_reports: DeliveryReports, waiting: Waiting
) -> None:
    producer, seen = waiting.plain[delivery_reports]
    assert producer.flush(WITHIN_S) == 0
    until(lambda: sum(each.records for each in seen.expired) == 5)


@pytest.mark.parametrize(("thread", "records"), [("main", [1, 1]), ("another", [2])])
def test_what_expires_behind_the_main_thread_s_end_is_reported_at_once_only_by_what_runs_at_exit(
    monkeypatch: pytest.MonkeyPatch, thread: str, records: list[int]
) -> None:
    monkeypatch.setattr(threading.main_thread(), "is_alive", lambda: False)
    seen = Seen()
    deliveries = Deliveries(Watch("librdkafka", [seen]), "c-1")
    expired = confluent_kafka.KafkaError(confluent_kafka.KafkaError._MSG_TIMED_OUT)
    message = Mock(**{"topic.return_value": "orders", "latency.return_value": 1})

    def poll() -> None:
        for _ in range(2):
            deliveries.reported(None, expired, message)

    if thread == "main":
        poll()
        assert [each.records for each in seen.expired] == records
    else:
        worker = threading.Thread(target=poll)
        worker.start()
        worker.join()
    until(lambda: [each.records for each in seen.expired] == records)


def test_a_full_buffer_is_reported_and_raised() -> None:
    seen = Seen()
    with watched(seen):
        producer = confluent_kafka.Producer(CONFIG | {"queue.buffering.max.messages": 1})
        producer.produce("orders", b"x")
        with pytest.raises(BufferError):
            producer.produce("orders", b"x")
        producer.purge()
        producer.flush(WITHIN_S)
    assert seen.timeouts("c-1") == {Timeout.BUFFER: 1}


def test_a_commit_that_fails_is_reported_and_raised(waiting: Waiting) -> None:
    assert [(type(each), each.error) for each in waiting.commits.all] == [(CommitFailed, "_WAIT_COORD")]


def test_errors_and_asynchronous_commits_reach_the_application_and_us() -> None:
    seen = Seen()
    heard: list[object] = []
    config = CONFIG_OF_A_CONSUMER | {
        "error_cb": heard.append,
        "on_commit": lambda error, partitions: heard.append((error, partitions)),
    }
    with watched(seen):
        consumer = confluent_kafka.Consumer(config)
    timed_out = confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
    reporter = vars(consumer)["_WatchedConsumer__reporter"]
    reporter.error(timed_out)
    reporter.committed(timed_out, [])
    reporter.committed(None, [])
    called = list(heard)  # closing tells of brokers that are away
    consumer.close()
    assert called == [timed_out, (timed_out, []), (None, [])]
    assert [type(each) for each in seen.all] == [TimedOut, CommitFailed, TimedOut]
    assert list(seen.timeouts("rdkafka")) == [Timeout.REQUEST, Timeout.COMMIT]


def test_a_reporter_that_fails_and_a_callback_that_raises_do_not_meet(waiting: Waiting) -> None:
    producer, seen = waiting.failing
    with pytest.raises(LookupError, match="theirs"):
        producer.flush(WITHIN_S)
    until(lambda: seen.all)


def test_uninstrumenting_leaves_the_library_as_it_was() -> None:
    names = ("Producer", "SerializingProducer", "Consumer", "DeserializingConsumer")
    before = {name: getattr(confluent_kafka, name) for name in names}
    with watched(Seen()):
        assert all(getattr(confluent_kafka, name) is not before[name] for name in names)
        assert all(issubclass(getattr(confluent_kafka, name), before[name]) for name in names)
    assert all(getattr(confluent_kafka, name) is before[name] for name in names)


def test_uninstrumenting_leaves_what_has_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = Mock()
    monkeypatch.setattr(confluent_kafka, "Producer", confluent_kafka.Producer)
    with watched(Seen()):
        confluent_kafka.Producer = later  # type: ignore[misc]  # as another instrumentation does
    assert confluent_kafka.Producer is later


def test_a_watched_class_takes_types_and_is_pickled_as_the_librarys() -> None:
    with watched(Seen()):
        producer: type[Any] = confluent_kafka.SerializingProducer
        assert pickle.dumps(producer)
        assert isinstance(producer[str, str](CONFIG), producer)


@pytest.mark.parametrize("delivery_reports", DeliveryReports)
def test_another_instrumentation_hears_what_it_ever_heard(
    delivery_reports: DeliveryReports, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce, produce_batch = Mock(), Mock(return_value=1)
    theirs = type("Traced", (confluent_kafka.Producer,), {"produce": produce, "produce_batch": produce_batch})
    monkeypatch.setattr(confluent_kafka, "Producer", theirs)
    with watched(Seen(), delivery_reports=delivery_reports):
        producer = confluent_kafka.SerializingProducer(CONFIG)
        producer.produce("orders", value=b"x")
        assert producer.produce_batch("orders", [{"value": b"x"}]) == 1
    produce.assert_called_once()
    assert "headers" in produce.call_args.kwargs, "where it looks for them"
    produce_batch.assert_called_once()


class Tagged:
    def __init_subclass__(cls, tag: str) -> None:
        assert tag


def test_an_application_names_what_is_its_own_as_it_likes() -> None:
    with watched(Seen()):
        producer = type("Counting", (confluent_kafka.Producer, Tagged), {}, tag="x")(CONFIG)
        for name in ("reporter", "deliveries", "latest", "watched", "produce", "watch"):
            setattr(producer, f"_{name}", None)
        producer.produce("orders", b"x", on_delivery=print)
        producer.purge()


def test_a_producer_ends_with_the_last_who_holds_it() -> None:
    application: Any = Application()
    with watched(Seen()):
        application.producer = confluent_kafka.Producer(CONFIG)
    application.producer.produce("orders", b"x", on_delivery=application.on_delivery)
    application.producer.purge()
    application.producer.flush(WITHIN_S)
    left = weakref.ref(application)
    gc.disable()
    try:
        del application
        assert left() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("client", "callback"), [("Producer", "on_delivery"), ("Producer", "error_cb"), ("Consumer", "on_commit")]
)
def test_what_is_no_callback_is_refused_as_ever(client: str, callback: str) -> None:
    with watched(Seen()), pytest.raises((confluent_kafka.KafkaException, TypeError), match="callable"):
        getattr(confluent_kafka, client)(CONFIG_OF_A_CONSUMER, **{callback: "x"})
