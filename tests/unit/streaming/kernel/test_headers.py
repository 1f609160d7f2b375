"""What headers say of dead letter records, of many at once: what ``parse_record`` says of each."""

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.deadletter.dialects import Reading
from deadwatch.deadletter.record import parse_record
from streaming.kernel.headers import NUMBERS, TEXTS, parse
from tests import dialect_headers
from tests.dialect_headers import (
    CONNECT,
    LISTENER_FAILED,
    SHARE,
    SMALLRYE,
    SMALLRYE_RETRIES,
    SPRING,
    SPRING_DESERIALIZATION,
    SPRING_ORIGINAL,
    SPRING_RETRIES,
    replaced,
)
from tests.hostile_headers import READINGS, RECORDS, reading_as
from tests.kafka_records import Headers, table

FIELDS = ("dialect", *TEXTS, *NUMBERS, "broken", "order")


HEADERS: Mapping[str, Headers | None] = {
    **{name: found for name, found in vars(dialect_headers).items() if isinstance(found, list)},
    "more zeros than Python reads": replaced(CONNECT, "partition", b" " + b"0" * 5_000 + b"1"),
    "a cause of the future": replaced(SHARE, "message", b"Moon."),
    "the last of one name counts": [*SHARE, ("__dlq.errors.topic", b"later")],
    "the last dialect counts": [*CONNECT, *SHARE],
    "the last dialect counts, turned round": [*SHARE, *CONNECT],
    "Spring's record given up twice": [*SPRING, ("kafka_dlt-original-offset", b"\x00" * 7 + b"\x07")],
    "Spring's partition with the highest bit": replaced(SPRING, "partition", b"\xff\xff\xff\xfe"),
    "Spring's offset with the highest bit": replaced(SPRING, "offset", b"\x80" + b"\x00" * 7),
    "Spring's offset as text is none": replaced(SPRING, "offset", b"7"),
    "Spring's retry topics, and then a listener without": [*SPRING_RETRIES, *SPRING],
    "Spring's retry topics after a listener without": [*SPRING, *SPRING_RETRIES],
    "Spring's cause that is in no stack trace": replaced(SPRING_RETRIES, "cause-fqcn", b"org.example.Other"),
    "Spring's stack trace that is no text": replaced(
        SPRING_RETRIES, "stacktrace", b"\xff\nCaused by: a\xff: b"
    ),
    "Spring's stack trace that ends early": replaced(
        SPRING_DESERIALIZATION, "stacktrace", b"x\nCaused by: a.B"
    ),
    "Spring's cause that is no name": replaced(
        SPRING_DESERIALIZATION, "stacktrace", b"\nCaused by: Late! No: it"
    ),
    "Spring's cause in a megabyte": replaced(
        SPRING_DESERIALIZATION, "stacktrace", b"\nCaused by: a.B: " + b"m" * 1_000_000
    ),
    "Spring's family with a null": [*SPRING_ORIGINAL, ("kafka_dlt-original-topic", None)],
    "Spring's wrapper without a cause": [("kafka_dlt-exception-fqcn", LISTENER_FAILED.encode())],
    "SmallRye, given up twice": [*SMALLRYE, *replaced(SMALLRYE, "reason", b"old")],
    "SmallRye's retries": [*replaced(SMALLRYE_RETRIES, "topic", b"orders_retry"), *SMALLRYE_RETRIES],
    "a record that came back": [
        *CONNECT,
        ("deadwatch.redrive.id", b"o1"),
        ("deadwatch.redrive.attempts", b"2"),
    ],
    "a header of a megabyte": replaced(SHARE, ".topic", b"t" * 1_000_000),
    "no headers at all": None,
    "an empty list of headers": [],
    "headers of somebody else": [("trace", b"1"), ("n", None)],
    "a name that only contains a prefix": [("x__dlq.errors.topic", b"t")],
    "a null value is not known": replaced(CONNECT, "message", None),
    "all values null": [(name, None) for name, _ in SHARE],
    "a partition that is no number": replaced(CONNECT, ".partition", b"two"),
    "an offset beyond all bounds": replaced(CONNECT, ".offset", b"9" * 30),
    "an empty number": replaced(CONNECT, ".offset", b""),
    "a topic that is no text": replaced(SHARE, ".topic", b"or\xffders"),
    "a NUL, which no database takes": replaced(SHARE, ".topic", b"a\x00b"),
    "a message without end": replaced(CONNECT, "message", b"m" * 9_999),
}


def read(records: list[Headers | None], how: Reading) -> list[dict[str, object]]:
    column = table([{"headers": headers} for headers in records])["headers"]
    topics = pl.Series(["dlq.t"] * len(records), dtype=pl.String)
    return parse(column.combine_chunks(), topics, how).to_dicts()


def assert_as_parse_record_reads(headers: Headers | None, row: Mapping[str, object]) -> None:
    record = parse_record("dlq.t", 0, 0, 0, None, None, headers)
    expected = {name: getattr(record.cause if name == "order" else record, name) for name in FIELDS}
    assert {name: row[name] for name in FIELDS} == expected, headers


@settings(deadline=None, max_examples=20)
@given(records=RECORDS, how=st.sampled_from(READINGS))
def test_any_headers_mean_the_same(how: Reading, records: list[Headers]) -> None:
    with reading_as(how):
        for headers, row in zip(records, read([*records], how), strict=True):
            assert_as_parse_record_reads(headers, row)


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_headers_are_read_as_far_as_they_go(headers: Headers | None) -> None:
    (row,) = read([headers], Reading())
    assert_as_parse_record_reads(headers, row)


CAUSES = {
    "Offset rejected by client.": "rejected",
    "Offset delivery count exceeded the threshold.": "delivery_count_exceeded",
    "The event is not a JSON object.": "not_json",
    "Moon.": "",
}


def test_the_cause_of_a_share_groups_dead_letter_is_in_its_message() -> None:
    rows = read([replaced(SHARE, "message", message.encode()) for message in CAUSES], Reading())
    assert {row["message"]: row["error_class"] for row in rows} == CAUSES


def test_records_do_not_mix() -> None:
    alone = [row for headers in HEADERS.values() for row in read([headers], Reading())]
    assert read([*HEADERS.values()], Reading()) == alone
    assert all(read([], how) == [] for how in READINGS)
