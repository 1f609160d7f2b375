"""What a batch changes: dead letters by cause, samples, what came back; events, each once, and states."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import pytest

from deadwatch.contract import events as contract
from deadwatch.contract.events import Event, Position, TaskTimeout, encode
from deadwatch.contract.topics import EVENTS
from deadwatch.store import series
from deadwatch.store.batch import SeriesDelta, combined
from deadwatch.store.series import CARDINALITY_LIMITED, DEAD_LETTERS, QUARANTINED, TASK_TIMEOUTS
from deadwatch.store.write.buckets import TIERS, Cell, cell, split
from deadwatch.store.write.states import States
from deadwatch.store.write.task_timers import following
from streaming import deltas, warm_up
from streaming.deltas import DeadLetters
from streaming.kernel.events import EventCounts
from tests.dialect_headers import CONNECT, SHARE, replaced
from tests.kafka_records import Headers, counted


def record(headers: Headers | None, **fields: object) -> dict[str, Any]:
    return {"topic": "dlq.orders", "headers": headers, "value": b"v", **fields}


def found(records: list[dict[str, Any]], max_groups: int = 10) -> DeadLetters:
    return deltas.counted(counted(records).causes, "c1", max_groups)


def test_records_of_one_cause_are_one_group_with_the_latest_message() -> None:
    messages = {at: replaced(CONNECT, "message", b"bad value at %d" % at) for at in (3, 9, 5)}
    changes = found([record(headers, timestamp_ms=at) for at, headers in messages.items()])
    (group,) = changes.groups
    assert (group.records, group.first_ms, group.last_ms) == (3, 3, 9)
    assert (group.message, group.message_pattern) == ("bad value at 9", "bad value at #")
    assert [(sample.partition, sample.offset) for sample in changes.samples] == [(0, 1), (0, 2)]
    assert [(change.series, change.value) for change in changes.series] == [(DEAD_LETTERS, 3)]


def test_a_group_keeps_the_trace_of_its_newest_record_that_has_one() -> None:
    records = [
        record([*CONNECT, traced(1)], timestamp_ms=5),
        record([*CONNECT, traced(2)], timestamp_ms=9),
        record([*CONNECT, ("traceparent", b"00-\xff")], timestamp_ms=11),
        record(CONNECT, timestamp_ms=12),
    ]
    (series,) = found(records).series
    assert json.loads(series.detail) == {"trace_id": f"{2:032x}", "span_id": f"{2:016x}", "traced_ms": 9}
    (none,) = found(records[2:]).series
    assert none.detail == "{}"


def test_causes_that_differ_in_their_message_alone_are_one_counter() -> None:
    words, hours_ms = ("late", "null", "odd"), (1 * HOUR, 2 * HOUR, 2 * HOUR)
    records = [
        record([*replaced(CONNECT, "message", word.encode()), traced(number)], timestamp_ms=at_ms)
        for number, (word, at_ms) in enumerate(zip(words, hours_ms, strict=True), 1)
    ]
    broken = record([*replaced(CONNECT, ".partition", b"two")], timestamp_ms=9 * HOUR)
    changes = deltas.counted(counted([*records, broken], now_ms=99 * HOUR).causes, "c1", 10)
    assert {group.message for group in changes.groups} >= {*words}
    letters, quarantined = combined(changes.series)
    assert (letters.value, letters.first_ms, letters.last_ms) == (4, 1 * HOUR, 9 * HOUR)
    assert letters.buckets == {1 * HOUR: 1, 2 * HOUR: 2, 9 * HOUR: 1}
    assert json.loads(letters.detail)["traced_ms"] == 2 * HOUR
    assert (quarantined.value, quarantined.first_ms, quarantined.last_ms) == (1, 9 * HOUR, 9 * HOUR)


def traced(number: int) -> tuple[str, bytes]:
    return "traceparent", f"00-{number:032x}-{number:016x}-01".encode()


def test_broken_headers_are_counted_beside_the_dead_letter() -> None:
    broken = replaced(CONNECT, ".partition", b"two")
    values: Counter[str] = Counter()
    for change in found([record(broken), record(CONNECT)]).series:
        values[change.series.name] += change.value
    assert values == {DEAD_LETTERS.name: 2, QUARANTINED.name: 1}


def test_what_is_beyond_the_groups_of_a_batch_is_counted_as_other() -> None:
    sizes = {"small": 1, "big": 3, "middle": 2}
    records = [
        record(replaced(SHARE, ".group", name.encode())) for name, size in sizes.items() for _ in range(size)
    ]
    changes = found(records, max_groups=1)
    (group,) = changes.groups
    assert (group.consumer, group.records) == ("big", 3)
    assert changes.records == 6
    _, beyond, limited = changes.series
    assert [(beyond.series, beyond.value), (limited.series, limited.value)] == [
        (DEAD_LETTERS, 3),
        (CARDINALITY_LIMITED, 3),
    ]
    assert json.loads(beyond.labels) == {**dict.fromkeys(DEAD_LETTERS.labels, "other"), "kafka_cluster": "c1"}


def test_samples_are_cut_and_keep_their_lengths() -> None:
    headers: Headers = [("trace", b"\xff1"), ("none", None), ("long", b"h" * 5_000)]
    many = [*headers, *(("n", b"") for _ in range(99))]
    big = record(many, key=b"K" + b"k" * 1_999, value=b"V" + b"v" * 4_999)
    changes = found([big, record(None, key=None, value=None)])
    first, second = sorted(changes.samples, key=lambda sample: sample.offset)
    assert first.headers[:3] == (("trace", b"\xff1"), ("none", None), ("long", b"h" * 1_024))
    assert len(first.headers) == 64
    assert (first.key, first.key_bytes) == (b"K" + b"k" * 1_023, 2_000)
    assert (first.value, first.value_bytes) == (b"V" + b"v" * 4_095, 5_000)
    assert (second.key, second.value, second.key_bytes, second.value_bytes) == (None, None, -1, -1)


def test_a_sample_without_payload_keeps_its_lengths_and_what_describes_the_failure() -> None:
    headers: Headers = [
        ("authorization", b"x"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("none", None),
    ]
    (sample,) = found([record(headers, key=b"secret", value=b"secret")]).samples
    bare = deltas.without_payload(sample)
    expected = (("authorization", None), ("__connect.errors.stage", b"VALUE_CONVERTER"), ("none", None))
    assert bare.headers == expected
    assert (bare.key, bare.value, bare.key_bytes, bare.value_bytes) == (None, None, 6, 6)
    assert b"secret" not in repr(bare).encode()


def dead_letter(topic: str, order: bytes | None = None, *, redriven: bool = True) -> dict[str, Any]:
    headers = [("__connect.errors.topic", b"orders")]
    own = [("deadwatch.redrive.id", order), ("deadwatch.redrive.group", b"f1")] if redriven else []
    return {"topic": topic, "headers": [*headers, *own]}


def bounced(*records: dict[str, Any]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for delta in deltas.bounced(counted(records).causes, "c1"):
        found[delta.series.name, *json.loads(delta.labels).values()] += delta.value
    return found


def test_what_came_back_is_bounced() -> None:
    returned = [dead_letter("dlq.orders", order) for order in (b"o1", b"o1", b"o2")]
    assert bounced(*returned, dead_letter("dlq.orders", redriven=False)) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "bounced"): 3,
        ("redrive_orders", "o1", "bounced", ""): 2,
        ("redrive_orders", "o2", "bounced", ""): 1,
        ("redrive_groups", "dlq.orders", "f1", "bounced"): 3,
    }


@pytest.mark.parametrize(
    ("moved_at", "came_back_ms"),
    [(b"700", 700), (b"300", 500), (b"9000", 1_000), (b"-", 500), (b"", 500), (None, 500)],
    ids=["moved later", "moved before", "moved after now", "no number", "empty", "null"],
)
def test_no_record_came_back_before_it_was_moved(moved_at: bytes | None, came_back_ms: int) -> None:
    returned = dead_letter("dlq.orders", b"o1") | {"timestamp_ms": 500}
    returned["headers"].append(("deadwatch.redrive.moved-at-ms", moved_at))
    found = [*deltas.bounced(counted([returned], now_ms=1_000).causes, "c1")]
    assert {(delta.first_ms, delta.last_ms) for delta in found} == {(came_back_ms, came_back_ms)}


def test_what_a_redrive_has_parked_did_not_come_back_and_one_without_id_has_bounced() -> None:
    parked = dead_letter("dlq.orders.parked", b"o1")
    parked["headers"].append(("deadwatch.redrive.parked-reason", b"attempts_used_up"))
    assert bounced(parked, dead_letter("dlq.orders", None)) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "bounced"): 1,
        ("redrive_orders", "", "bounced", ""): 1,
        ("redrive_groups", "dlq.orders", "f1", "bounced"): 1,
    }


def test_what_came_back_beyond_the_bound_is_other() -> None:
    orders = deltas.MAX_RETURNS + 3
    found = bounced(*(dead_letter("dlq.orders", b"o%d" % number) for number in range(orders)))
    assert found["redrive_records", "c1", "dlq.orders", "orders", "bounced"] == deltas.MAX_RETURNS
    assert found["redrive_records", "c1", "other", "other", "bounced"] == 3
    assert found["cardinality_limited", "redrive_records"] == 3


def rejected(offset: int, group: bytes = b"g1", *own: tuple[str, bytes]) -> dict[str, Any]:
    context = {"topic": b"orders", "partition": b"1", "offset": b"%d" % offset, "group": group}
    headers = [(f"__dlq.errors.{name}", value) for name, value in context.items()]
    return {"topic": "dlq.g1", "headers": [*headers, *own]}


def test_the_origins_of_a_share_groups_dead_letters_are_kept_once_each() -> None:
    ours = ("deadwatch.redrive.id", b"o1")
    records = [rejected(5), rejected(4), rejected(5), rejected(9, b"g2"), rejected(7, b"g1", ours)]
    partial = counted([*records, dead_letter("dlq.orders", redriven=False)])
    found = deltas.origins(partial.causes, "c1")
    places = {(origins.source_topic, origins.source_partition, origins.dlq_topic) for origins in found}
    assert places == {("orders", 1, "dlq.g1")}
    assert sorted(tuple(sorted(origins.offsets)) for origins in found) == [(4, 5), (9,)]
    assert len({origins.fingerprint for origins in found}) == 2


E = TypeVar("E", bound=Event)

TASK: dict[str, Any] = {"application": "app", "task": "0_0"}
EMPTY: States = {}


def made(cls: type[E], offset: int, source: str = "log:a", at_ms: int = 1_000, **fields: object) -> E:
    times = {"happened_at_ms": at_ms, "observed_at_ms": at_ms + 10}
    position, example = Position(1, offset, 0), warm_up.example(cls)
    event: E = replace(example, source=source, position=position, kafka_cluster="c1", **times, **fields)
    return event


def hit(offset: int, task: str = "0_0", *, source: str = "log:a", at_ms: int = 1_000) -> TaskTimeout:
    fields = {**TASK, "task": task, "elapsed_ms": 300 + offset, "message": "late"}
    return made(TaskTimeout, offset, source, at_ms, **fields)


def timer(offset: int) -> contract.TaskTimerStarted:
    return made(contract.TaskTimerStarted, offset, at_ms=1_000 + offset, **TASK, remaining_ms=-1)


def expiry(offset: int, records: int) -> contract.DeliveryTimeout:
    return made(
        contract.DeliveryTimeout, offset, client="java", client_id="p1", topic="orders", records=records
    )


def outcome(ordinal: int, records: int, what: str, why: str = "") -> contract.RedriveOutcome:
    topics = {"dlq_topic": "dlq.orders", "target_topic": "orders"}
    moved: dict[str, Any] = {**topics, "outcome": what, "outcome_reason": why, "records": records}
    return made(contract.RedriveOutcome, ordinal, order="o1", fingerprint="f1", **moved)


def sent(*of_a_batch: Event) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in map(encode, of_a_batch)]


def counts_of(*of_a_batch: Event, mark: Position | None = None) -> EventCounts:
    return counted(sent(*of_a_batch), {"log:a": mark} if mark else None).events


def values(counts: EventCounts) -> dict[tuple[str, ...], int]:
    """All that is counted, beside the number of events by source and kind."""
    return {
        (change.series.name, *json.loads(change.labels).values()): change.value
        for change in combined(deltas.event_series(counts, EVENTS))
        if change.series is not series.EVENTS
    }


def by_source(counts: EventCounts) -> dict[tuple[str, ...], int]:
    return {(key.source, key.kind): sums.events for key, sums in counts.sums.items()}


AGAIN = outcome(2, 5, "sent")
CHUNK = [hit(0), hit(10), hit(20, task="0_1")]
COUNTED: Mapping[str, tuple[list[Event], Mapping[tuple[str, ...], int]]] = {
    "an event sent twice counts once": (
        [*CHUNK, *CHUNK, hit(30)],
        {("task_timeouts", "c1", "app", "0_0"): 3, ("task_timeouts", "c1", "app", "0_1"): 1},
    ),
    "expired batches and their records, within bounds": (
        [expiry(0, 3), expiry(1, 4), expiry(2, 2**62), expiry(3, 2**62)],
        {
            ("delivery_timeout_batches", "c1", "orders", "p1", "java"): 4,
            ("delivery_timeout_records", "c1", "orders", "p1", "java"): 7 + 2 * (2**31 - 1),
        },
    ),
    "other timeouts by their kind": (
        [
            made(contract.ClientTimeout, offset, client_id="p1", timeout=kind)
            for offset, kind in enumerate(("metadata", "buffer", "buffer"))
        ],
        {
            ("client_timeouts", "c1", "p1", "metadata"): 1,
            ("client_timeouts", "c1", "p1", "buffer"): 2,
        },
    ),
    "dead threads": (
        [made(contract.StreamThreadDied, 20, application="app", decision="REPLACE_THREAD")],
        {("stream_thread_deaths", "c1", "app", "REPLACE_THREAD"): 1},
    ),
    "outcomes of redrives by topic, order and cause": (
        [outcome(0, 7, "sent"), outcome(1, 2, "skipped", "no_origin"), AGAIN, AGAIN],
        {
            ("redrive_records", "c1", "dlq.orders", "orders", "sent"): 12,
            ("redrive_records", "c1", "dlq.orders", "orders", "skipped"): 2,
            ("redrive_orders", "o1", "sent", ""): 12,
            ("redrive_orders", "o1", "skipped", "no_origin"): 2,
            ("redrive_groups", "dlq.orders", "f1", "sent"): 12,
            ("redrive_groups", "dlq.orders", "f1", "skipped"): 2,
        },
    ),
}


@pytest.mark.parametrize(("sent_events", "expected"), COUNTED.values(), ids=COUNTED)
def test_what_is_counted(sent_events: list[Event], expected: Mapping[tuple[str, ...], int]) -> None:
    assert values(counts_of(*sent_events)) == expected


def test_equal_positions_of_two_sources_are_two_events_and_below_the_mark_none() -> None:
    hits = [hit(0), hit(10), hit(20), hit(0, source="log:b")]
    expected = {("log:a", "task_timeout"): 3, ("log:b", "task_timeout"): 1}
    assert by_source(counts_of(*hits)) == expected
    assert by_source(counts_of(*hits, mark=Position(1, 10, 0))) == {**expected, ("log:a", "task_timeout"): 1}


@pytest.mark.parametrize(
    ("mark", "is_new"), [(Position(0, 999, 9), True), (Position(1, 5, 0), False), (Position(2, 0, 0), False)]
)
def test_the_mark_is_compared_part_by_part(mark: Position, is_new: bool) -> None:
    assert bool(counts_of(hit(5), mark=mark).sums) is is_new


def test_the_detail_is_the_latest_event_s() -> None:
    _, change = deltas.event_series(counts_of(hit(0, at_ms=5), hit(10, at_ms=9), hit(20, at_ms=7)), EVENTS)
    assert (change.series, change.first_ms, change.last_ms) == (series.TASK_TIMEOUTS, 5, 9)
    assert json.loads(change.detail) == {"elapsed_ms": 310, "message": "late"}


def test_the_unreadable_is_counted_where_it_was_read() -> None:
    skipped = made(contract.Quarantined, 0, reason="binary")
    records = [*sent(skipped), {"value": b"nonsense"}, {"value": b"{}"}, {"value": b"nonsense"}]
    counts = counted(records).events
    assert by_source(counts)["log:a", "quarantined"] == 1
    assert values(counts) == {
        ("quarantined", "log:a", "binary"): 1,
        ("quarantined", EVENTS, "not_json"): 2,
        ("quarantined", EVENTS, "unknown_kind"): 1,
    }


def test_offsets_and_marks_go_on_after_the_last_record() -> None:
    dead_letter = {"topic": "dlq.x", "offset": 7, "partition": 2}
    partial = counted([*sent(hit(0), hit(10)), dead_letter])
    assert sorted(partial.offsets.rows()) == [(EVENTS, 0, 0, 1), ("dlq.x", 2, 7, 7)]
    assert deltas.marks(partial.events) == {"log:a": Position(1, 10, 0)}


def test_events_that_change_a_state_come_in_the_order_of_their_source() -> None:
    abandoned, started = made(contract.TaskAbandoned, 10), made(contract.WorkerStarted, 20)
    assert deltas.state_changes(counts_of(started, abandoned)) == (abandoned, started)


def test_a_timeout_ends_the_timers_that_were_started_before_it() -> None:
    changes = deltas.state_changes(counts_of(timer(10), hit(20), timer(30), hit(40), timer(50)))
    assert [(event.kind, event.position.offset) for event in changes] == [
        ("task_timer_started", 10),
        ("task_timer_started", 30),
        ("task_timer_ended", 40),
        ("task_timer_started", 50),
    ]
    timers = reduce(following, changes, EMPTY).values()
    assert [row["since_ms"] for row in timers if row["running"]] == [1_050]


S, HOUR, DAY = 1_000, 3_600_000, 86_400_000
AGES_MS = [
    *(0, 1 * S, 2 * S, 11 * S, 11 * S, 3 * HOUR, 3 * HOUR + 10 * S),
    *(tier.kept_s * S + extra_ms for tier in TIERS for extra_ms in (-HOUR, -10 * S, 0, 10 * S, 61 * S, HOUR)),
    *(2 * DAY, 2 * DAY + 30 * S, 20 * DAY, 20 * DAY + HOUR, 800 * DAY, 900 * DAY, -5 * S, -HOUR),
]
"""How old events are: on both sides of every boundary, and some from the future."""


@pytest.fixture
def now_ms() -> int:
    return time.time_ns() // 1_000_000


def expected(now_ms: int) -> Counter[Cell]:
    return Counter(place for age_ms in AGES_MS if (place := cell(now_ms - age_ms, now_ms)))


def spread(deltas: Sequence[SeriesDelta], now_ms: int) -> Counter[Cell]:
    (change,) = combined(deltas)
    assert change.value == len(AGES_MS)
    return split(change, now_ms)


def test_events_of_a_backlog_are_in_the_buckets_of_their_times(now_ms: int) -> None:
    example = warm_up.example(TaskTimeout)
    hits = [
        replace(example, position=Position(1, number, 0), happened_at_ms=now_ms - age_ms)
        for number, age_ms in enumerate(AGES_MS)
    ]
    changes = deltas.event_series(counted(sent(*hits), now_ms=now_ms).events, EVENTS)
    timeouts = [change for change in changes if change.series is TASK_TIMEOUTS]
    assert spread(timeouts, now_ms) == expected(now_ms)


def test_dead_letters_of_a_backlog_are_in_the_buckets_of_their_times(now_ms: int) -> None:
    records = [{"topic": "dlq.a", "timestamp_ms": now_ms - age_ms} for age_ms in AGES_MS]
    found = deltas.counted(counted(records, samples=3, now_ms=now_ms).causes, "c1", 10)
    (group,) = found.groups
    assert spread(found.series, now_ms) == expected(now_ms)
    assert (group.first_ms, group.last_ms) == (now_ms - max(AGES_MS), now_ms - min(AGES_MS))
    newest = sorted(range(len(AGES_MS)), key=lambda number: AGES_MS[number])[:3]
    assert [sample.offset for sample in found.samples] == newest


def test_what_happens_now_is_one_row(now_ms: int) -> None:
    start_ms = now_ms - now_ms % (TIERS[0].step_s * S)
    records = [{"topic": "dlq.a", "timestamp_ms": start_ms + number} for number in range(50)]
    causes = counted(records, now_ms=now_ms).causes
    assert causes is not None
    assert len(causes.sums) == 1
