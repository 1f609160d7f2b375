"""One pass over a batch: what is counted, what is counted once, what is handed over."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import (
    ClientTimeout,
    DeliveryTimeout,
    Event,
    Position,
    Quarantined,
    StreamThreadDied,
    TaskAbandoned,
    TaskCorrupted,
    TaskTimeout,
    TaskTimerStarted,
    WorkerStarted,
    encode,
)
from streaming import quarantine
from streaming.aggregates import abandoned_tasks, clients, delivery_timeouts, pipeline, task_timeouts
from streaming.aggregates.one_pass import after, summarise
from streaming.decode import decode
from streaming.store.batch import SeriesDelta, combined
from streaming.store.task_timers import States, following

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]
EVENTS = "deadwatch.events"
EMPTY: States = {}

pytestmark = pytest.mark.spark


def common(offset: int, source: str = "log:a", at_ms: int = 1_000) -> dict[str, Any]:
    return {
        "source": source,
        "position": Position(1, offset, 0),
        "happened_at_ms": at_ms,
        "observed_at_ms": at_ms + 10,
        "kafka_cluster": "c1",
    }


def hit(offset: int, task: str = "0_0", *, source: str = "log:a", at_ms: int = 1_000) -> TaskTimeout:
    elapsed_ms = 300 + offset
    return TaskTimeout(
        **common(offset, source, at_ms), application="app", task=task, elapsed_ms=elapsed_ms, message="late"
    )


def timer(offset: int) -> TaskTimerStarted:
    return TaskTimerStarted(
        **common(offset, at_ms=1_000 + offset),
        application="app",
        streams_client="app-1",
        thread="app-1-StreamThread-1",
        task="0_0",
        call="process",
        remaining_ms=-1,
        message="Could not complete",
    )


def expiry(offset: int, records: int) -> DeliveryTimeout:
    return DeliveryTimeout(
        **common(offset),
        client="java",
        client_id="p1",
        topic="orders",
        partition=3,
        records=records,
        elapsed_ms=120_000,
        message="Expiring",
    )


def sent(*events: Event) -> list[dict[str, Any]]:
    return [{"key": encode(event)[0], "value": encode(event)[1]} for event in events]


def values(deltas: Sequence[SeriesDelta]) -> dict[tuple[str, ...], int]:
    return {
        (one.series.name, *(text for text in json.loads(one.labels).values())): one.value
        for one in combined(deltas)
    }


def test_an_event_sent_twice_counts_once(kafka: Kafka) -> None:
    chunk = [hit(0), hit(10), hit(20, task="0_1")]
    summaries = summarise(decode(kafka(sent(*chunk, *chunk, hit(30))), EVENTS))
    assert values(list(task_timeouts.deltas(summaries))) == {
        ("task_timeouts", "c1", "app", "0_0"): 3,
        ("task_timeouts", "c1", "app", "0_1"): 1,
    }


def test_equal_positions_of_two_sources_are_two_events(kafka: Kafka) -> None:
    summaries = summarise(decode(kafka(sent(hit(0, source="log:a"), hit(0, source="log:b"))), EVENTS))
    assert values(list(pipeline.deltas(summaries))) == {
        ("events", "log:a", "task_timeout"): 1,
        ("events", "log:b", "task_timeout"): 1,
    }


def test_what_is_at_or_below_the_mark_was_counted_before(kafka: Kafka) -> None:
    events = [hit(0), hit(10), hit(20), hit(0, source="log:b")]
    decoded = decode(kafka(sent(*events)), EVENTS)
    left = summarise(after(decoded, {"log:a": Position(1, 10, 0)}))
    assert values(list(pipeline.deltas(left))) == {
        ("events", "log:a", "task_timeout"): 1,
        ("events", "log:b", "task_timeout"): 1,
    }


def test_the_mark_is_compared_part_by_part(kafka: Kafka) -> None:
    decoded = decode(kafka(sent(hit(5))), EVENTS)
    assert summarise(after(decoded, {"log:a": Position(0, 999, 9)})) != []
    assert summarise(after(decoded, {"log:a": Position(1, 5, 0)})) == []
    assert summarise(after(decoded, {"log:a": Position(2, 0, 0)})) == []


def test_the_detail_is_the_latest_event_s(kafka: Kafka) -> None:
    summaries = summarise(decode(kafka(sent(hit(0, at_ms=5), hit(10, at_ms=9), hit(20, at_ms=7))), EVENTS))
    (one,) = task_timeouts.deltas(summaries)
    assert (one.first_ms, one.last_ms) == (5, 9)
    assert json.loads(one.detail) == {"elapsed_ms": 310, "message": "late"}


def test_expired_batches_and_their_records_are_counted(kafka: Kafka) -> None:
    summaries = summarise(
        decode(kafka(sent(expiry(0, 3), expiry(1, 4), expiry(2, 2**62), expiry(3, 2**62))), EVENTS)
    )
    assert values(list(delivery_timeouts.deltas(summaries))) == {
        ("delivery_timeout_batches", "c1", "orders", "p1", "java"): 4,
        ("delivery_timeout_records", "c1", "orders", "p1", "java"): 7 + 2 * (2**31 - 1),
    }


def test_other_timeouts_are_told_apart_by_kind(kafka: Kafka) -> None:
    events = [
        ClientTimeout(**common(offset), client="java", client_id="p1", timeout=kind, message="m")
        for offset, kind in enumerate(("metadata", "buffer", "buffer"))
    ]
    assert values(list(clients.deltas(summarise(decode(kafka(sent(*events)), EVENTS))))) == {
        ("client_timeouts", "c1", "p1", "metadata"): 1,
        ("client_timeouts", "c1", "p1", "buffer"): 2,
    }


def test_the_unreadable_is_counted_where_it_was_read(kafka: Kafka) -> None:
    passed_over = Quarantined(**common(0), reason="binary", excerpt="?")
    records = [*sent(passed_over), {"value": b"nonsense"}, {"value": b"{}"}, {"value": b"nonsense"}]
    summaries = summarise(decode(kafka(records), EVENTS))
    assert values(list(pipeline.deltas(summaries))) == {
        ("events", "log:a", "quarantined"): 1,
        ("quarantined", "log:a", "binary"): 1,
        ("quarantined", EVENTS, "not_json"): 2,
        ("quarantined", EVENTS, "unknown_kind"): 1,
    }


def test_refused_records_are_written_with_the_reason(kafka: Kafka) -> None:
    records = [*sent(hit(0)), {"key": b"k", "value": b"nonsense", "offset": 42, "partition": 3}]
    decoded = decode(kafka(records), EVENTS)
    (context,) = quarantine.refused_records(decoded, copies=False).collect()
    assert (context.key, context.value) == (None, None)
    (row,) = quarantine.refused_records(decoded, copies=True).collect()
    assert context.headers == row.headers
    assert (bytes(row.key), bytes(row.value)) == (b"k", b"nonsense")
    assert [(header.key, bytes(header.value)) for header in row.headers] == [
        ("__dlq.errors.topic", EVENTS.encode()),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"42"),
        ("__dlq.errors.group", b"deadwatch"),
        ("__dlq.errors.message", b"The event is not a JSON object."),
    ]


def test_offsets_and_marks_go_on_after_the_last_record(kafka: Kafka) -> None:
    letter = {"topic": "dlq.x", "offset": 7, "partition": 2}
    summaries = summarise(decode(kafka([*sent(hit(0), hit(10)), letter]), EVENTS))
    assert pipeline.next_offsets(summaries) == {(EVENTS, 0): 2, ("dlq.x", 2): 8}
    assert pipeline.marks(summaries) == {"log:a": Position(1, 10, 0)}
    assert pipeline.first_positions(summaries) == {"log:a": Position(1, 0, 0)}


def test_events_that_change_a_state_come_in_the_order_of_their_source(kafka: Kafka) -> None:
    abandoned = TaskAbandoned(**common(10), worker="w", connector="c", task="0", message="Graceful")
    started = WorkerStarted(**common(20), worker="w")
    summaries = summarise(decode(kafka(sent(abandoned, started)), EVENTS))
    assert abandoned_tasks.ordered_events(summaries) == (abandoned, started)


def test_a_hit_ends_the_timers_that_were_told_before_it(kafka: Kafka) -> None:
    told = [timer(10), hit(20), timer(30), hit(40), timer(50)]
    events = abandoned_tasks.ordered_events(summarise(decode(kafka(sent(*told)), EVENTS)))
    assert [(event.kind, event.position.offset) for event in events] == [
        ("task_timer_started", 10),
        ("task_timer_started", 30),
        ("task_timer_ended", 40),
        ("task_timer_started", 50),
    ]
    states = reduce(following, events, EMPTY)
    assert [(place.task, timer.since_ms) for place, timer in states.items() if timer.running] == [
        ("0_0", 1_050)
    ]


def test_corrupted_tasks_and_dead_threads_are_counted(kafka: Kafka) -> None:
    speaker: dict[str, Any] = {
        "application": "app",
        "streams_client": "app-1",
        "thread": "app-1",
        "message": "m",
    }
    corrupted = [TaskCorrupted(**common(offset), **speaker, task="0_1") for offset in (0, 10)]
    died = StreamThreadDied(**common(20), **speaker, decision="REPLACE_THREAD")
    summaries = summarise(decode(kafka(sent(*corrupted, died)), EVENTS))
    assert values(list(task_timeouts.deltas(summaries))) == {
        ("tasks_corrupted", "c1", "app", "0_1"): 2,
        ("stream_thread_deaths", "c1", "app", "REPLACE_THREAD"): 1,
    }
