"""Whatever an event claims, it makes no batch fail for ever and no table grow without bound."""

import json
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass, replace
from random import Random
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from deadwatch.contract import events as contract
from deadwatch.store import schema
from deadwatch.store.batch import Batch, GroupDelta, Origins, Sample, delta
from deadwatch.store.engine import connect
from deadwatch.store.series import CARDINALITY_LIMITED, DEAD_LETTERS
from deadwatch.store.storable import MAX_INTEGER
from deadwatch.store.store import Store
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.states import MAX_ROWS
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, GROUP, Rows, apply, order, origin

rows = suite.rows

HUGE = 2**70
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789äöü漢字😀"
HOSTILE = {
    "long and random": "".join(Random(1).choices(LETTERS, k=20_000)),
    "a NUL": "a\x00b",
    "what JSON writes longer": "".join(Random(1).choices('"\\\x01\x02\x1f\n', k=5_000)),
    "half a character": "a\ud800b",
    "only digits of another script": "٣" * 2_000,
}


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, max_rows=dict.fromkeys(MAX_ROWS, 2)) as opened:
        yield opened


STATEFUL: tuple[type[contract.Event], ...] = (
    contract.TaskAbandoned,
    contract.WorkerSnapshot,
    contract.BrokerSnapshot,
    contract.DeadLetterTopicsSnapshot,
    contract.FindingsSnapshot,
    contract.ConnectTasksSnapshot,
    contract.CollectorSnapshot,
    contract.TaskTimerStarted,
    contract.SourceStatus,
    contract.RedriveWritten,
    contract.RedriveHandled,
)


def filled(cls: type[Any], text: str, number: int) -> Any:  # noqa: ANN401 -- of that class
    """An event, or a part of one, whose fields hold this text and this number; a range is of partition 0."""
    if get_origin(cls) is tuple:
        return (filled(get_args(cls)[0], text, number),)
    if not is_dataclass(cls):
        return {str: text, int: number, bool: True, contract.Position: contract.Position(number)}[cls]
    exact = {"outcome": "sent", "partition": 0, "first": 0, "end": number + 1, "ended": False}
    types = get_type_hints(cls)
    return cls(
        **{
            field.name: exact.get(field.name, filled(types[field.name], text, number))
            for field in fields(cls)
        }
    )


def events(text: str, number: int) -> tuple[contract.Event, ...]:
    return tuple(filled(cls, text, number) for cls in STATEFUL)


def origins(text: str) -> tuple[Origins, ...]:
    return (Origins(text, text, text, f"{text}, where nobody has written", 0, (0,)),)


def batch(text: str, number: int) -> Batch:
    labels = dict.fromkeys(DEAD_LETTERS.labels, text)
    counted = delta(DEAD_LETTERS, labels, number, first_ms=number, last_ms=number, detail={"message": text})
    claimed: dict[str, Any] = {
        name: number if isinstance(value, int) else text for name, value in asdict(GROUP).items()
    }
    group = GroupDelta(**{**claimed, "fingerprint": "f"})
    headers = ((text, text.encode(errors="replace")),)
    sample = Sample("f", "dlq", 0, 0, number, headers, b"\x00", None, number, -1)
    return replace(
        EMPTY,
        series=(counted, counted),
        groups=(group,),
        samples=(sample,),
        events=events(text, number),
        origins=origins(text),
        marks={text: contract.Position(1, 2, 3)},
    )


@pytest.mark.parametrize(
    ("name", "number"),
    [*((name, HUGE) for name in HOSTILE), ("a NUL", MAX_INTEGER), ("a NUL", -HUGE)],
    ids=[*HOSTILE, "the largest number", "a negative number"],
)
def test_no_text_and_no_number_makes_a_batch_fail(store: Store, rows: Rows, name: str, number: int) -> None:
    hostile = batch(HOSTILE[name], number)
    assert store.apply(hostile)
    assert store.apply(hostile)
    assert store.marks([HOSTILE[name]]) == {HOSTILE[name]: contract.Position(1, 2, 3)}
    for table in (schema.abandoned, schema.share_groups, schema.groups):
        assert len(rows(table, "kafka_cluster")) == 1
    told_of = 0 if number < 0 else 1  # whose last heartbeat was long ago is forgotten
    assert len(rows(schema.sources, "name")) == len(rows(schema.instances, "task")) == told_of
    values = [value for series, value in rows(schema.series, "name value") if series == "dead_letters"]
    assert values == [0 if number < 0 else MAX_INTEGER]


def test_long_names_stay_different(store: Store, rows: Rows) -> None:
    long = "x" * 5_000
    for number, name in enumerate((long + "a", long + "b")):
        store.apply(replace(EMPTY, events=events(name, 1), marks={name: contract.Position(number)}))
    assert store.marks([long + "a", long + "b", long]) == {
        long + "a": contract.Position(0),
        long + "b": contract.Position(1),
    }
    assert len(rows(schema.instances, "task")) == 2


def test_marks_of_log_files_that_nobody_reads_make_room(store: Store, rows: Rows) -> None:
    status: dict[str, Any] = {"subject": "log:1", "source_kind": "log", "up": True, "message": ""}
    for name in ("log:1", "log:1#status"):
        apply(store, contract.SourceStatus(**origin("log:1#status"), **status))
        store.apply(replace(EMPTY, marks={name: contract.Position(1)}))
    store.apply(replace(EMPTY, marks={"log:2": contract.Position(1)}))
    assert rows(schema.marks, "source") == ["log:1", "log:1#status"]
    apply(store, contract.SourceStatus(**origin("log:1#status", 9), **status, ended=True))
    store.apply(replace(EMPTY, marks={"log:2": contract.Position(1)}))
    assert rows(schema.marks, "source") == ["log:2"]


def test_marks_of_redrives_that_are_over_make_room(store: Store, rows: Rows, url: str) -> None:
    engine = connect(url)
    book = OrderBook(engine)
    for name in ("a", "b"):
        book.create(order(name, f"dlq.{name}"), "{}")
    book.cancel("a", "over", 1)
    engine.dispose()
    for number, name in enumerate(("redrive:a", "redrive:b-0", "otlp@1", "otlp@2"), 1):
        store.apply(replace(EMPTY, marks={name: contract.Position(number)}))
    assert {*rows(schema.marks, "source")} == {"redrive:b-0", "otlp@1"}


def test_tables_of_states_are_bounded_and_say_so(store: Store, rows: Rows) -> None:
    for number, name in enumerate(("a", "b", "c", "d", "a")):
        marks = {name: contract.Position(number)}
        store.apply(replace(EMPTY, events=events(name, number), origins=origins(name), marks=marks))
    found = rows(schema.series, "name labels value")
    limited = {json.loads(row[1])["series"]: row[2] for row in found if row[0] == CARDINALITY_LIMITED.name}
    assert limited == dict.fromkeys(MAX_ROWS, 2)
    assert store.marks(["a", "b", "c", "d"]) == {"a": contract.Position(4), "b": contract.Position(1)}
    for table in schema.metadata.sorted_tables:
        if table.name in MAX_ROWS:
            assert len(rows(table, table.columns.keys()[0])) == 2
