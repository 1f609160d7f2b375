"""What becomes of the records of the events topic."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import (
    KINDS,
    BrokerSnapshot,
    DeadLetterTopic,
    DeadLetterTopicsSnapshot,
    Event,
    Finding,
    FindingsSnapshot,
    Instance,
    Position,
    ShareGroup,
    SourceStatus,
    TaskTimeout,
    WorkerSnapshot,
    encode,
)
from streaming.decode import decode
from streaming.event_rows import event_of

EVENTS = "deadwatch.events"

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]

pytestmark = pytest.mark.spark

COMMON: dict[str, Any] = {
    "source": "log:/var/log/a",
    "position": Position(1, 20, 0),
    "happened_at_ms": 1_000,
    "observed_at_ms": 1_100,
    "kafka_cluster": "default",
}
TIMEOUT = TaskTimeout(**COMMON, application="app", task="0_1", elapsed_ms=301, message="late")
SNAPSHOT = WorkerSnapshot(
    **COMMON,
    worker="w:8083",
    threads_known=True,
    instances=(Instance(connector="c", task="0", state="RUNNING", abandoned=1),),
)
METERS = BrokerSnapshot(
    **COMMON,
    broker="b:1",
    started_at_ms=1,
    share_groups=(ShareGroup(consumergroup="g", records=10, produce_requests=2, failed_produce_requests=0),),
)
TOPICS = DeadLetterTopicsSnapshot(
    **COMMON,
    dead_letter_topics=(
        DeadLetterTopic(
            topic="dlq.a", partitions=1, records=2, oldest_at_ms=3, named_by="share group g", read=True
        ),
    ),
)
FINDINGS = FindingsSnapshot(
    **COMMON, findings=(Finding(kind="dlq_compacted", subject="topic:dlq.a", message="m", change="k=v"),)
)
STATUS = SourceStatus(**COMMON, subject="s", source_kind="log", up=False, message="gone")


def changed(event: Event, **fields: object) -> bytes:
    body = json.loads(encode(event)[1])
    return json.dumps({**body, **fields}).encode()


def without(event: Event, name: str) -> bytes:
    body = json.loads(encode(event)[1])
    del body[name]
    return json.dumps(body).encode()


@dataclass(frozen=True)
class Case:
    name: str
    value: bytes | None
    refused: str | None


CASES = [
    Case("a whole event is taken", encode(TIMEOUT)[1], None),
    Case("a field nobody knows is passed over", changed(TIMEOUT, novelty=1), None),
    Case("a snapshot with instances is taken", encode(SNAPSHOT)[1], None),
    Case("a snapshot without instances is taken", changed(SNAPSHOT, instances=[]), None),
    Case("a record without value is no JSON", None, "not_json"),
    Case("an empty value is no JSON", b"", "not_json"),
    Case("plain text is no JSON", b"nonsense", "not_json"),
    Case("JSON that was cut is no JSON", encode(TIMEOUT)[1][:-5], "not_json"),
    Case("a JSON list is no object", b"[1, 2]", "not_json"),
    Case("a JSON null is no object", b"null", "not_json"),
    Case("bytes that are no text are no JSON", b"\xff\xfe\x00\x01", "not_json"),
    Case("an object without kind is of unknown kind", b"{}", "unknown_kind"),
    Case("a kind of the future is unknown", changed(TIMEOUT, kind="task_yawned"), "unknown_kind"),
    Case("a null kind is unknown", changed(TIMEOUT, kind=None), "unknown_kind"),
    Case("a missing field", without(TIMEOUT, "task"), "incomplete"),
    Case("a null field", changed(TIMEOUT, application=None), "incomplete"),
    Case("text where a number belongs", changed(TIMEOUT, elapsed_ms="soon"), "incomplete"),
    Case("text where a truth value belongs", changed(STATUS, up="yes"), "incomplete"),
    Case("a number beyond all bounds", changed(TIMEOUT, elapsed_ms=10**30), "incomplete"),
    Case("a position of two parts", changed(TIMEOUT, position=[1, 2]), "incomplete"),
    Case("a position with a hole", changed(TIMEOUT, position=[1, None, 0]), "incomplete"),
    Case("a position that is a number", changed(TIMEOUT, position=7), "incomplete"),
    Case("instances that are text", changed(SNAPSHOT, instances="none"), "incomplete"),
    Case("an instance with a hole", changed(SNAPSHOT, instances=[{"connector": "c"}]), "incomplete"),
    Case("a share group with a hole", changed(METERS, share_groups=[{"records": 1}]), "incomplete"),
    Case("a topic that is null", changed(TOPICS, dead_letter_topics=[None]), "incomplete"),
    Case("a finding with a hole", changed(FINDINGS, findings=[{"kind": "dlq_compacted"}]), "incomplete"),
    Case("an instance that is null", changed(SNAPSHOT, instances=[None]), "incomplete"),
]


def test_every_record_is_taken_or_refused_with_its_reason(kafka: Kafka) -> None:
    rows = decode(kafka([{"value": case.value} for case in CASES]), EVENTS).orderBy("offset").collect()
    seen = {case.name: (row.refused, row.event is not None) for case, row in zip(CASES, rows, strict=True)}
    assert seen == {case.name: (case.refused, case.refused is None) for case in CASES}


def test_an_event_comes_back_as_it_was_sent(kafka: Kafka) -> None:
    sent = [TIMEOUT, SNAPSHOT, METERS, TOPICS, FINDINGS, STATUS]
    rows = decode(kafka([{"value": encode(event)[1]} for event in sent]), EVENTS).orderBy("offset")
    assert [event_of(row.event) for row in rows.collect()] == sent


def test_every_kind_without_its_fields_is_incomplete(kafka: Kafka) -> None:
    bare = [{"value": json.dumps({"kind": kind}).encode()} for kind in KINDS]
    assert {row.refused for row in decode(kafka(bare), EVENTS).collect()} == {"incomplete"}


def test_a_dead_letter_is_never_refused(kafka: Kafka) -> None:
    (row,) = decode(kafka([{"value": b"nonsense", "topic": "dlq.deadwatch"}]), EVENTS).collect()
    assert (row.event, row.refused) == (None, None)
