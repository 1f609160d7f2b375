"""How the records of a batch are split makes no difference to what they come to."""

import pickle
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.contract import headers as names
from deadwatch.contract.events import KINDS, Position, encode
from deadwatch.contract.topics import EVENTS
from streaming import warm_up
from streaming.kernel import Context, causes
from streaming.kernel.events import EventCounts, Key, Sums
from streaming.kernel.partial import Partial, merge, summarise, summarise_once
from tests.dialect_headers import SHARE
from tests.hostile_headers import RECORDS
from tests.kafka_records import Headers, counted, table

CONTEXT = Context(EVENTS, 1_795_000_100_000, 2)
MOVED: Headers = [(names.REDRIVE_ID, b"o1"), (names.REDRIVE_GROUP, b"f\xffg")]
TRACED: list[Headers] = [
    [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-%016x-01" % span)] for span in (1, 2)
]
JUNK = [None, b"", b"nonsense", b"{}", b"\xff", b'{"kind":"task_timeout"}', b"[" * 9]


def value(kind: str, source: str, offset: int) -> bytes:
    event = replace(warm_up.example(KINDS[kind]), source=source, position=Position(1, offset))
    return encode(replace(event, happened_at_ms=offset))[1]


EVENTS_OF_EVERY_KIND = st.builds(
    value, st.sampled_from(sorted(KINDS)), st.sampled_from(["a", "b", "\u00e9"]), st.integers(0, 9)
)
VALUES = st.lists(st.one_of(EVENTS_OF_EVERY_KIND, st.sampled_from(JUNK)), max_size=12)


def batch(values: list[bytes | None], headers: list[Headers]) -> list[dict[str, Any]]:
    """Records of three partitions each, in the order of their offsets."""
    events: list[dict[str, Any]] = [{"value": value} for value in values]
    dead_letters: list[dict[str, Any]] = [
        {
            "topic": f"dlq.{number % 2}",
            "timestamp_ms": 1_795_000_000_000 + number // 4 * 7_000,
            "headers": pairs,
            "key": None if number % 5 else b"k" * 2_000,
            "value": None if number % 7 == 0 else b"v" * (number * 99),
        }
        for number, pairs in enumerate([*headers, SHARE, [*SHARE, *MOVED], *TRACED, MOVED])
    ]
    records = enumerate([*events, *dead_letters])
    return [{**record, "offset": offset, "partition": offset % 3} for offset, record in records]


def account(partial: Partial) -> dict[str, object]:
    """All of it, in an order that does not depend on how it was split."""
    frames = () if partial.causes is None else partial.causes
    return {
        "offsets": sorted(partial.offsets.rows()),
        "sums": partial.events.sums,
        "events": partial.events.state_changes(),
        "frames": [sorted(map(repr, frame.to_dicts())) for frame in frames],
        "observed_ms": partial.observed_ms,
    }


@settings(deadline=None, max_examples=12)
@given(
    values=VALUES,
    headers=RECORDS,
    marks=st.dictionaries(st.sampled_from("ab"), st.integers(-1, 9)),
    data=st.data(),
)
def test_any_split_merges_to_the_same(
    values: list[bytes | None], headers: list[Headers], marks: dict[str, int], data: st.DataObject
) -> None:
    records = batch(values, headers)
    part_of = data.draw(st.lists(st.integers(0, 3), min_size=len(records), max_size=len(records)))
    parts = [
        table([record for record, part in zip(records, part_of, strict=True) if part == number])
        for number in range(4)
    ]
    order = data.draw(st.permutations(parts))

    def split(context: Context) -> Partial:
        found: list[Partial] = [pickle.loads(pickle.dumps(summarise(part, context))) for part in order]  # noqa: S301 -- ours
        at = data.draw(st.integers(0, len(found)))
        return merge([merge(found[:at], context), merge(found[at:], context)], context)

    counted_before = {source: Position(1, offset) for source, offset in marks.items()}
    whole = counted(records, counted_before, now_ms=CONTEXT.now_ms)
    found = summarise_once(split(CONTEXT), split, CONTEXT, lambda _: counted_before)
    assert account(found) == account(whole)


def test_without_a_source_nobody_is_asked_what_was_counted() -> None:
    def marks_of(sources: frozenset[str]) -> dict[str, Position]:
        raise AssertionError(sources)

    dead_letters = summarise(table([{"topic": "dlq.a"}]), CONTEXT)
    assert summarise_once(dead_letters, lambda _: dead_letters, CONTEXT, marks_of) is dead_letters


def test_a_chunk_that_was_sent_twice_counts_once() -> None:
    values = [value(kind, "s", number) for number, kind in enumerate(KINDS)]
    events = counted(batch([*values, *values], [])).events
    assert sum(sums.events for sums in events.sums.values()) == len(values)
    assert len(events.state_changes()) == len({event.position for event in events.state_changes()})


@pytest.mark.parametrize(
    ("positions", "replays"),
    [
        ([(0, 1), (0, 2), (1, 3)], False),
        ([(0, 1), (1, 2), (0, 3)], True),
        ([(0, 1), (0, 1)], True),
        ([(0, 2), (0, 1)], True),
        ([(0, 1), (1, 1)], True),
    ],
    ids=["grows", "partitions overlap", "twice", "goes back", "twice in two partitions"],
)
def test_a_position_that_may_have_come_before_tells_that_its_source_replays(
    positions: list[tuple[int, int]], replays: bool
) -> None:
    records = [
        {"value": value("task_timeout", "s", offset), "partition": partition}
        for partition, offset in positions
    ]
    assert bool(summarise(table(records), CONTEXT).events.replayed({})) is replays


def test_of_too_many_causes_each_keeps_its_newest_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "MAX_SAMPLES", 6)
    rng = Random(1)
    same = [{"topic": "dlq", "timestamp_ms": number} for number in range(200)]
    records = [
        {**record, "headers": [(names.CONNECT_MESSAGE, b"x" * (1 + rng.randrange(5)))]} for record in same
    ]
    whole = counted(records).causes
    assert whole is not None
    assert len(whole.samples) == 6
    assert whole.samples["fingerprint"].n_unique() == 5
    parts = [summarise(table(records[at::3]), CONTEXT) for at in range(3)]
    merged = merge(parts, CONTEXT).causes
    assert merged is not None
    of_cause = [
        [at_ms for at_ms, one in enumerate(records) if one["headers"] == headers][-2:]
        for headers in ([(names.CONNECT_MESSAGE, b"x" * size)] for size in range(1, 6))
    ]
    newest = sorted([max(second for second, _ in of_cause), *(first for _, first in of_cause)])
    assert sorted(whole.samples["timestamp_ms"]) == sorted(merged.samples["timestamp_ms"]) == newest


@pytest.mark.parametrize(("of_event", "of_dead_letter"), [(9_000, 8_000), (8_000, 9_000)])
def test_a_batch_is_as_late_as_its_newest_event_or_dead_letter(of_event: int, of_dead_letter: int) -> None:
    event = replace(warm_up.example(KINDS["task_timeout"]), observed_at_ms=of_event)
    dead_letters = [{"topic": "dlq", "timestamp_ms": of_dead_letter - age_ms} for age_ms in (0, 5)]
    records = [*dead_letters, {"value": encode(event)[1], "timestamp_ms": 10_000}]
    assert counted(records).observed_ms == 9_000


def one_event(label: str, position: Position | None, offset: int) -> tuple[Key, Sums]:
    """One event of the source, at an offset of partition 0."""
    key = Key("task_timeout", "log:app", "", (label,), 0, position)
    return key, Sums(1, 1, offset, offset, offset, position or Position(1), (offset, 0), {"offset": offset})


def test_of_events_at_one_position_the_first_counts_and_all_keep_their_turn() -> None:
    """New labels take the free rows of a counter in this order, so it is that of batches without replays."""
    without_position = one_event("c", None, 4)
    again, first = one_event("later copy", Position(1, 2), 3), one_event("b", Position(1, 2), 1)
    sums = dict([again, one_event("a", Position(1, 1), 0), first, without_position])
    found = EventCounts(sums, (), {}).deduplicated().sums
    assert [(key.labels, key.position, one.detail["offset"]) for key, one in found.items()] == [
        (("c",), None, 4),
        (("b",), None, 1),
        (("a",), None, 0),
    ]
