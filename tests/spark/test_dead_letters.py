"""What the headers of dead letters say, and how they are grouped."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract import fingerprint
from streaming.aggregates import dead_letters
from streaming.aggregates.one_pass import summarise
from streaming.aggregates.samples import Place, samples
from streaming.dead_letter import letters
from streaming.decode import decode
from streaming.store.series import CARDINALITY_LIMITED, DEAD_LETTERS, QUARANTINED

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]
Headers = list[tuple[str, bytes | None]]

EVENTS = "deadwatch.events"
CONNECT: Headers = [
    ("__connect.errors.topic", b"orders"),
    ("__connect.errors.partition", b"2"),
    ("__connect.errors.offset", b"77"),
    ("__connect.errors.connector.name", b"sink"),
    ("__connect.errors.task.id", b"0"),
    ("__connect.errors.exception.class.name", b"org.example.DataException"),
    ("__connect.errors.exception.message", b"bad value at 77"),
]
SHARE: Headers = [
    ("__dlq.errors.topic", b"orders"),
    ("__dlq.errors.partition", b"1"),
    ("__dlq.errors.offset", b"5"),
    ("__dlq.errors.group", b"g1"),
    ("__dlq.errors.delivery.count", b"5"),
    ("__dlq.errors.message", b"Offset rejected by client."),
]
STREAMS: Headers = [
    ("__streams.errors.exception", b"org.example.StreamsException"),
    ("__streams.errors.message", None),
    ("__streams.errors.stacktrace", b"at x"),
    ("__streams.errors.topic", b"orders"),
    ("__streams.errors.partition", b"3"),
    ("__streams.errors.offset", b"9"),
]
SPRING: Headers = [
    ("kafka_dlt-original-topic", b"orders"),
    ("kafka_dlt-original-partition", b"\x00\x00\x00\x02"),
    ("kafka_dlt-original-offset", b"\x00\x00\x00\x00\x00\x00\x01\x00"),
    ("kafka_dlt-original-consumer-group", b"billing"),
    ("kafka_dlt-exception-fqcn", b"org.example.ListenerException"),
    ("kafka_dlt-exception-message", b"no account"),
]
SPRING_ORIGINAL: Headers = [
    (name.replace("dlt-original", "original").replace("dlt-exception", "exception"), value)
    for name, value in SPRING
    if not name.endswith("group")
]

pytestmark = pytest.mark.spark


def replaced(headers: Headers, name: str, value: bytes | None) -> Headers:
    return [(key, value if key.endswith(name) else old) for key, old in headers]


@dataclass(frozen=True)
class Case:
    name: str
    headers: Headers | None
    expected: Mapping[str, object] = field(default_factory=dict)


CASES = [
    Case(
        "Connect",
        CONNECT,
        {
            "dialect": "connect",
            "source_topic": "orders",
            "source_partition": 2,
            "source_offset": 77,
            "connector": "sink",
            "consumergroup": "",
            "consumer": "sink",
            "error_class": "org.example.DataException",
            "message": "bad value at 77",
            "broken": False,
        },
    ),
    Case(
        "a share group",
        SHARE,
        {
            "dialect": "share_group",
            "source_topic": "orders",
            "source_offset": 5,
            "consumergroup": "g1",
            "connector": "",
            "consumer": "g1",
            "error_class": "rejected",
            "message": "Offset rejected by client.",
        },
    ),
    Case(
        "a record tried too often",
        replaced(SHARE, "message", b"Offset delivery count exceeded the threshold."),
        {"error_class": "delivery_count_exceeded"},
    ),
    Case(
        "a cause of the future", replaced(SHARE, "message", b"Moon."), {"error_class": "", "message": "Moon."}
    ),
    Case(
        "our own: an event refused",
        replaced(SHARE, "message", b"The event is not a JSON object."),
        {"error_class": "not_json"},
    ),
    Case(
        "the last of one name counts", [*SHARE, ("__dlq.errors.topic", b"later")], {"source_topic": "later"}
    ),
    Case("the last dialect counts", [*CONNECT, *SHARE], {"dialect": "share_group", "connector": ""}),
    Case("the last dialect counts, turned round", [*SHARE, *CONNECT], {"dialect": "connect"}),
    Case(
        "Streams, whose exception had no message",
        STREAMS,
        {
            "dialect": "streams",
            "source_topic": "orders",
            "source_partition": 3,
            "source_offset": 9,
            "error_class": "org.example.StreamsException",
            "message": "",
            "consumer": "",
            "broken": False,
        },
    ),
    Case(
        "Spring, whose numbers are bytes",
        SPRING,
        {
            "dialect": "spring",
            "source_topic": "orders",
            "source_partition": 2,
            "source_offset": 256,
            "consumergroup": "billing",
            "error_class": "org.example.ListenerException",
            "message": "no account",
            "broken": False,
        },
    ),
    Case(
        "Spring's names outside a dead letter topic",
        SPRING_ORIGINAL,
        {"dialect": "spring", "source_topic": "orders", "source_offset": 256, "message": "no account"},
    ),
    Case(
        "Spring's record given up twice: the last counts",
        [*SPRING, ("kafka_dlt-original-offset", b"\x00" * 7 + b"\x07")],
        {"source_offset": 7},
    ),
    Case(
        "Spring's partition with the highest bit",
        replaced(SPRING, "partition", b"\xff\xff\xff\xfe"),
        {"source_partition": -2, "broken": False},
    ),
    Case(
        "Spring's offset with the highest bit",
        replaced(SPRING, "offset", b"\x80" + b"\x00" * 7),
        {"source_offset": -(2**63), "broken": False},
    ),
    Case(
        "Spring's offset as text is none",
        replaced(SPRING, "offset", b"7"),
        {"source_offset": None, "broken": True},
    ),
    Case(
        "a record that was re-driven and came back",
        [*CONNECT, ("deadwatch.redrive.id", b"o1"), ("deadwatch.redrive.attempts", b"2")],
        {"dialect": "connect", "source_topic": "orders", "order": "o1"},
    ),
    Case(
        "a header of a megabyte", replaced(SHARE, ".topic", b"t" * 1_000_000), {"source_topic": "t" * 1_000}
    ),
    Case("no headers at all", None, {"dialect": "unknown", "source_topic": "", "broken": False}),
    Case("an empty list of headers", [], {"dialect": "unknown", "broken": False}),
    Case("headers of somebody else", [("trace", b"1"), ("n", None)], {"dialect": "unknown"}),
    Case("a name that only contains a prefix", [("x__dlq.errors.topic", b"t")], {"dialect": "unknown"}),
    Case("a null value is not known", replaced(CONNECT, "message", None), {"message": "", "broken": False}),
    Case("all values null", [(name, None) for name, _ in SHARE], {"dialect": "share_group", "broken": False}),
    Case(
        "a partition that is no number",
        replaced(CONNECT, ".partition", b"two"),
        {"source_partition": None, "source_offset": 77, "broken": True},
    ),
    Case("an offset beyond all bounds", replaced(CONNECT, ".offset", b"9" * 30), {"broken": True}),
    Case("an empty number", replaced(CONNECT, ".offset", b""), {"source_offset": None, "broken": True}),
    Case(
        "a topic that is no text",
        replaced(SHARE, ".topic", b"or\xffders"),
        {"source_topic": "or\ufffdders", "broken": True},
    ),
    Case(
        "a NUL, which no database takes", replaced(SHARE, ".topic", b"a\x00b"), {"source_topic": "a\ufffdb"}
    ),
    Case("a message without end", replaced(CONNECT, "message", b"m" * 9_999), {"message": "m" * 1_000}),
]


def record(headers: Headers | None, **fields: object) -> dict[str, Any]:
    return {"topic": "dlq.orders", "headers": headers, "value": b"v", **fields}


def test_headers_are_decoded_as_far_as_they_go(kafka: Kafka) -> None:
    decoded = decode(kafka([record(case.headers) for case in CASES]), EVENTS)
    rows = letters(decoded).orderBy("offset").collect()
    seen = {
        case.name: {name: row.letter[name] for name in case.expected}
        for case, row in zip(CASES, rows, strict=True)
    }
    assert seen == {case.name: case.expected for case in CASES}


def test_the_fingerprint_is_the_contract_s(kafka: Kafka) -> None:
    rows = letters(decode(kafka([record(case.headers) for case in CASES]), EVENTS)).collect()
    parts = ("dialect", "source_topic", "consumer", "error_class", "message")
    for row in rows:
        assert row.letter.fingerprint == fingerprint.fingerprint(*(row.letter[part] for part in parts))


def groups_of(kafka: Kafka, records: list[dict[str, Any]], **limits: int) -> list[dead_letters.Group]:
    bounds = {"samples_per_group": 2, "max_groups": 10, **limits}
    return dead_letters.groups(decode(kafka(records), EVENTS), "c1", **bounds)


def test_records_of_one_cause_are_one_group_with_the_latest_message(kafka: Kafka) -> None:
    records = [
        record(replaced(CONNECT, "message", f"bad value at {at}".encode()), timestamp_ms=at)
        for at in (3, 9, 5)
    ]
    (group,) = groups_of(kafka, records)
    assert (group.delta.records, group.delta.first_ms, group.delta.last_ms) == (3, 3, 9)
    assert (group.delta.message, group.delta.message_pattern) == ("bad value at 9", "bad value at #")
    assert group.newest == (Place("dlq.orders", 0, 1), Place("dlq.orders", 0, 2))
    assert [(one.series, one.value) for one in group.series] == [(DEAD_LETTERS, 3)]


def test_a_group_keeps_the_trace_of_its_newest_record_that_has_one(kafka: Kafka) -> None:
    def traced(number: int) -> tuple[str, bytes]:
        return "traceparent", f"00-{number:032x}-{number:016x}-01".encode()

    records = [
        record([*CONNECT, traced(1)], timestamp_ms=5),
        record([*CONNECT, traced(2)], timestamp_ms=9),
        record([*CONNECT, ("traceparent", b"00-\xff")], timestamp_ms=11),
        record(CONNECT, timestamp_ms=12),
    ]
    (group,) = groups_of(kafka, records)
    (counted,) = group.series
    assert json.loads(counted.detail) == {"trace_id": f"{2:032x}", "span_id": f"{2:016x}", "traced_ms": 9}
    (none,) = groups_of(kafka, records[2:])[0].series
    assert none.detail == "{}"


def test_broken_headers_are_counted_beside_the_letter(kafka: Kafka) -> None:
    broken = replaced(CONNECT, ".partition", b"two")
    (group,) = groups_of(kafka, [record(broken), record(CONNECT)])
    assert {one.series: one.value for one in group.series} == {DEAD_LETTERS: 2, QUARANTINED: 1}


def test_what_is_beyond_the_groups_of_a_batch_is_counted_as_other(kafka: Kafka) -> None:
    sizes = {"small": 1, "big": 3, "middle": 2}
    records = [
        record(replaced(SHARE, ".group", name.encode())) for name, size in sizes.items() for _ in range(size)
    ]
    decoded = decode(kafka(records), EVENTS)
    (group,) = dead_letters.groups(decoded, "c1", samples_per_group=1, max_groups=1)
    assert (group.delta.consumer, group.delta.records) == ("big", 3)
    rest = {one.series: one for one in dead_letters.beyond(summarise(decoded), [group], "c1")}
    assert rest[DEAD_LETTERS].value == rest[CARDINALITY_LIMITED].value == 3
    assert json.loads(rest[DEAD_LETTERS].labels) == {
        **dict.fromkeys(DEAD_LETTERS.labels, "other"),
        "kafka_cluster": "c1",
    }


def test_samples_are_cut_and_keep_their_lengths(kafka: Kafka) -> None:
    headers: Headers = [("trace", b"\xff1"), ("none", None), ("long", b"h" * 5_000)]
    big = record([*headers, *(("n", b"") for _ in range(99))], key=b"k" * 2_000, value=b"v" * 5_000)
    decoded = decode(kafka([big, record(None, key=None, value=None)]), EVENTS)
    first, second = Place("dlq.orders", 0, 0), Place("dlq.orders", 0, 1)
    found = {one.offset: one for one in samples(decoded, {first: "f1", second: "f2"})}
    assert found[0].headers[:3] == (("trace", b"\xff1"), ("none", None), ("long", b"h" * 1_024))
    assert len(found[0].headers) == 64
    assert (len(found[0].key or b""), found[0].key_bytes) == (1_024, 2_000)
    assert (len(found[0].value or b""), found[0].value_bytes) == (4_096, 5_000)
    assert (found[1].key, found[1].value, found[1].key_bytes, found[1].value_bytes) == (None, None, -1, -1)
    assert (found[0].fingerprint, found[1].fingerprint) == ("f1", "f2")
