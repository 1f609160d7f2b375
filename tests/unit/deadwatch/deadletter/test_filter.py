"""The filter language: what matches, what is refused and where, and what is bounded."""

import pickle
import re

import pytest

from deadwatch.contract import headers as names
from deadwatch.deadletter.filter import MAX_CHARS, Filter, Verdict, cost, expression
from deadwatch.deadletter.filter.errors import FilterError, in_one_line
from deadwatch.deadletter.filter.fields import FIELDS, MAX_BYTES, MAX_HEADERS
from deadwatch.deadletter.record import parse_record
from tests.paths import ROOT

RECORD = parse_record(
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
EMPTY = parse_record("dlq.t", 0, 0, 1 << 62, None, None, None)
LONG = parse_record("dlq.t", 0, 0, 0, None, b"x" * MAX_BYTES + b"END", None)

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
    (f'fingerprint == "{RECORD.fingerprint}"', True),
    ("attempts == 3", True),
    ('headers["tenant"] == "beta"', True),
    ('headers.tenant in ["acme", "beta"]', True),
    ('headers.get("tenant") == "beta"', True),
    ('headers.get("gone") == ""', True),
    ('headers.get("gone") != "x"', True),
    ("has(headers.gone)", False),
    ('has(headers.tenant) && "tenant" in headers', True),
    ('headers["gone"] != "x"', False),
    ('headers["gone"] == "x" || attempts == 3', True),
    ('headers.get("null") == "" && "null" in headers', True),
    ('headers.get("bad") == "\ufffd"', True),
    ('headers.exists(name, name.startsWith("__connect."))', True),
    ("key == 'k-7' && key_size == 3 && value_size == 14", True),
    ('value.contains("amount")', True),
    ("!(attempts > 5) ? partition == 2 : false", True),
    ("offset + 9223372036854775807 > 0", False),
    ('value.contains("x") // by hand', False),
    ('value == "add_string"', False),
    ('{"a": attempts}["a"] == 3', True),
    ("[1, attempts][1] == 3 && 1.5 < 2.5 && dyn(1u) == 1", True),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_a_record_matches(text: str, expected: bool) -> None:
    assert Filter(text)(RECORD) is expected


def test_the_manual_lists_every_field() -> None:
    manual = (ROOT / "docs" / "filter.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+)[^|]*\| (.*) \|$", manual, re.MULTILINE)
    known = [(name, field.kind.name().split("<")[0].lower(), field.help) for name, field in FIELDS.items()]
    assert rows == known


def test_what_is_not_known_is_empty_or_minus_one() -> None:
    unknown = (
        'dialect == "unknown" && source_topic == "" && source_offset == -1 && key == "" && value_size == -1'
    )
    assert Filter(unknown)(EMPTY)


def test_every_field_can_be_asked_for_of_every_record() -> None:
    for name in FIELDS:
        for record in (RECORD, EMPTY):
            verdict = Filter(f"{name} == {name}").verdict(record)
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
    made = Filter(text)
    assert not made(RECORD)
    assert problem in made.verdict(RECORD).problem


def nested(depth: int, what: str) -> str:
    for name in "abcdefgh"[:depth]:
        what = f"[0,1,2,3,4,5,6,7,8,9].all({name}, {what})"
    return what


NOT_KNOWN = "how much it holds is not known; go through headers, or a list"
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
    ("[[value, value]].exists(a, a.exists(b, true))", 1, 1, NOT_KNOWN),
    ("[[value, value]][0].exists(a, true)", 1, 1, NOT_KNOWN),
    ("dyn([value]).exists(a, true)", 1, 1, NOT_KNOWN),
    ("(attempts > 1 ? dyn([value]) : dyn([key])).exists(a, true)", 1, 1, NOT_KNOWN),
    ('{"a": [value]}["a"].exists(a, true)', 1, 1, NOT_KNOWN),
    ('{"a": "b"}.exists(a, true)', 1, 1, NOT_KNOWN),
    ("[[value, value]].exists(headers, headers.exists(a, true))", 1, 1, "called headers; call it h"),
    (nested(8, "true"), 1, 1, "it may take 1,000.0 times as long as a filter may for one record; use fewer"),
    ('value.matches("(x?){1,999}y")', 1, 1, "it may take 43.9 times as long"),
    ('message.matches(headers.get("pattern"))', 1, 1, "is not written out; write it as a text"),
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


def test_the_longest_filter_is_taken() -> None:
    assert Filter("true" + " " * (MAX_CHARS - 4))(RECORD)


def test_only_the_beginning_of_a_payload_is_seen() -> None:
    assert not Filter('value.contains("END")')(LONG)
    assert Filter(f"value_size == {MAX_BYTES + 3}")(LONG)


DEAR = [
    "[" + ",".join("1" * 12) + '].exists(a, message.matches("' + "(x?){1,999}" * 150 + '"))',
    r'value.matches("\\pL{1,50}")',
    r'topic.matches("\\PN{1,200}y")',
    r'message.matches("\\p{Greek}{1,200}y")',
    r'message.matches("(?i)(kk){1,999}y")',
    'value.matches("a.{200}y")',
    'headers.exists(a, headers[a].matches("x{3}y"))',
    "headers.exists(a, headers.exists(b, a < b))",
    '[value].exists(a, a.matches("(x?){1,99}y"))',
    "(attempts > 1 ? [" + ",".join(["value"] * 500) + '] : [key]).exists(a, a.matches("ab"))',
    "(attempts > 1 ? [key] : attempts > 2 ? [key] : [" + ",".join(["value"] * 99) + "])"
    '.exists(a, a.matches("ab"))',
    " && ".join(["headers == headers"] * 100),
    'message.matches("a{' + "9" * 400 + '}")',
    'message.matches("' + "(" * 600 + "a" + "{999})" * 500 + '")',
]


@pytest.mark.parametrize("text", DEAR)
def test_a_filter_that_could_hold_everybody_up_is_refused(text: str) -> None:
    with pytest.raises(FilterError, match=r"times as long as a filter may for one record; use fewer"):
        Filter(text)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("true", 30),
        ("attempts == 3", 105),
        ('message.matches("ab")', 2_690),
        ('value.contains("x")', 1_114),
        ('headers.exists(a, a == "x")', 1_113_946),
        ('["ab", "c"].exists(a, a.contains("b"))', 8_822),
        ('headers.get("a") == "x"', 263_318),
        ('value.matches("[a-z]{3}.")', 1_053_466),
        ('[value].exists(a, a.matches("x"))', 70_292),
        ('{"a": attempts}["a"] == 3', 2_258),
        ('(attempts == 3 ? ["ab", "c"] : ["d"]).exists(a, a.contains("b"))', 10_041),
        ('(attempts == 3 ? topic : "x").contains("b")', 1_309),
    ],
)
def test_the_steps_of_a_filter_are_known(text: str, steps: int) -> None:
    root = expression.read(Filter(text)._compiled.serialize()).root
    assert cost.steps(root, cost.LENGTHS) == steps


@pytest.mark.parametrize(
    "text",
    [
        r'value.matches("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")',
        r'message.matches("(?i)offset [0-9]+ of (orders|payments)-[a-z]{2,10}$")',
        r'message.matches("\\d{4}-\\d{2}-\\d{2}T.{1,50}Z") && value.matches("currency.: *.(EUR|USD)")',
        'headers.exists(name, name.matches("^x-[a-z]+$"))',
        '["orders", "payments"].exists(a, message.matches("[0-9]{1,9} of .*") && value.contains(a))',
        nested(3, "value_size < 5"),
    ],
)
def test_what_people_ask_is_not_too_much(text: str) -> None:
    assert Filter(text).verdict(LONG).problem == ""


@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(.*)(.*)(.*)(.*)(.*)[^x]"])
def test_a_pattern_that_would_backtrack_for_years_comes_to_its_end(pattern: str) -> None:
    assert Filter(f'value.matches("{pattern}")').verdict(LONG) == Verdict(matches=False)


@pytest.mark.parametrize(
    ("pattern", "instructions"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{2,}b", 3),
        ("a{0,5}", 5),
        ("(ab){10}", 40),
        ("((a{2}){3}){4}", 56),
        ("[0-9a-f]{8}", 16),
        ("[]x]{2}[^a-z]", 14),
        (r"\d{4}\D", 18),
        (".{3}", 30),
        (r"\pL", 2_000),
        (r"\PN{3}", 6_000),
        (r"\p{Greek}{3}", 6_000),
        (r"[\pL\pN]", 4_000),
        (r"\x{10FFFF}{5}", 20),
        (r"\Q(\E{5}", 20 + 5),
        (r"[\D]", 10),
        (r"[\x{100}-\x{10FFFF}]", 10),
        (r"[[:^alpha:]é]", 20),
        ("[acegik]", 6),
        ("é", 2),
        ("(?i)k{9}", 2 + 10 + 45),
        (r"(?i)\x{212A}{9}", 2 + 10 + 9 * 20),
        (r"[\p{Greek}]{2}", 4_000),
        ("(", 2),
        ("a)b{2}", 4),
        ("[", 1),
        ("{3}", 0),
        ("\\", 1),
    ],
)
def test_the_instructions_of_a_regular_expression_are_known(pattern: str, instructions: int) -> None:
    assert cost.program(pattern) == instructions


def test_a_record_of_very_many_headers_shows_the_last_of_them() -> None:
    headers = [(f"h{number}", b"x") for number in range(MAX_HEADERS + 1)]
    record = parse_record("dlq.t", 0, 0, 0, None, None, headers)
    assert Filter(f'headers.get("h0") == "" && headers.get("h{MAX_HEADERS}") == "x"')(record)


def test_a_filter_travels_to_another_process_as_its_text() -> None:
    travelled: Filter = pickle.loads(pickle.dumps(Filter("attempts == 3")))  # noqa: S301 -- our own
    assert travelled(RECORD)


def test_a_problem_is_one_line_of_200_characters_at_most() -> None:
    assert in_one_line("a\n  b" + 300 * "c") == "a b" + 197 * "c"


def test_a_filter_that_is_quick_is_not_followed_by_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("time.perf_counter", lambda: 1.0)
    assert Filter("true")(RECORD)
    assert pauses == []
