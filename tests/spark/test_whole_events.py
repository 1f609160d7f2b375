"""An event that is read without Spark is the one that Spark reads, however its bytes were spoilt."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import KINDS, MAX_TEXT_CHARS, Event, Position, encode
from streaming.decode import decode
from streaming.event_rows import event_of
from streaming.warm_up import _example
from streaming.whole_events import whole_event

EVENTS = "deadwatch.events"
ODD = (
    "",
    'a "quote"',
    "back\\slash",
    "line\nbreak",
    "nul\x00",
    "na\u00efve \u2603 \U0001f4a3",
    "\u0085\u2028",
    "{",
)
SPOILT = (
    b"",
    b"0",
    b"-",
    b"9" * 18,
    b"9" * 19,
    b"1.0",
    b"1e3",
    b"true",
    b"null",
    b'"',
    b",",
    b"[",
    b"\\u0041",
    b" ",
)

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]

pytestmark = pytest.mark.spark


def example(kind: str, text: str, number: int) -> Event:
    """One with this text in every field of text, and this number in every other."""
    made = _example(KINDS[kind])
    kinds = {str: text, int: number}
    simple = {
        field.name: kinds[type(getattr(made, field.name))]
        for field in dataclasses.fields(made)
        if type(getattr(made, field.name)) in kinds
    }
    event: Event = dataclasses.replace(made, position=Position(number, 0, number), **simple)
    return event


def spoilt(value: bytes, rng: Random) -> bytes:
    begin = rng.randrange(len(value))
    return value[:begin] + rng.choice(SPOILT) + value[begin + rng.randrange(4) :]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [0, -1, 10**18 - 1])
def test_what_encode_writes_comes_back(kind: str, number: int) -> None:
    events = [example(kind, text, number) for text in ODD]
    assert [whole_event(encode(event)[1]) for event in events] == events


def test_what_is_read_without_spark_is_what_spark_reads(kafka: Kafka) -> None:
    rng = Random(7)
    written = [encode(example(kind, rng.choice(ODD), rng.choice((0, -7, 42))))[1] for kind in KINDS]
    values = [*written, *(spoilt(rng.choice(written), rng) for _ in range(3_000))]
    rows = decode(kafka([{"value": value} for value in values]), EVENTS).orderBy("offset").collect()
    found = [whole_event(value) for value in values]
    read = [event_of(row.event) if row.event else None for row in rows]
    assert [(ours, value) for ours, value in zip(found, values, strict=True) if ours is not None] == [
        (theirs, value) for ours, theirs, value in zip(found, read, values, strict=True) if ours is not None
    ]
    assert sum(one is not None for one in found[len(written) :]) > 100


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"nonsense",
        b'{"v":1,"kind":"task_yawned"}',
        b'{"v":1,"kind":"source_status"}',
        json.dumps(json.loads(encode(example("source_status", "a", 1))[1])).encode(),
        encode(example("source_status", "a", 10**18))[1],
        encode(example("source_status", "a", 1))[1].replace(b'"a"', b'"\\ud800"'),
        encode(example("source_status", "a", 1))[1].replace(b'"a"', b'"%s"' % (b"a" * (MAX_TEXT_CHARS + 1))),
        encode(example("source_status", "a", 1))[1].replace(b"true", b"1"),
    ],
)
def test_what_is_written_in_another_way_is_left_to_spark(value: bytes | None) -> None:
    assert whole_event(value) is None
