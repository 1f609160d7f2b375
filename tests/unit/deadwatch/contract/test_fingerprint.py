"""Golden vectors of the fingerprint; the Spark side is held to the same ones."""

import re
from itertools import product

import pytest

from deadwatch.contract.fingerprint import fingerprint, message_pattern
from tests.tables import named

PATTERNS = [
    ("numbers", "Offset 42 of partition 7", "Offset # of partition #"),
    ("quoted values", "Unrecognized token 'broken42': was \"x\"", "Unrecognized token ?: was ?"),
    ("an apostrophe alone stays", "can't read 5 bytes", "can't read # bytes"),
    (
        "apostrophes in words are no quotes",
        "Can't write the row, we've lost it: 'a' doesn't exist",
        "Can't write the row, we've lost it: ? doesn't exist",
    ),
    ("a word in quotes", "Topic 'Macy's orders' isn't 's' or 't'", "Topic ? isn't ? or ?"),
    ("a word at the end", "say 'x', but don't", "say ?, but don't"),
    ("bytes", "b'can' and b's'", "b? and b?"),
    ("a long quoted value", f"Cannot read '{'ab ' * 300}' as a date", "Cannot read ? as a date"),
    ("a quote that the cut leaves open", f'Cannot read "{"ab " * 1_400}', "Cannot read ?"),
    (
        "a quotation mark stays",
        "Unexpected ' in the schema of topic 5",
        "Unexpected ' in the schema of topic #",
    ),
    (
        "an apostrophe takes no rest",
        f"The users' table {'is full ' * 20}",
        f"The users' table {'is full ' * 20}"[:-1],
    ),
    ("a long digest", "of " + "af" * 3 + "09af" * 16 + ".", "of ?."),
    ("identifiers", "id 7d444840-9dc0-11d1-b245-5ffdce74fad2 gone", "id ? gone"),
    ("object addresses", "java.lang.Object@1b2c3d4e failed", "java.lang.Object@? failed"),
    ("hexadecimal", "at 0xDEADbeef", "at ?"),
    ("long digests", "sha 9f86d081884c7d659a2feaa0c55ad015", "sha ?"),
    ("white space", " a\n\tb  c ", "a b c"),
    ("nothing", "", ""),
    ("the first 4000 characters", "1" * 3_999 + " y", "?"),
    ("the first 512 of what is left", "x" * 511 + "yz", "x" * 511 + "y"),
    ("not of what there was", "12 " * 500 + "y", ("# " * 256)[:-1]),
    (
        "what Jackson could not read",
        """Unexpected 'b' at [Source: (byte[])"{"name": "Bob's", b}"[truncated 41 bytes]; line: 1]""",
        "Unexpected ? at [Source: (byte[])?; line: #]",
    ),
    ("no content", '[Source: (String)""; line: 1, column: 0]', "[Source: (String)?; line: #, column: #]"),
    (
        "twice in one message",
        """a [Source: (String)"b'c"; line: 1] d [Source: (String)"e"; line: 2]""",
        "a [Source: (String)?; line: #] d [Source: (String)?; line: #]",
    ),
    (
        "a key of PostgreSQL",
        "Detail: Key (mail, id)=(bob (x) @a, 7) already exists.",
        "Detail: Key (mail, id)=(?) already exists.",
    ),
    (
        "a key that another table has not",
        'Key (of)=(b) is not present in table "c".',
        "Key (of)=(?) is not present in table ?.",
    ),
    (
        "a row of PostgreSQL",
        "Failing row contains (4, u). v, null).  Call getNextException",
        "Failing row contains (?). Call getNextException",
    ),
    (
        "a key of SQL Server",
        "object 'dbo.t'. The duplicate key value is (bob).",
        "object ?. The duplicate key value is (?).",
    ),
    (
        "a row of PostgreSQL's driver",
        """Batch entry 7 INSERT INTO "t"("a","b") VALUES (('x) y'),(NULL)) was aborted: ERROR: no (1)""",
        "Batch entry # INSERT INTO ?(?,?) VALUES (?) was aborted: ERROR: no (#)",
    ),
    (
        "its rows, that replace what is there",
        'Batch entry 0 INSERT INTO "t" ("a") VALUES (1),(NULL) ON CONFLICT ("a") DO NOTHING was aborted.',
        "Batch entry # INSERT INTO ? (?) VALUES (?) ON CONFLICT (?) DO NOTHING was aborted.",
    ),
    (
        "a row without names",
        "Batch entry 0 insert into t values(NULL, 5) was aborted: x",
        "Batch entry # insert into t values(?) was aborted: x",
    ),
]


@pytest.mark.parametrize(("message", "expected"), named(PATTERNS))
def test_what_differs_from_record_to_record_is_taken_out(message: str, expected: str) -> None:
    assert message_pattern(message) == expected


def test_records_of_one_cause_share_it() -> None:
    first = fingerprint("connect", "orders", "sink", "DataException", "bad value at offset 1")
    second = fingerprint("connect", "orders", "sink", "DataException", "bad value at offset 20000")
    assert first == second
    assert re.fullmatch("[0-9a-f]{16}", first)


def test_fields_do_not_run_into_each_other() -> None:
    assert fingerprint("a", "bc", "", "", "") != fingerprint("ab", "c", "", "", "")


def batch_failed(row: int) -> str:
    """What a JDBC driver says of one of many rows."""
    names = ", ".join(f'"column_{number}"' for number in range(25))
    values = ", ".join(f"'{'name' * (row * number % 23)}', {10 ** (row % 9)}" for number in range(25))
    statement = f'INTO "orders" ({names}) VALUES ({values})'
    return f"Batch entry {row} INSERT {statement} was aborted: too long"


def test_a_long_message_is_of_one_cause_however_long_its_values_are() -> None:
    messages = [batch_failed(row) for row in range(100)]
    assert min(map(len, messages)) < 800
    assert max(map(len, messages)) > 1_500
    (pattern,) = {message_pattern(message) for message in messages}
    assert pattern.endswith("was aborted: too long")


def test_rows_of_a_driver_are_of_one_cause_whichever_of_their_values_are_null() -> None:
    rows = list(product(("(NULL)", "('5'::int4)", "(('x) was')"), ("(NULL)", "('a, b')")))
    row = 'Batch entry 3 INSERT INTO "t"("a","b") VALUES ({}) was aborted: ERROR: {}'
    first, other = ({message_pattern(row.format(",".join(each), why)) for each in rows} for why in ("x", "y"))
    assert len(first) == 1
    assert first != other


def test_no_message_is_an_empty_one() -> None:
    assert fingerprint("a", "b", "c", "d", None) == fingerprint("a", "b", "c", "d", "")
