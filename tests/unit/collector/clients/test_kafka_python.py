"""The hooks in kafka-python, without a broker: its own sender and batches are told what has failed."""

import asyncio
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
import wrapt
from kafka import KafkaProducer
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import (
    CommitFailedError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    RequestTimedOutError,
    TopicAuthorizationFailedError,
)
from kafka.future import Future
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.structs import TopicPartition

from collector.clients.kafka_python import Hooks, KafkaPythonTimeoutInstrumentor, places
from collector.clients.observations import (
    CommitFailed,
    Expired,
    Observation,
    Retried,
    TimedOut,
    Timeout,
    Watch,
)
from tests.unit.collector.clients.seen import Seen, instrumented

LONG_MS, NONE_MS = 120_000, 0


@pytest.fixture
def seen() -> Iterator[Seen]:
    with instrumented(KafkaPythonTimeoutInstrumentor(), Seen()) as seen:
        yield seen


def batch_of(
    records: int, delivery_timeout_ms: int, retries: float = float("inf")
) -> tuple[Sender, ProducerBatch]:
    """A sender that has a batch of so many records on its way."""
    accumulator = RecordAccumulator(
        delivery_timeout_ms=delivery_timeout_ms, request_timeout_ms=0, linger_ms=0
    )
    client = SimpleNamespace(cluster=SimpleNamespace(request_update=lambda: None))
    sender = Sender(client, None, accumulator, client_id="p-1", retries=retries)
    partition = TopicPartition("orders", 3)
    for _ in range(records):
        accumulator.append(partition, None, None, b"x", [])
    [batch] = accumulator._incomplete.all()
    accumulator._batches[partition].clear()
    return sender, batch


EXPIRY = KafkaTimeoutError("Expiring 3 record(s) for TopicPartition(topic='orders', partition=3): 1 ms …")

CASES: dict[str, tuple[KafkaError, int, int, type[Observation] | None]] = {
    "an expired batch is one observation with all its records": (EXPIRY, NONE_MS, 9, Expired),
    "a request lost for good beyond the deadline": (RequestTimedOutError(), NONE_MS, 9, Expired),
    "what would be tried again if there were time": (NotLeaderForPartitionError(), NONE_MS, 9, Expired),
    "a request that times out is tried again": (RequestTimedOutError(), LONG_MS, 9, Retried),
    "without retries it is a request timeout": (RequestTimedOutError(), LONG_MS, 0, TimedOut),
    "a refusal is no timeout": (TopicAuthorizationFailedError(), LONG_MS, 9, None),
    "a refusal is none beyond the deadline either": (MessageSizeTooLargeError(), NONE_MS, 9, None),
}


@pytest.mark.parametrize("name", CASES)
def test_a_batch_that_fails(name: str, seen: Seen) -> None:
    error, delivery_timeout_ms, retries, kind = CASES[name]
    sender, batch = batch_of(3, delivery_timeout_ms, retries)
    sender._complete_batch_with_exception(batch, error)
    found = [(type(each), each.client_id, each.error) for each in seen.all]
    assert found == ([] if kind is None else [(kind, "p-1", type(error).__name__)])


def test_an_expiry_is_reported_once_with_topic_partition_and_records(seen: Seen) -> None:
    sender, batch = batch_of(3, NONE_MS)
    sender._complete_batch_with_exception(batch, EXPIRY)
    sender._complete_batch_with_exception(batch, RequestTimedOutError())
    [expired] = seen.all
    assert isinstance(expired, Expired)
    assert (expired.topic, expired.partition, expired.records) == ("orders", 3, 3)
    assert expired.message == str(EXPIRY)


def test_a_reporter_that_fails_fails_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reporter = Seen(RuntimeError("no disk"))
    with instrumented(KafkaPythonTimeoutInstrumentor(), reporter):
        for _ in range(3):
            sender, batch = batch_of(3, NONE_MS)
            sender._complete_batch_with_exception(batch, EXPIRY)
            assert batch.is_done
    assert len(reporter.all) == 3
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("collector.")]
    assert logged == ["A Kafka client's timeouts are not reported in full: RuntimeError('no disk')"]


def test_a_reporter_that_fails_keeps_nothing_from_the_others_though_the_log_fails_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("collector.clients.observations"), "filters", [lambda _: 1 / 0])
    failing, other = Seen(RuntimeError()), Seen()
    watch = Watch("c", [failing, other])
    watch.report(Observation, "i", "e")
    assert (len(other.all), watch.failures) == (1, 1)


def test_an_interrupt_is_nobodys_failure() -> None:
    with pytest.raises(KeyboardInterrupt), Watch("kafka-python", []):
        raise KeyboardInterrupt


def test_the_application_gets_the_errors_it_ever_got(seen: Seen) -> None:
    hooks = Hooks(Watch("kafka-python", [seen]))
    producer = SimpleNamespace(config={"client_id": "p-1"})
    for error in (KafkaTimeoutError("Failed to update metadata after 1.0 secs."), ZeroDivisionError()):
        with pytest.raises(type(error)) as raised:
            hooks.wait_on_metadata(Mock(side_effect=error), producer, (), {})
        assert raised.value is error
    [timed_out] = seen.all
    assert isinstance(timed_out, TimedOut)
    assert timed_out.timeout is Timeout.METADATA


COMMITS: dict[str, tuple[KafkaError, list[type[Observation]]]] = {
    "the group has moved on": (CommitFailedError(), [CommitFailed, TimedOut]),
    "nobody answers": (KafkaTimeoutError(), [CommitFailed, TimedOut]),
    "it is not allowed": (TopicAuthorizationFailedError(), [CommitFailed]),
}


@pytest.mark.parametrize("name", COMMITS)
def test_a_commit_that_fails_is_a_timeout_where_it_came_too_late(name: str, seen: Seen) -> None:
    error, kinds = COMMITS[name]
    coordinator = Mock(**{"_manager.config": {"client_id": "c-1"}})
    hooks, fail = Hooks(Watch("kafka-python", [seen])), AsyncMock(side_effect=error)
    with pytest.raises(KafkaError):
        asyncio.run(hooks.commit_sync(fail, coordinator, (), {}))
    assert [(type(each), each.client_id) for each in seen.all] == [(kind, "c-1") for kind in kinds]


FOUND, FAILED = Future().success(1), Future().failure(CommitFailedError())
ASYNC: dict[str, tuple[Future | None, Future]] = {
    "its coordinator is known": (None, FAILED),
    "its coordinator is found before": (FOUND, FAILED),
    "its coordinator is not found": (FAILED, FOUND),
}


@pytest.mark.parametrize("name", ASYNC)
def test_every_commit_that_nobody_waits_for_is_told_once_when_it_fails(name: str, seen: Seen) -> None:
    search, sent = ASYNC[name]
    member = MagicMock(**{"lookup_coordinator.return_value": search, "_manager.call_soon.return_value": sent})
    member.coordinator_unknown.return_value = search is not None
    hooked = vars(ConsumerCoordinator)
    member._do_commit_offsets_async = hooked["_do_commit_offsets_async"].__get__(member)
    for _ in range(2):
        hooked["commit_offsets_async"].__get__(member)({})
    assert [type(each) for each in seen.all] == [CommitFailed, TimedOut] * 2


def test_an_object_that_is_not_what_we_know_costs_the_application_nothing() -> None:
    watch = Watch("kafka-python", [])
    hooks = Hooks(watch)
    hooked = list(places(hooks).values())
    answer = object()
    for hook in hooked[:3]:
        assert hook(lambda *_: answer, object(), (object(), object(), None), {}) is answer
    assert watch.failures


def test_uninstrumenting_leaves_the_library_as_it_was() -> None:
    found = {place: vars(place[0])[place[1]] for place in places(Hooks(Watch("kafka-python", [])))}
    with instrumented(KafkaPythonTimeoutInstrumentor(), Seen()):
        assert all(isinstance(vars(cls)[name], wrapt.FunctionWrapper) for cls, name in found)
    assert {place: vars(place[0])[place[1]] for place in found} == found


def test_a_successful_send_runs_through_nothing_but_the_wait_for_metadata() -> None:
    wrapped = {name for _cls, name in places(Hooks(Watch("kafka-python", [])))}
    on_the_way = (
        KafkaProducer.send,
        RecordAccumulator.append,
        ProducerBatch.try_append,
        ProducerBatch.complete,
        Sender._send_producer_data,
        Sender._handle_produce_response,
    )
    called = {name for function in on_the_way for name in function.__code__.co_names}
    assert called & wrapped == {"_wait_on_metadata"}
