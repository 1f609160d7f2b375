"""The filter language: what matches, what is refused and where, and what is bounded."""

import pickle
import re
import time
from pathlib import Path

import pytest

from collector.contract import headers as names
from streaming.filter import MAX_CHARS, Filter
from streaming.filter_fields import FIELDS, MAX_BYTES
from streaming.letter import Letter, letter_of
from streaming.redrive.errors import FilterError

LETTER = letter_of(
    "dlq.payments",
    2,
    42,
    1_767_225_600_000,  # 2026-01-01T00:00:00Z
    b"k-7",
    b'{"amount": 12}',
    [
        ("tenant", b"acme"),
        ("tenant", b"beta"),
        ("null", None),
        ("bad", b"\xff"),
        ("lone\udc80", b"x"),
        (names.REDRIVE_ATTEMPTS, b"3"),
        (names.CONNECT_TOPIC, b"payments"),
        (names.CONNECT_PARTITION, b"1"),
        (names.CONNECT_CONNECTOR, b"sink"),
        (names.CONNECT_EXCEPTION, b"org.apache.kafka.connect.errors.DataException"),
        (names.CONNECT_MESSAGE, b"Converting byte[] failed at offset 17"),
    ],
)
EMPTY = letter_of("dlq.t", 0, 0, 1 << 62, None, None, None)

GOLDEN = [
    ("true", True),
    ("false", False),
    ('dialect == "connect"', True),
    ('topic == "dlq.payments" && partition == 2 && offset == 42', True),
    ("offset > 42", False),
    ("offset >= 42 && offset < 43", True),
    ('timestamp == timestamp("2026-01-01T00:00:00Z")', True),
    ('timestamp < timestamp("2026-01-01T00:00:00Z") - duration("1h")', False),
    ('source_topic == "payments" && source_partition == 1 && source_offset == -1', True),
    ('consumergroup == "" && connector == "sink"', True),
    ('error_class.endsWith("DataException")', True),
    ('message.contains("offset") && message.matches("[0-9]+$")', True),
    (f'fingerprint == "{LETTER.fingerprint}"', True),
    ("attempts == 3", True),
    ('headers["tenant"] == "beta"', True),
    ('headers.tenant in ["acme", "beta"]', True),
    ('headers.get("tenant") == "beta"', True),
    ('headers.get("gone") == ""', True),
    ('headers.get("gone") != "x"', True),
    ("has(headers.gone)", False),
    ('has(headers.tenant) && "tenant" in headers', True),
    ('headers["gone"] == "x"', False),
    ('headers["gone"] != "x"', False),
    ('headers["gone"] == "x" || attempts == 3', True),
    ('headers.get("null") == "" && "null" in headers', True),
    ('headers.get("bad") == "\ufffd"', True),
    ('headers.exists(name, name.startsWith("__connect."))', True),
    ("key == 'k-7' && key_size == 3 && value_size == 14", True),
    ('value.contains("amount")', True),
    ("!(attempts > 5) ? partition == 2 : false", True),
    ("offset / 0 == 1", False),
    ("offset + 9223372036854775807 > 0", False),
    ('timestamp > timestamp("soon")', False),
    ('message.matches("(")', False),
    ('value.contains("x") // by hand', False),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_a_letter_matches(text: str, expected: bool) -> None:
    assert Filter(text)(LETTER) is expected


def test_the_manual_lists_every_field() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "filter.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+)[^|]*\| (.*) \|$", manual, re.MULTILINE)
    known = [(name, field.kind.name().split("<")[0].lower(), field.help) for name, field in FIELDS.items()]
    assert rows == known


def test_what_is_not_known_is_empty_or_minus_one() -> None:
    unknown = (
        'dialect == "unknown" && source_topic == "" && source_offset == -1 && key == "" && value_size == -1'
    )
    assert Filter(unknown)(EMPTY)


def test_every_field_can_be_asked_for_of_every_letter() -> None:
    for name in FIELDS:
        for letter in (LETTER, EMPTY):
            verdict = Filter(f"{name} == {name}").verdict(letter)
            assert (name, verdict.matches, verdict.problem) == (name, True, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('headers["gone"] == "x"', 'Key not found in map : "gone"'),
        ("offset / 0 == 1", "divide by zero"),
        ('message.matches("(")', "invalid regular expression"),
        ('timestamp > timestamp("soon")', "String to Timestamp conversion failed"),
    ],
)
def test_what_cannot_be_told_does_not_match_and_says_why(text: str, problem: str) -> None:
    verdict = Filter(text).verdict(LETTER)
    assert not verdict.matches
    assert problem in verdict.problem


REFUSED = [
    ("ataempts > 3", 1, 1, "'ataempts' is no field and no function; did you mean attempts?"),
    ('partition == 1 &&\n  sourc_topic == "x"', 2, 3, "did you mean source_topic?"),
    ('value.startWith("x")', 1, 16, "did you mean startsWith?"),
    ("colour == 1", 1, 1, "fields are dialect, topic"),
    ("offset ==", 1, 10, "it ends too early"),
    ("", 1, 1, "it ends too early; true selects all"),
    ('value = "x"', 1, 7, "write == to compare"),
    ('value == "x" and attempts == 1', 1, 14, "write && for and"),
    ('offset == "5"', 1, 8, "found no matching overload for '_==_' applied to '(int, string)'"),
    ("value == null", 1, 7, "a null has the size -1"),
    ('headers.__connect.errors == ""', 1, 18, 'a header of any name is headers.get("name")'),
    ("offset", 1, 1, "it gives int, not true or false; compare it"),
    ("dyn(1)", 1, 1, "it gives dyn, not true or false"),
    ('value + value == "x"', 1, 1, "texts and lists cannot be put together here"),
    ('dyn(value) + dyn(value) == "x"', 1, 1, "texts and lists cannot be put together here"),
    ("[1].map(a, a).size() > 0", 1, 1, "texts and lists cannot be put together here"),
    ("(" * 40 + "true" + ")" * 40, 1, 1, "recursion limit"),
    ("true" + " " * MAX_CHARS, 1, 1, f"more than {MAX_CHARS}"),
]


@pytest.mark.parametrize(("text", "line", "column", "told"), REFUSED)
def test_what_is_wrong_is_told_with_its_place_and_a_hint(
    text: str, line: int, column: int, told: str
) -> None:
    with pytest.raises(FilterError) as refused:
        Filter(text)
    assert (refused.value.facts["line"], refused.value.facts["column"]) == (line, column)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_that_only_looks_like_an_overload_is_none() -> None:
    assert not Filter('value == "add_string"')(LETTER)


def test_only_the_beginning_of_a_payload_is_seen() -> None:
    long = letter_of("dlq.t", 0, 0, 0, None, b"x" * MAX_BYTES + b"END", None)
    assert not Filter('value.contains("END")')(long)
    assert Filter(f"value_size == {MAX_BYTES + 3}")(long)


def test_no_filter_takes_long_for_one_letter() -> None:
    digits = "[0,1,2,3,4,5,6,7,8,9]"
    nested = "true"
    for name in "abcdefgh":
        nested = f"{digits}.all({name}, {nested})"
    long = letter_of("dlq.t", 0, 0, 0, None, b"x" * MAX_BYTES, None)
    for text in (nested, 'value.matches("(x+x+)+y")', 'value.matches("(.*)(.*)(.*)(.*)(.*)[^x]")'):
        started_s = time.perf_counter()
        assert not Filter(text)(long)
        assert time.perf_counter() - started_s < 1


def test_a_filter_travels_to_another_process_as_its_text() -> None:
    travelled: Filter = pickle.loads(pickle.dumps(Filter("attempts == 3")))  # noqa: S301 -- our own
    assert travelled(LETTER)


def test_a_filter_is_a_matcher_of_selections() -> None:
    def asked(matcher: object, letter: Letter) -> object:
        assert callable(matcher)
        return matcher(letter)

    assert asked(Filter("offset == 42"), LETTER) is True
