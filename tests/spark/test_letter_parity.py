"""Spark and Python read the same out of the headers of one dead letter, however they are set to read."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import DataFrame

from collector.contract import headers as names
from streaming.dead_letter import letters
from streaming.dialects import Reading, read_as
from streaming.redrive.letter import letter_of
from tests.hostile_headers import READINGS, RECORDS

pytestmark = pytest.mark.spark

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
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
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
