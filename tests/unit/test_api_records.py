"""What is asked wrongly of records is one problem that says what to do, before Kafka is asked."""

import csv
import io
import json

import httpx2
import pytest

from api.browsing.browser import Found
from api.browsing.download import File, lines
from api.browsing.payload import Renderer, View
from api.errors import BrowseBusyError
from api.records import Presentation
from streaming.letter import letter_of

RECORDS = "/api/v1/dead-letters/records"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "422 invalid-request topic: "),
        ("?topic=..", "422 invalid-request topic: "),
        ("?topic=../../etc/passwd", "422 invalid-request topic: "),
        ("?topic=dlq.a%00", "422 invalid-request topic: "),
        ("?topic=dlq%0d%0aX-Evil:%201", "422 invalid-request topic: "),
        ("?topic=" + "a" * 250, "422 invalid-request topic: "),
        ("?topic=dlq.a&patition=1", "422 invalid-request patition: "),
        ("?topic=dlq.a&partition=-1", "422 invalid-request partition: "),
        ("?topic=dlq.a&partition=2147483648", "422 invalid-request partition: "),
        ("?topic=dlq.a&offset=5", "422 invalid-request query: Value error, offset needs a partition"),
        ("?topic=dlq.a&partition=0&offset=9223372036854775808", "422 invalid-request offset: "),
        ("?topic=dlq.a&limit=501", "422 invalid-request limit: "),
        ("?topic=dlq.a&order=random", "422 invalid-request order: "),
        ("?topic=dlq.a&from=2026-01-01T00:00:00", "422 invalid-selection from: must have a time zone"),
        (
            "?topic=dlq.a&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
            "422 invalid-selection from: must be before 'to'",
        ),
        ("?topic=dlq.a&filter=ataempts%20%3E%201", "422 invalid-filter filter, line 1, column 1: 'ataempts'"),
        ("?topic=dlq.a&filter=" + "(" * 4_001, "422 invalid-request filter: "),
        ("?topic=dlq.a&filter=" + "(" * 3_000, "422 invalid-filter filter, line 1"),
        ("/download?topic=dlq.a&as=xlsx", "422 invalid-request as: "),
        ("/dlq.a/0/x", "422 invalid-request offset: "),
        ("/%2e%2e/0/0", "422 invalid-request topic: "),
        ("/..%2f..%2fetc/0/0", "404 not-found GET "),
        ("/dlq.a/0/0?limit=1", "422 invalid-request limit: "),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_wrong_question_is_one_problem(client: httpx2.Client, query: str, told: str) -> None:
    answer = client.get(RECORDS + query)
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    kind = body["type"].rpartition(":")[2]
    assert f"{answer.status_code} {kind} {body['detail']}".startswith(told)


EVIL = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]


def page(messages: list[str], following: str | None) -> Found:
    letters = [
        letter_of(
            "dlq.t", 0, at, 0, text.encode(), None, [("__connect.errors.exception.message", text.encode())]
        )
        for at, text in enumerate(messages)
    ]
    return Found(letters, len(letters), {}, following)


def shows(*, unmasked: bool = True) -> Presentation:
    return Presentation(Renderer(1_000, None), View.TEXT, unmasked)


def test_no_cell_of_a_csv_is_a_formula() -> None:
    text = "".join(lines(File.CSV, shows(), page(EVIL, None), lambda *_: None))
    rows = [*csv.DictReader(io.StringIO(text, newline=""))]
    assert [row["message"] for row in rows] == [f"'{evil}" for evil in EVIL]
    assert [row["key"] for row in rows] == [f"'{evil}" for evil in EVIL]
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_a_file_that_is_cut_tells_the_cursor_and_one_that_fails_the_problem() -> None:
    def fails(_: str | None, written: int) -> Found:
        raise BrowseBusyError(written)

    for file in File:
        cut = [*lines(file, shows(), page(["a"], "C1"), lambda *_: None)][-1]
        failed = [*lines(file, shows(), page(["a"], "C1"), fails)][-1]
        if file is File.JSONL:
            assert json.loads(cut) == {"next": "C1"}
            assert json.loads(failed)["problem"].endswith("go on with after=C1")
        else:
            assert cut == "# next: C1\r\n"
            assert failed.startswith(("# problem: 1 readings", '"# problem: 1 readings'))


def test_a_masked_file_holds_no_value() -> None:
    secret = [letter_of("dlq.t", 0, 0, 0, b"secret", b'{"name": "secret"}', [("tenant", b"secret")])]
    for file in File:
        text = "".join(lines(file, shows(unmasked=False), Found(secret, 1, {}, None), lambda *_: None))
        assert "secret" not in text
