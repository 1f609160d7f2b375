"""Ours replaced and never appended, everything else as it was."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadwatch.deadletter.record import OURS, Headers, parse_record
from redrive.move import rewrite
from redrive.move.rewrite import PendingRecord

ERRORS: Headers = (
    ("__connect.errors.topic", b"orders"),
    ("__connect.errors.partition", b"4"),
    ("__connect.errors.offset", b"17"),
)
BEFORE: Headers = (
    ("deadwatch.redrive.id", b"0001"),
    ("deadwatch.redrive.attempts", b"1"),
    ("deadwatch.redrive.attempts", b"2"),
    ("deadwatch.redrive.group", b"f0"),
    ("deadwatch.redrive.origin", b"first/0/1"),
    ("deadwatch.redrive.moved-at-ms", b"5000"),
    ("deadwatch.redrive.not-before-ms", b"4000"),
)


def moved_at(raw: bytes) -> Headers:
    return ("deadwatch.redrive.attempts", b"1"), ("deadwatch.redrive.moved-at-ms", raw)


def pending(headers: Headers, timestamp_ms: int = 1_000) -> PendingRecord:
    dead_letter = parse_record("dlq", 1, 2, timestamp_ms, b"k", b"v", headers)
    return PendingRecord(dead_letter, dead_letter)


def test_the_first_attempt_adds_ours_behind_the_records_own() -> None:
    own: Headers = (("a", b"1"), ("a", None), *ERRORS)
    record = rewrite.for_target(pending(own), ("orders", 4), "0002", 1, (0, 9_000))
    assert record.headers == (
        *own,
        ("deadwatch.redrive.id", b"0002"),
        ("deadwatch.redrive.attempts", b"1"),
        ("deadwatch.redrive.group", pending(own).dead_letter.fingerprint.encode()),
        ("deadwatch.redrive.origin", b"orders/4/17"),
        ("deadwatch.redrive.moved-at-ms", b"9000"),
    )
    assert (record.key, record.value, record.timestamp_ms) == (b"k", b"v", 1_000)


def test_later_attempts_replace_ours_and_keep_the_first_origin() -> None:
    record = rewrite.for_target(
        pending((*BEFORE, ("b", b"2"), *ERRORS)), ("orders", None), "0002", 3, (8_000, 9_000)
    )
    assert [name for name, _ in record.headers if name.startswith("deadwatch.")] == [
        "deadwatch.redrive.id",
        "deadwatch.redrive.attempts",
        "deadwatch.redrive.group",
        "deadwatch.redrive.origin",
        "deadwatch.redrive.moved-at-ms",
        "deadwatch.redrive.not-before-ms",
    ]
    written = dict(record.headers)
    assert written["deadwatch.redrive.origin"] == b"first/0/1"
    assert written["deadwatch.redrive.attempts"] == b"3"
    assert written["deadwatch.redrive.not-before-ms"] == b"8000"
    assert record.headers[:4] == (("b", b"2"), *ERRORS)


NAMES = ["retry_topic-attempts", "retry_topic-x", "kafka_exception-fqcn", "x", "x-y", "", *OURS]
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.binary(max_size=3)), max_size=9).map(tuple)
PATTERNS = st.lists(st.sampled_from(["x", "x*", "x-*", "retry_topic-*", "*", "deadwatch.*"]), max_size=3)


@given(own=PAIRS, dropped=PATTERNS, value=st.none() | st.binary(max_size=5))
def test_only_the_headers_that_a_pattern_names_are_left_out(
    own: Headers, dropped: list[str], value: bytes | None
) -> None:
    letter = parse_record("dlq", 1, 2, 1_000, b"k", value, own)
    one, place = PendingRecord(letter, letter), ("orders", 4)
    whole = rewrite.for_target(one, place, "0002", 1, (0, 9_000))
    record = rewrite.for_target(one, place, "0002", 1, (0, 9_000), tuple(dropped))
    assert record._replace(headers=whole.headers) == whole
    ours = whole.headers[-5:]
    assert record.headers[-5:] == ours
    kept = [pair for pair in whole.headers[:-5] if not any(fnmatchcase(pair[0], one) for one in dropped)]
    assert record.headers[:-5] == tuple(kept)
    assert letter.headers == own


def test_a_parked_record_tells_how_often_and_why() -> None:
    record = rewrite.for_parking(
        pending((*BEFORE, *ERRORS)), ("dlq.parked", 1), "0002", "attempts_used_up", 9_000
    )
    written = dict(record.headers)
    assert written["deadwatch.redrive.attempts"] == b"2"
    assert written["deadwatch.redrive.parked-reason"] == b"attempts_used_up"
    assert written["deadwatch.redrive.parked-at-ms"] == b"9000"
    assert record.headers[:3] == ERRORS


def test_a_parked_record_that_was_found_at_its_origin_carries_both_stories() -> None:
    dead_letter = parse_record(
        "dlq", 0, 0, 1, None, None, (("__dlq.errors.topic", b"t"), ("__dlq.errors.message", b"m"))
    )
    both = rewrite.rehydrated(dead_letter, (7, b"k", b"v", (("own", b"1"),)))
    record = rewrite.for_parking(both, ("dlq.parked", 0), "1", "attempts_used_up", 9_000)
    names = [name for name, _ in record.headers]
    assert names[0] == "own"
    assert names[-2:] == ["__dlq.errors.topic", "__dlq.errors.message"]
    assert (record.key, record.value, record.timestamp_ms) == (b"k", b"v", 7)


@pytest.mark.parametrize(
    ("timestamp_ms", "headers", "since_ms"),
    [
        (1_000, (), 1_000),
        (1_000, BEFORE, 5_000),
        (8_000, BEFORE, 8_000),
        (11_000, BEFORE, 10_000),
        (11_000, (), 10_000),
        (10_000 + rewrite.AHEAD_MS, BEFORE, 10_000),
        (10_001 + rewrite.AHEAD_MS, BEFORE, 5_000),
        (1_000, moved_at(b"11000"), 10_000),
        (-1, (), 0),
        (1_000, moved_at(b"soon"), 1_000),
        (1_000, moved_at(b"9" * 5_000), 1_000),
        (1_000, moved_at(b"0" * 5_000 + b"5000"), 5_000),
    ],
)
def test_a_record_is_dead_since_it_came_or_was_moved_last(
    timestamp_ms: int, headers: Headers, since_ms: int
) -> None:
    assert pending(headers, timestamp_ms).dead_since_ms(10_000) == since_ms


def test_an_origin_that_is_not_told_is_the_dead_letter_itself() -> None:
    assert pending(()).origin == "dlq/1/2"
