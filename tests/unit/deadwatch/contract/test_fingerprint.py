"""Golden vectors of the fingerprint; the Spark side is held to the same ones."""

import re

import pytest

from deadwatch.contract.fingerprint import fingerprint, message_pattern

PATTERNS = [
    ("numbers", "Offset 42 of partition 7", "Offset # of partition #"),
    ("quoted values", "Unrecognized token 'broken42': was \"x\"", "Unrecognized token ?: was ?"),
    ("an apostrophe alone stays", "can't read 5 bytes", "can't read # bytes"),
    ("identifiers", "id 7d444840-9dc0-11d1-b245-5ffdce74fad2 gone", "id ? gone"),
    ("object addresses", "java.lang.Object@1b2c3d4e failed", "java.lang.Object@? failed"),
    ("hexadecimal", "at 0xDEADbeef", "at ?"),
    ("long digests", "sha 9f86d081884c7d659a2feaa0c55ad015", "sha ?"),
    ("white space", " a\n\tb  c ", "a b c"),
    ("nothing", "", ""),
]


@pytest.mark.parametrize(
    ("message", "expected"), [row[1:] for row in PATTERNS], ids=[row[0] for row in PATTERNS]
)
def test_what_differs_from_record_to_record_is_taken_out(message: str, expected: str) -> None:
    assert message_pattern(message) == expected


def test_records_of_one_cause_share_it() -> None:
    first = fingerprint("connect", "orders", "sink", "DataException", "bad value at offset 1")
    second = fingerprint("connect", "orders", "sink", "DataException", "bad value at offset 20000")
    assert first == second
    assert re.fullmatch("[0-9a-f]{16}", first)


def test_fields_do_not_run_into_each_other() -> None:
    assert fingerprint("a", "bc", "", "", "") != fingerprint("ab", "c", "", "", "")


def test_a_message_counts_with_its_first_512_characters() -> None:
    assert message_pattern("x" * 511 + "yz") == "x" * 511 + "y"


def test_no_message_is_an_empty_one() -> None:
    assert fingerprint("a", "b", "c", "d", None) == fingerprint("a", "b", "c", "d", "")
