"""Spark and Python read the same out of the headers of one dead letter."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from collector.contract import headers as names
from streaming.dead_letter import letters
from streaming.dialects import DIALECTS
from streaming.redrive.letter import letter_of

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
    "fingerprint",
)
NAMES = [
    *(
        name
        for one in DIALECTS
        for name in (one.source_topic, one.source_partition, one.source_offset, one.message)
    ),
    names.CONNECT_EXCEPTION,
    names.CONNECT_CONNECTOR,
    names.SHARE_GROUP,
    names.SHARE_DELIVERY_COUNT,
    names.REDRIVE_ATTEMPTS,
    "a",
]
VALUES = [
    None,
    b"",
    b"7",
    b" +7\n",
    b"\x7f-8\x00",
    b"0007",
    b"7.0",
    b"1e3",
    b"0x1",
    b"+",
    b"2147483648",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"Offset rejected by client.",
    "caf\u00e9 \U0001f600 'x 1'".encode(),
    b"a\xff\xfe\x00",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    "\u00a0\u06677".encode(),
    b"x" * 1_001,
    (7).to_bytes(4, "big"),
    (-7).to_bytes(4, "big", signed=True),
    (1 << 40).to_bytes(8, "big"),
    (-1).to_bytes(8, "big", signed=True),
]
RECORDS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.one_of(st.sampled_from(VALUES), st.binary(max_size=12))),
        max_size=8,
    ),
    min_size=30,
    max_size=60,
)


@settings(
    max_examples=10,
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
        assert {name: row[name] for name in FIELDS} == {name: getattr(letter, name) for name in FIELDS}, (
            headers
        )
