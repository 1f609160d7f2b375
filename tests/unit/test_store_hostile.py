"""Whatever an event claims, it makes no batch fail for ever and no table grow without bound."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, select

from collector.contract.events import (
    BrokerSnapshot,
    CollectorCount,
    CollectorSnapshot,
    ConnectTask,
    ConnectTasksSnapshot,
    DeadLetterTopic,
    DeadLetterTopicsSnapshot,
    Event,
    Finding,
    FindingsSnapshot,
    Instance,
    OffsetRange,
    Position,
    RedriveHandled,
    RedriveWritten,
    ShareGroup,
    SourceStatus,
    TaskAbandoned,
    TaskTimerStarted,
    WorkerSnapshot,
)
from streaming.store import schema
from streaming.store.batch import Batch, GroupDelta, Origins, Sample, delta
from streaming.store.caps import MAX_ROWS
from streaming.store.series import CARDINALITY_LIMITED, DEAD_LETTERS
from streaming.store.storable import MAX_INTEGER
from streaming.store.store import Store

EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})
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


def where(at: int, source: str) -> dict[str, Any]:
    return {
        "source": source,
        "position": Position(at),
        "happened_at_ms": at,
        "observed_at_ms": at,
        "kafka_cluster": source,
    }


def connect_task(text: str, number: int) -> ConnectTask:
    texts = dict.fromkeys(("worker", "connector", "task", "state", "stalled_because"), text)
    flags = dict.fromkeys(("counted", "judged"), True)
    rest = {field.name for field in fields(ConnectTask)} - {*texts, *flags}
    told: dict[str, Any] = {**texts, **flags, **dict.fromkeys(rest, number)}
    return ConnectTask(**told)


def timer(told: dict[str, Any], text: str, number: int) -> TaskTimerStarted:
    texts: dict[str, Any] = dict.fromkeys(
        ("application", "streams_client", "thread", "task", "call", "message"), text
    )
    return TaskTimerStarted(**told, **texts, remaining_ms=number)


def events(text: str, number: int) -> tuple[Event, ...]:
    told = where(number, text)
    share = ShareGroup(
        consumergroup=text, records=number, produce_requests=number, failed_produce_requests=number
    )
    topic = DeadLetterTopic(
        topic=text, partitions=number, records=number, oldest_at_ms=number, named_by=text, read=True
    )
    instance = Instance(connector=text, task=text, state=text, abandoned=number)
    finding = Finding(kind=text, subject=text, message=text, change=text)
    count = CollectorCount(name=text, subject=text, current=number, total=number)
    return (
        TaskAbandoned(**told, worker=text, connector=text, task=text, message=text),
        WorkerSnapshot(**told, worker=text, threads_known=True, instances=(instance,)),
        BrokerSnapshot(**told, broker=text, started_at_ms=number, share_groups=(share,)),
        DeadLetterTopicsSnapshot(**told, dead_letter_topics=(topic,)),
        FindingsSnapshot(**told, findings=(finding,)),
        ConnectTasksSnapshot(**told, connect_cluster=text, connect_tasks=(connect_task(text, number),)),
        CollectorSnapshot(**told, collector=text, started_at_ms=number, collector_counts=(count,)),
        timer(told, text, number),
        SourceStatus(**told, subject=text, source_kind=text, up=True, message=text),
        RedriveWritten(
            **told,
            order=text,
            dlq_topic=text,
            target_topic=text,
            written=(OffsetRange(partition=0, first=0, end=number + 1),),
        ),
        RedriveHandled(
            **told,
            order=text,
            dlq_topic=text,
            dlq_topic_id=text,
            outcome="sent",
            handled=(OffsetRange(partition=0, first=0, end=number + 1),),
        ),
    )


def origins(text: str) -> tuple[Origins, ...]:
    return (Origins(text, text, text, f"{text}, where nobody has written", 0, (0,)),)


def batch(text: str, number: int) -> Batch:
    labels = dict.fromkeys(DEAD_LETTERS.labels, text)
    counted = delta(DEAD_LETTERS, labels, number, first_ms=number, last_ms=number, detail={"message": text})
    texts = dict.fromkeys(("kafka_cluster", "dlq_topic", "dialect", "source_topic", "consumer"), text)
    group = GroupDelta(
        fingerprint="f",
        **texts,
        error_class=text,
        message_pattern=text,
        message=text,
        records=number,
        first_ms=number,
        last_ms=number,
    )
    headers = ((text, text.encode(errors="replace")),)
    sample = Sample("f", "dlq", 0, 0, number, headers, b"\x00", None, number, -1)
    return replace(
        EMPTY,
        series=(counted, counted),
        groups=(group,),
        samples=(sample,),
        events=events(text, number),
        origins=origins(text),
        marks={text: Position(1, 2, 3)},
    )


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("number", [HUGE, MAX_INTEGER, -HUGE], ids=["huge", "the largest", "negative"])
def test_no_text_and_no_number_makes_a_batch_fail(
    store: Store, connection: Connection, name: str, number: int
) -> None:
    hostile = batch(HOSTILE[name], number)
    assert store.apply(hostile)
    assert store.apply(replace(hostile, batch_id=1))
    assert store.marks([HOSTILE[name]]) == {HOSTILE[name]: Position(1, 2, 3)}
    for table in (schema.abandoned, schema.instances, schema.share_groups, schema.sources, schema.groups):
        assert len(connection.execute(select(table)).all()) == 1
    (value,) = connection.scalars(select(schema.series.c.value).where(schema.series.c.name == "dead_letters"))
    assert value == (0 if number < 0 else MAX_INTEGER)


def test_long_names_stay_different(store: Store, connection: Connection) -> None:
    long = "x" * 5_000
    for number, name in enumerate((long + "a", long + "b")):
        store.apply(replace(EMPTY, batch_id=number, events=events(name, 1), marks={name: Position(number)}))
    assert store.marks([long + "a", long + "b", long]) == {long + "a": Position(0), long + "b": Position(1)}
    assert len(connection.execute(select(schema.instances)).all()) == 2


def test_tables_of_states_are_bounded_and_say_so(store: Store, connection: Connection) -> None:
    for number, name in enumerate(("a", "b", "c", "d", "a")):
        store.apply(
            replace(
                EMPTY,
                batch_id=number,
                events=events(name, number),
                origins=origins(name),
                marks={name: Position(number)},
            )
        )
    told = connection.execute(select(schema.series).where(schema.series.c.name == CARDINALITY_LIMITED.name))
    limited = {json.loads(row.labels)["series"]: row.value for row in told}
    assert limited == dict.fromkeys(MAX_ROWS, 2)
    assert store.marks(["a", "b", "c", "d"]) == {"a": Position(4), "b": Position(1)}
    for table in schema.metadata.sorted_tables:
        if table.name in MAX_ROWS:
            assert len(connection.execute(select(table)).all()) == 2
