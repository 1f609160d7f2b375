"""The quick way of a backlog and the thorough one come to the same, whatever the records are."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from collector.contract.events import KINDS, Event, Position, TaskTimeout, encode
from streaming.aggregates import clients, delivery_timeouts, pipeline, plain_pass, redrives, task_timeouts
from streaming.aggregates.one_pass import summarise
from streaming.aggregates.summary import Summary
from streaming.decode import decode
from streaming.plain_events import FIELDS, fields, replaced
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
        position=Position(rng.randrange(2), number, rng.randrange(3)),
        happened_at_ms=rng.choice((0, 1_795_250_000_000)) + number,
        observed_at_ms=1_795_250_000_000 + number,
        kafka_cluster=rng.choice(texts),
    )


def record(event: Event) -> dict[str, Any]:
    key, value = encode(event)
    return {"key": key, "value": value, "partition": sum(event.source.encode()) % 3}


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


def both_ways(records: DataFrame) -> tuple[plain_pass.PlainPass, list[Summary]]:
    quick = plain_pass.read(records, EVENTS)
    return quick, summarise(decode(records, EVENTS))


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_and_every_text_comes_to_the_same(kafka: Kafka, seed: int) -> None:
    rng = Random(seed)
    mixed = [
        event(rng, number, rng.choice(plain_pass.PLAIN), TEXTS if number % 5 else ODD_TEXTS)
        for number in range(300)
    ]
    moved = [{"key": "deadwatch.redrive.id", "value": b"o1"}]
    letters = [
        {"topic": "dlq.a", "value": b"{}", "partition": 1, "headers": moved if number % 3 else None}
        for number in range(10)
    ]
    records = kafka(
        [*map(record, mixed), *letters, {"value": b"nonsense"}, {"value": None}, {"value": b"{}"}]
    )
    quick, thorough = both_ways(records)
    assert not quick.copies
    rest = summarise(decode(plain_pass.unusual(records, EVENTS), EVENTS))
    assert sum(one.count for one in rest) == quick.unusual > 50
    assert sum(one.count for one in quick.summaries) > 150
    assert told([*quick.summaries, *rest]) == told(thorough)


def test_whatever_encode_writes_without_an_escape_is_plain(kafka: Kafka) -> None:
    rng = Random(1)
    records = kafka([record(event(rng, number, kind)) for number, kind in enumerate(plain_pass.PLAIN * 9)])
    quick, thorough = both_ways(records)
    assert quick.unusual == 0
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


def taken_apart(kafka: Kafka, value: bytes) -> dict[str, str] | None:
    text = replaced(F.col("value").cast("string"), plain_pass.PLAIN)
    (row,) = kafka([{"value": value}]).select(text.alias("t")).select(fields(F.col("t")).alias("f")).collect()
    return None if row.f is None else dict(zip(FIELDS, row.f, strict=True))


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
        WHOLE.replace(b"late", b'la\\"te'),
        changed(elapsed_ms=10**18),
        changed(position=[1, 2, 10_000]),
        changed(position=[1, 2, -1]),
        changed(position=[1, 2]),
        changed(happened_at_ms=10**13),
        changed(happened_at_ms=-1),
        changed(novelty=1),
        changed(kind="task_corrupted"),
        b'{"kind":"task_timeout"}',
        b"\xff\xfe",
        b"nonsense",
        b"task_timeout" + b"\x1e" * 8,
        b"",
    ],
)
def test_what_is_written_in_another_way_is_unusual(kafka: Kafka, value: bytes) -> None:
    assert taken_apart(kafka, value) is None


def test_a_plain_event_has_all_its_fields(kafka: Kafka) -> None:
    read = taken_apart(kafka, WHOLE)
    assert read is not None
    assert (read["source"], read["epoch"], read["place"], read["ordinal"]) == ("log:a", "1", "2", "3")
    assert read["labels"].split("\x1f")[:4] == ["task_timeout", "c", "app", "0_1"]


def test_bytes_that_are_no_text_come_to_the_same(kafka: Kafka) -> None:
    values = [
        WHOLE.replace(b"late", junk) for junk in (b"\xff", b"\xe2\x98", b"\xed\xa0\x80", b"\xf0\x9f\x92a")
    ]
    values = [one.replace(b'"position":[1,2', b'"position":[1,%d' % at) for at, one in enumerate(values)]
    quick, thorough = both_ways(kafka([{"value": value} for value in values]))
    assert quick.unusual == 0
    assert told(quick.summaries) == told(thorough)


@pytest.mark.parametrize("again", [WHOLE, WHOLE + b" ", changed(novelty=1)])
def test_a_position_that_came_twice_is_told(kafka: Kafka, again: bytes) -> None:
    assert plain_pass.read(kafka([{"value": WHOLE}, {"value": again}]), EVENTS).copies


def test_two_that_cannot_be_read_are_no_copies(kafka: Kafka) -> None:
    found = plain_pass.read(kafka([{"value": b"nonsense"}, {"value": b"{}"}, {"value": b"{}"}]), EVENTS)
    assert (found.unusual, found.copies, found.summaries) == (3, False, [])
