"""The quick way of a backlog and the thorough one come to the same, whatever the records are."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
from pyspark.sql import DataFrame

from collector.contract.events import KINDS, Event, Position, TaskTimeout, encode
from streaming.aggregates import clients, delivery_timeouts, pipeline, plain_pass, redrives, task_timeouts
from streaming.aggregates.one_pass import summarise
from streaming.aggregates.plain_chunks import PLAIN as PLAIN_KINDS
from streaming.aggregates.plain_pass import LARGE_BATCH, Planned
from streaming.aggregates.summary import Summary
from streaming.decode import decode
from streaming.plain_events import taken_apart
from streaming.store import buckets
from streaming.store.batch import SeriesDelta, combined

EVENTS = "deadwatch.events"
NOW_MS = time.time_ns() // 1_000_000
TEXTS = ("", "a", "-1", "na\u00efve \u2603 \U0001f4a3", "{x}", "a$1b", "7f\x7f", "\u0085\u2028", "a, b: [c]")
ODD_TEXTS = ('a "quote"', "back\\slash", "line\nbreak", "nul\x00", "sep\x1e\x1f")
Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]

pytestmark = pytest.mark.spark


def event(rng: Random, number: int, kind: str, texts: Sequence[str] = TEXTS) -> Event:
    cls = KINDS[kind]
    values: dict[str, Any] = {}
    for name, hint in cls.__annotations__.items():
        if name != "kind":
            values[name] = rng.choice(texts) if hint is str else rng.choice((0, 7, -1, 10**17, 2**31))
    return cls(
        **values,
        source=f"log:{rng.randrange(3)}",
        position=Position(number // 100, number, rng.randrange(3)),
        happened_at_ms=rng.choice((0, 1_795_250_000_000)) + number,
        observed_at_ms=1_795_250_000_000 + number,
        kafka_cluster=rng.choice(texts),
    )


def record(event: Event) -> dict[str, Any]:
    key, value = encode(event)
    return {"key": key, "value": value, "partition": sum(event.source.encode()) % 3}


def spaced(event: Event) -> dict[str, Any]:
    """As another writer may put it."""
    return {**record(event), "value": json.dumps(json.loads(encode(event)[1])).encode()}


def told(summaries: Sequence[Summary]) -> object:
    """Everything a batch is made of, whatever rows it came in."""
    signals = (task_timeouts, delivery_timeouts, clients, redrives, pipeline)
    deltas: list[SeriesDelta] = [delta for signal in signals for delta in signal.deltas(summaries)]
    letters: Counter[tuple[str, int]] = Counter()
    for one in summaries:
        if one.is_letter:
            letters[one.topic, one.partition] += one.count
            letters["redriven", one.partition] += one.redriven
    return (
        {
            (one.series.name, one.labels): (replace(one, buckets={}), buckets.split(one, NOW_MS))
            for one in combined(deltas)
        },
        pipeline.next_offsets(summaries),
        pipeline.first_offsets(summaries),
        pipeline.marks(summaries),
        pipeline.first_positions(summaries),
        max((one.observed_ms for one in summaries), default=0),
        +letters,
    )


@pytest.fixture(
    params=[Planned(1_000, 1_000), Planned(1_000, 0), Planned(LARGE_BATCH, 1_000), None],
    ids=["fetched", "fetched but for letters", "by workers", "by workers but for letters"],
)
def planned(request: pytest.FixtureRequest) -> Planned | None:
    found: Planned | None = request.param
    return found


def both_ways(
    records: DataFrame, planned: Planned | None
) -> tuple[plain_pass.PlainPass | None, list[Summary]]:
    quick = plain_pass.read(records, EVENTS, NOW_MS, planned)
    return quick, summarise(decode(records, EVENTS))


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_and_every_text_comes_to_the_same(
    kafka: Kafka, seed: int, planned: Planned | None
) -> None:
    rng = Random(seed)
    mixed = [
        event(rng, number, rng.choice(PLAIN_KINDS), TEXTS if number % 5 else ODD_TEXTS)
        for number in range(300)
    ]
    moved = [{"key": "deadwatch.redrive.id", "value": b"o1"}]
    letters = [
        {"topic": "dlq.a", "value": b"{}", "partition": 1, "headers": moved if number % 3 else None}
        for number in range(10)
    ]
    nonsense: list[dict[str, Any]] = [{"value": b"nonsense"}, {"value": None}, {"value": b"{}"}]
    records = kafka([*map(record, mixed[:200]), *map(spaced, mixed[200:]), *letters, *nonsense])
    quick, thorough = both_ways(records, planned)
    assert quick is not None
    assert quick.unusual is not None
    rest = summarise(decode(quick.unusual, EVENTS))
    assert sum(one.count for one in rest) > 100
    assert sum(one.count for one in quick.summaries) > 150
    assert told([*quick.summaries, *rest]) == told(thorough)


def test_whatever_encode_writes_without_a_rare_escape_is_plain(kafka: Kafka, planned: Planned | None) -> None:
    rng = Random(1)
    events = [event(rng, number, kind) for number, kind in enumerate(PLAIN_KINDS * 9)]
    quoting: list[Any] = [one for one in events if hasattr(one, "message")]
    quoting = [replace(one, message='a "quote", a\\tab\n') for one in quoting]
    quick, thorough = both_ways(kafka(list(map(record, quoting))), planned)
    assert quick is not None
    assert quick.unusual is None
    assert told(quick.summaries) == told(thorough)


PLAIN = TaskTimeout(
    source="log:a",
    position=Position(1, 2, 3),
    happened_at_ms=1,
    observed_at_ms=2,
    kafka_cluster="c",
    application="app",
    task="0_1",
    elapsed_ms=3,
    message="late",
)


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(encode(PLAIN)[1]), **fields}, separators=(",", ":")).encode()


WHOLE = encode(PLAIN)[1]


def apart(value: bytes) -> dict[str, str | int] | None:
    frame = pl.DataFrame({"text": [value.decode()]}).select(
        taken_apart(pl.col("text"), PLAIN.kind).alias("event")
    )
    found = frame["event"][0]
    return None if found is None or found["epoch"] is None else found


@pytest.mark.parametrize(
    "value",
    [
        WHOLE.replace(b":", b": ", 1),
        WHOLE + b"\n",
        WHOLE[:-1],
        WHOLE.replace(b'"v":1', b'"v":2'),
        WHOLE.replace(b'"elapsed_ms":3', b'"elapsed_ms":03'),
        WHOLE.replace(b'"elapsed_ms":3', b'"elapsed_ms":3.5'),
        WHOLE.replace(b"late", b"la\tte"),
        WHOLE.replace(b"log:a", b'la\\"te'),
        WHOLE.replace(b"late", b"\\u0041"),
        WHOLE.replace(b"late", b"\\x"),
        changed(elapsed_ms=10**18),
        changed(position=[1, 2, 10_000]),
        changed(position=[1, 2, -1]),
        changed(position=[1, 2]),
        changed(happened_at_ms=10**13),
        changed(happened_at_ms=-1),
        changed(novelty=1),
        changed(kind="task_corrupted"),
        b'{"kind":"task_timeout"}',
        b"nonsense",
        b"task_timeout" + b"\x1e" * 8,
        b"",
    ],
)
def test_what_is_written_in_another_way_is_unusual(value: bytes) -> None:
    assert apart(value) is None


def test_a_plain_event_has_all_its_fields() -> None:
    read = apart(WHOLE)
    assert read is not None
    assert (read["source"], read["epoch"], read["place"], read["ordinal"]) == ("log:a", 1, 2, 3)
    assert (read["kafka_cluster"], read["application"], read["task"], read["elapsed_ms"]) == (
        "c",
        "app",
        "0_1",
        3,
    )


def test_bytes_that_are_no_text_come_to_the_same(kafka: Kafka, planned: Planned | None) -> None:
    values = [
        WHOLE.replace(b"late", junk) for junk in (b"\xff", b"\xe2\x98", b"\xed\xa0\x80", b"\xf0\x9f\x92a")
    ]
    values = [one.replace(b'"position":[1,2', b'"position":[1,%d' % at) for at, one in enumerate(values)]
    quick, thorough = both_ways(kafka([{"value": value} for value in values]), planned)
    assert quick is not None
    assert quick.unusual is not None
    assert told([*quick.summaries, *summarise(decode(quick.unusual, EVENTS))]) == told(thorough)


EARLIER = changed(position=[1, 1, 3])


@pytest.mark.parametrize("again", [WHOLE, WHOLE + b" ", changed(novelty=1), EARLIER, EARLIER + b" "])
@pytest.mark.parametrize("partition", [0, 1])
def test_a_position_that_may_have_come_before_is_doubtful(
    kafka: Kafka, again: bytes, partition: int, planned: Planned | None
) -> None:
    begin, end = changed(position=[1, 0, 0]), changed(position=[1, 9, 0])
    elsewhere = {"value": again, "partition": partition}
    records = kafka([{"value": begin}, {"value": WHOLE}, {"value": end}, elsewhere])
    assert plain_pass.read(records, EVENTS, 1, planned) is None


def test_a_source_that_moved_to_another_partition_is_not_doubtful(
    kafka: Kafka, planned: Planned | None
) -> None:
    later = {"value": changed(position=[1, 3, 0]), "partition": 1}
    found = plain_pass.read(kafka([{"value": WHOLE}, later]), EVENTS, 1, planned)
    assert found is not None
    assert sum(one.count for one in found.summaries) == 2


def test_what_cannot_be_read_is_no_copy(kafka: Kafka, planned: Planned | None) -> None:
    found = plain_pass.read(
        kafka([{"value": b"nonsense"}, {"value": b"{}"}, {"value": b"{}"}]), EVENTS, 1, planned
    )
    assert found is not None
    assert found.unusual is not None
    assert (found.unusual.count(), found.summaries) == (3, [])


def test_too_many_unusual_ones_are_doubtful(kafka: Kafka, planned: Planned | None) -> None:
    many = [{"value": b"nonsense"}] * (plain_pass.MAX_NOT_PLAIN + 1)
    assert plain_pass.read(kafka(many), EVENTS, 1, planned) is None


@pytest.mark.parametrize("more", [0, 1])
def test_a_batch_with_an_event_beyond_its_share_is_told_by_workers(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(plain_pass, "FETCHED_BYTES", 1_023)
    monkeypatch.setattr(plain_pass, "LETTERS_ALIKE", 1)
    told_by_workers = Mock(wraps=plain_pass._told)
    monkeypatch.setattr(plain_pass, "_told", told_by_workers)
    large = WHOLE.replace(b"late", b"late" + b"." * (512 - len(WHOLE) + more))
    found = plain_pass.read(
        kafka([{"value": large}, {"topic": "dlq", "value": large * 9}]),
        EVENTS,
        1,
        Planned(1, 1),
    )
    assert found is not None
    assert sum(one.count for one in found.summaries) == 2
    assert told_by_workers.call_count == more


def test_a_batch_of_nothing_but_transaction_markers_is_empty(kafka: Kafka, planned: Planned | None) -> None:
    found = plain_pass.read(kafka([]), EVENTS, 1, planned)
    assert found is not None
    assert (found.summaries, found.unusual) == ([], None)
