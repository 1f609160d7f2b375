"""Spark and Python read the same out of the headers of one dead letter, however they are set to read."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import DataFrame

from collector.contract import headers as names
from streaming.aggregates import plain_pass
from streaming.aggregates.few_letters import MAX_TOLD_BYTES
from streaming.aggregates.letters import Letters, LettersInSpark
from streaming.aggregates.plain_pass import LARGE_BATCH, Planned
from streaming.dead_letter import letters
from streaming.decode import decode
from streaming.dialects import Reading, read_as
from streaming.letter import letter_of
from tests.hostile_headers import READINGS, RECORDS

pytestmark = pytest.mark.spark

HOSTILE = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

FIELDS = (
    "dialect",
    "source_topic",
    "source_partition",
    "source_offset",
    "consumergroup",
    "connector",
    "error_class",
    "message",
    "consumer",
    "broken",
    "order",
    "fingerprint",
)


@pytest.mark.usefixtures("_reading")
@settings(HOSTILE, max_examples=6)
@given(records=RECORDS)
def test_any_headers_mean_the_same(
    kafka: Callable[..., DataFrame], records: list[list[tuple[str, bytes | None]]]
) -> None:
    frame = kafka([{"topic": "dlq.t", "headers": headers} for headers in records])
    rows: list[Any] = [
        row["letter"] for row in letters(frame).select("offset", "letter").orderBy("offset").collect()
    ]
    read = [letter_of("dlq.t", 0, 0, 0, None, None, headers) for headers in records]
    for headers, row, letter in zip(records, rows, read, strict=True):
        assert {name: row[name] for name in FIELDS} == {
            name: getattr(letter.cause if name == "order" else letter, name) for name in FIELDS
        }, headers


def account(found: Letters) -> tuple[object, ...]:
    """All that a batch asks."""
    groups = found.groups("c", samples_per_group=2, max_groups=1_000)
    newest = {place: group.delta.fingerprint for group in groups for place in group.newest}
    counted = {
        (group.delta.dlq_topic, group.delta.fingerprint): (
            [(replace(one, buckets={}), dict(one.buckets)) for one in group.series],
            group.delta,
            group.newest,
        )
        for group in groups
    }
    told = [{**one.asDict()} for one in found.came_back()]
    origins = sorted(
        (replace(one, offsets=tuple(sorted(one.offsets))) for one in found.origins("c")), key=repr
    )
    return counted, sorted(found.samples(newest), key=lambda one: one.offset), told, origins


MOVED = [(names.REDRIVE_ID, b"o1"), (names.REDRIVE_GROUP, b"f\xffg")]
PARKED = [*MOVED, (names.REDRIVE_PARKED_REASON, b"x")]
SHARED = [(names.SHARE_TOPIC, b"t"), (names.SHARE_PARTITION, b"1"), (names.SHARE_GROUP, b"g")]
LONG: list[list[tuple[str, bytes | None]]] = [
    [(names.CONNECT_TOPIC, b"t"), ("__connect.errors.exception.stacktrace", b"at x\n" * 5_000)],
    [(f"h{number}", b"v" * 600) for number in range(99)],
    [*SHARED, (names.SHARE_OFFSET, b"7")],
    [*SHARED, (names.SHARE_OFFSET, b"9"), *MOVED],
    [*SHARED, (names.SHARE_OFFSET, b"8"), *PARKED],
    [*SHARED, (names.SHARE_OFFSET, b"none")],
    [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")],
    [("traceparent", b"nonsense"), *MOVED],
]


@pytest.mark.usefixtures("_reading")
@settings(HOSTILE, max_examples=4)
@given(records=RECORDS)
def test_few_letters_come_to_the_same_as_in_spark(
    kafka: Callable[..., DataFrame], records: list[list[tuple[str, bytes | None]]]
) -> None:
    frame = kafka(
        [
            {
                "topic": f"dlq.{number % 2}",
                "partition": number % 3,
                "timestamp_ms": 1_795_000_000_000 + number // 4 * 7_000,
                "headers": headers,
                "key": None if number % 5 else b"k" * 2_000,
                "value": None if number % 7 == 0 else b"v" * (number * 999),
            }
            for number, headers in enumerate([*records, *LONG, None])
        ]
    )
    now_ms = time.time_ns() // 1_000_000
    in_spark = account(LettersInSpark(decode(frame, "events")))
    for size in (100, LARGE_BATCH):
        found = plain_pass.read(frame, "events", now_ms, Planned(size, 100))
        assert found is not None
        assert found.letters is not None
        assert account(found.letters) == in_spark


@pytest.mark.parametrize("records", [1, LARGE_BATCH])
@pytest.mark.parametrize(
    "headers",
    [
        [(names.CONNECT_MESSAGE, b"m" * (MAX_TOLD_BYTES + 1))],
        [(f"h{number}", b"v" * MAX_TOLD_BYTES) for number in range(3)],
    ],
    ids=["a long one that says something", "more than its share"],
)
def test_of_letters_with_large_headers_spark_tells(
    kafka: Callable[..., DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    records: int,
    headers: list[tuple[str, bytes]],
) -> None:
    monkeypatch.setattr(plain_pass, "LETTERS_ALIKE", plain_pass.FETCHED_BYTES // (2 * MAX_TOLD_BYTES))
    frame = kafka([{"topic": "dlq", "headers": headers}])
    found = plain_pass.read(frame, "events", 1, Planned(records, 1))
    assert found is not None
    assert [one.count for one in found.summaries] == [1]
    assert found.letters is None


GOLDEN = [
    (
        "a dialect of one's own",
        READINGS[2],
        [
            ("x-topic", b"orders"),
            ("x-partition", b"3"),
            ("x-offset", b"77"),
            ("x-error", b"E"),
            ("x-group", b"g"),
        ],
        ("orders", "orders", 3, 77, "g", "", "E", ""),
    ),
    (
        "its numbers as bytes",
        READINGS[2],
        [("x.y", b"sink"), ("x-off", (77).to_bytes(8, "big")), ("x", b"late")],
        ("x", "", None, 77, "", "sink", "", "late"),
    ),
    (
        "the last header that belongs to a dialect decides",
        READINGS[2],
        [("x-topic", b"orders"), (names.CONNECT_TOPIC, b"payments"), ("x-topic2", b"none")],
        ("connect", "payments", None, None, "", "", "", ""),
    ),
    (
        "of several headers the last counts",
        READINGS[0],
        [(names.CONNECT_TOPIC, b"first"), (names.CONNECT_TOPIC, b"last"), (names.CONNECT_OFFSET, b"1")],
        ("connect", "last", None, 1, "", "", "", ""),
    ),
    (
        "of several headers the first counts where that is set",
        READINGS[1],
        [(names.CONNECT_TOPIC, b"first"), (names.CONNECT_TOPIC, b"last"), (names.CONNECT_OFFSET, b"1")],
        ("connect", "first", None, 1, "", "", "", ""),
    ),
]


@pytest.mark.parametrize(("name", "how", "headers", "expected"), GOLDEN, ids=[one[0] for one in GOLDEN])
def test_what_the_settings_say_is_read(
    kafka: Callable[..., DataFrame],
    name: str,
    how: Reading,
    headers: list[tuple[str, bytes | None]],
    expected: tuple[object, ...],
) -> None:
    del name
    read_as(how)
    try:
        (row,) = letters(kafka([{"topic": "dlq.t", "headers": headers}])).select("letter").collect()
        letter = letter_of("dlq.t", 0, 0, 0, None, None, headers)
    finally:
        read_as(Reading())
    assert tuple(getattr(letter, name) for name in FIELDS[:8]) == expected
    assert tuple(row["letter"][name] for name in FIELDS[:8]) == expected
