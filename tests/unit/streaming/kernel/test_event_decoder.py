"""What becomes of the records of the events topic."""

import dataclasses
import json
from collections.abc import Mapping

import pytest

from deadwatch.contract.events import (
    KINDS,
    Event,
    Position,
    SourceStatus,
    TaskTimeout,
    WorkerSnapshot,
    encode,
)
from streaming import warm_up
from streaming.kernel.event_decoder import STATEFUL, refusal
from tests.kafka_records import counted

COMMON = {"source": "log:/var/log/a", "kafka_cluster": "default"}
TASK = {"application": "app", "task": "0_1", "elapsed_ms": 301, "message": "late"}
TIMEOUT = dataclasses.replace(warm_up.example(TaskTimeout), **COMMON, **TASK)
SNAPSHOT = warm_up.example(WorkerSnapshot)
STATUS = warm_up.example(SourceStatus)


def changed(event: Event, without: str = "", **fields: object) -> bytes:
    body = {**json.loads(encode(event)[1]), **fields}
    body.pop(without, None)
    return json.dumps(body).encode()


TEXT = encode(TIMEOUT)[1]


VALUES: Mapping[str, Mapping[str, bytes | None]] = {
    "": {
        "a whole event is taken": TEXT,
        "a field nobody knows is passed over": changed(TIMEOUT, novelty=1),
        "a snapshot with instances is taken": encode(SNAPSHOT)[1],
        "a snapshot without instances is taken": changed(SNAPSHOT, instances=[]),
        "an instance of a collector that knows no trace": changed(
            SNAPSHOT, instances=[{"connector": "c", "task": "0", "state": "FAILED", "abandoned": 0}]
        ),
        "the largest number": changed(TIMEOUT, elapsed_ms=2**63 - 1),
        "blanks and line feeds between all": json.dumps(json.loads(TEXT), indent=2).encode(),
        "another order of fields": json.dumps(dict(reversed(json.loads(TEXT).items()))).encode(),
        "escapes": TEXT.replace(b"late", b"l\\u0061te\\n\\/"),
    },
    "not_json": {
        "a record without value is no JSON": None,
        "an empty value is no JSON": b"",
        "plain text is no JSON": b"nonsense",
        "JSON that was cut is no JSON": TEXT[:-5],
        "a JSON list is no object": b"[1, 2]",
        "a JSON null is no object": b"null",
        "bytes that are no text are no JSON": b"\xff\xfe\x00\x01",
        "half of a pair of surrogates": TEXT.replace(b"late", b"\\ud800"),
        "a message that is no text": TEXT.replace(b"late", b"\xff"),
        "a message with a line feed of its own": TEXT.replace(b"late", b"la\nte"),
        "lists without end": b"[" * 100_000,
        "a field of lists without end": b'{"a":' + b"[" * 100_000,
    },
    "unknown_kind": {
        "an object without kind is of unknown kind": b"{}",
        "a kind of the future is unknown": changed(TIMEOUT, kind="task_yawned"),
        "a null kind is unknown": changed(TIMEOUT, kind=None),
        "a kind that is a list": changed(TIMEOUT, kind=[]),
    },
    "incomplete": {
        "a missing field": changed(TIMEOUT, without="task"),
        "a null field": changed(TIMEOUT, application=None),
        "text where a truth value belongs": changed(STATUS, up="yes"),
        "a number beyond all bounds": changed(TIMEOUT, elapsed_ms=10**30),
        "a position of two parts": changed(TIMEOUT, position=[1, 2]),
        "a position with a hole": changed(TIMEOUT, position=[1, None, 0]),
        "a position that is a number": changed(TIMEOUT, position=7),
        "instances that are text": changed(SNAPSHOT, instances="none"),
        "an instance with a hole": changed(SNAPSHOT, instances=[{"connector": "c"}]),
        "an instance that is null": changed(SNAPSHOT, instances=[None]),
        "a number that is text": changed(TIMEOUT, elapsed_ms="301"),
        "text that is a number": changed(TIMEOUT, task=1),
        "a number of 65 bits": changed(TIMEOUT, elapsed_ms=2**63),
    },
}
"""By the reason for which they are refused; the first are taken."""
CASES = [
    pytest.param(value, why, id=name) for why, values in VALUES.items() for name, value in values.items()
]


@pytest.mark.parametrize(("value", "refused"), CASES)
def test_a_record_is_taken_or_refused_with_its_reason(value: bytes | None, refused: str) -> None:
    assert refusal(value) == refused
    ((key, sums),) = counted([{"value": value}]).events.sums.items()
    assert (key.refused, key.kind == "", sums.events) == (refused, bool(refused), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_taken_and_without_its_fields_incomplete(kind: str) -> None:
    assert refusal(encode(warm_up.example(KINDS[kind]))[1]) == ""
    assert refusal(json.dumps({"kind": kind}).encode()) == "incomplete"


def test_every_kind_that_changes_a_state_comes_back_as_it_was_sent() -> None:
    sent: list[Event] = [
        dataclasses.replace(warm_up.example(KINDS[kind]), position=Position(1, number))
        for number, kind in enumerate(sorted(STATEFUL))
    ]
    assert sent
    assert counted([{"value": encode(event)[1]} for event in sent]).events.state_changes() == sent


def test_what_an_event_says_is_counted_however_it_is_written() -> None:
    plain, spaced = encode(TIMEOUT)[1], changed(TIMEOUT, novelty=[1, {"a": 2}])
    first = counted([{"value": plain}]).events.sums
    assert first == counted([{"value": spaced}]).events.sums
    ((key, sums),) = first.items()
    assert (key.kind, key.source, key.labels) == ("task_timeout", "log:/var/log/a", ("default", "app", "0_1"))
    assert sums.detail == {"elapsed_ms": 301, "message": "late"}


def test_a_dead_letter_is_never_refused() -> None:
    partial = counted([{"value": b"nonsense", "topic": "dlq.deadwatch"}])
    assert not partial.events.sums
    assert partial.causes is not None
    assert partial.causes.sums["count"].to_list() == [1]
