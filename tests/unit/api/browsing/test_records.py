"""A wrong request for records is one problem that says what to do; files of records hold no formula."""

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace

import httpx2
import pytest
from sqlalchemy import Engine

from api.browsing.browser import RecordPage, RecordQuery
from api.browsing.payload import Format, Renderer, View
from api.browsing.records import File, RecordRenderer, lines
from api.errors import BrowseBusyError
from api.routes.records import MOST_PAGES_READ
from api.settings import ApiSettings
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.selection import Extents
from tests.caller import Caller
from tests.unit.api.answers import problem

RECORDS = "/api/v1/dead-letters/records"


@pytest.mark.usefixtures("store")
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
        ("?topic=dlq.a&offset=5", "422 invalid-request query: offset needs a partition"),
        ("?topic=dlq.a&partition=0&offset=9223372036854775808", "422 invalid-request offset: "),
        ("?topic=dlq.a&limit=501", "422 invalid-request limit: "),
        ("?topic=dlq.a&order=random", "422 invalid-request order: "),
        ("?topic=dlq.a&from=2026-01-01T00:00:00", "422 invalid-request from: must have a time zone"),
        ("?topic=dlq.a&to=2026-01-01T00:00:00", "422 invalid-request to: must have a time zone"),
        ("?topic=dlq.a&to=2026-01-01T00:00:00+01:00", "422 invalid-request to: a time is written as"),
        (
            "?topic=dlq.a&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
            "422 invalid-selection from: must be before 'to'",
        ),
        (
            "?topic=dlq.a&from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00%2B01:00",
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
def test_a_wrong_request_is_one_problem(client: httpx2.Client, query: str, told: str) -> None:
    answer = client.get(RECORDS + query)
    assert f"{problem(answer)} {answer.json()['detail']}".startswith(told)


def test_a_time_before_the_epoch_is_the_epoch_for_kafka() -> None:
    """To whom -1 and -2 are the end and the beginning."""
    times = {"from": "1969-12-31T23:59:59.999Z", "to": "1970-01-01T01:00:00.001+01:00"}
    query = RecordQuery.model_validate({"topic": "dlq.a", **times})
    assert (query.from_ms, query.to_ms) == (0, 1)


EMPTY = Extents({1: 3}, {1: 3})
HALF_AWAY = SimpleNamespace(partitions=lambda: {"dlq.a": 2}, extents=lambda _, of: {1: EMPTY}[of[0]])
"""A Kafka with a topic of two partitions, of which the first has no leader."""


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["?topic=dlq.a&partition=1", "/dlq.a/1/2"])
def test_a_partition_is_read_whatever_keeps_the_others(
    client: Caller, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setitem(vars(client.app.state.service.browser), "_cluster", HALF_AWAY)
    answer = client.get(f"{RECORDS}{path}").json()
    assert answer.get("unread") == [] or "the first offset is 3 now" in answer["detail"]


EVIL = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]


def page(messages: list[str], following: str | None) -> RecordPage:
    records = [
        parse_record("dlq.t", 0, offset, 0, text, None, [("__connect.errors.exception.message", text)])
        for offset, text in enumerate(message.encode() for message in messages)
    ]
    return RecordPage(records, len(records), {}, following)


def written(file: File, shows: RecordRenderer, first: RecordPage) -> str:
    """A file of this page alone."""
    return "".join(lines(file, shows, first, lambda *_: None))


def rows(table: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(table, newline=""))]


def renderer(*, unmasked: bool = True, view: View = View.TEXT) -> RecordRenderer:
    return RecordRenderer(Renderer(1_000, None), view, unmasked)


def test_no_cell_of_a_csv_is_a_formula() -> None:
    found = rows(written(File.CSV, renderer(), page(EVIL, None)))
    assert [row["message"] for row in found] == [f"'{evil}" for evil in EVIL]
    assert [row["key"] for row in found] == [f"'{evil}" for evil in EVIL]
    for row in found:
        assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_every_value_of_a_repeated_header_is_in_a_csv() -> None:
    record = parse_record("dlq.t", 0, 0, 0, None, None, [("h", b"1"), ("h", b"2"), ("i", None)])
    (row,) = rows(written(File.CSV, renderer(), RecordPage([record], 1, {}, None)))
    assert json.loads(row["headers"]) == [["h", "1"], ["h", "2"], ["i", None]]


def test_half_a_surrogate_pair_is_shown_escaped_and_cuts_no_file() -> None:
    half = rb'{"a\ud800": "\udfff"}'
    records = [parse_record("dlq.t", 0, 0, 0, half, half, [("h\ud800", half)])] * 2
    first, shows = RecordPage(records, 2, {}, None), renderer(view=View.AUTO)
    shown = [json.loads(line) for line in written(File.JSONL, shows, first).splitlines()]
    assert [record["value"]["content"] for record in shown] == [{r"a\ud800": r"\udfff"}] * 2
    table = written(File.CSV, shows, first)
    table.encode()
    assert len(rows(table)) == 2
    assert shows.page(first).model_dump_json()


def test_a_file_that_is_cut_holds_the_cursor_and_one_that_fails_the_problem() -> None:
    def fails(_: str | None, written: int, read: int) -> RecordPage:
        assert read == written
        raise BrowseBusyError(written)

    for file in File:
        *_, cut = lines(file, renderer(), page(["a"], "C1"), lambda *_: None)
        *_, failed = lines(file, renderer(), page(["a"], "C1"), fails)
        if file is File.JSONL:
            assert json.loads(cut) == {"next": "C1"}
            assert json.loads(failed)["problem"].endswith("go on with after=C1")
        else:
            assert cut == "# next: C1\r\n"
            assert failed.startswith(("# problem: 1 readings", '"# problem: 1 readings'))


def test_a_file_tells_at_its_end_how_often_the_filter_could_not_be_evaluated() -> None:
    first = replace(page(["a"], "C1"), problems={"divide by zero": 2, 'no key "x"': 1})
    rest = replace(page([], None), problems={"divide by zero": 3})
    (*_, told) = lines(File.JSONL, renderer(), first, lambda *_: rest)
    assert json.loads(told) == {"filter_problems": {"divide by zero": 5, 'no key "x"': 1}}
    (*_, told) = lines(File.CSV, renderer(), first, lambda *_: rest)
    assert [*csv.reader([told])] == [['# filter_problems: {"divide by zero": 5, "no key \\"x\\"": 1}']]
    (*_, told, following) = lines(File.JSONL, renderer(), first, lambda *_: None)
    assert json.loads(told) == {"filter_problems": {"divide by zero": 2, 'no key "x"': 1}}
    assert json.loads(following) == {"next": "C1"}, "how to go on is the last line"


class Endless:
    """A topic of which every page says that there is more; none of its records matches."""

    def __init__(self, read: int) -> None:
        self._read, self.pages = read, 0

    def page(self, *_: object) -> RecordPage:
        self.pages += 1
        return RecordPage([], self._read, {}, f"C{self.pages}")


def test_a_download_that_finds_nothing_ends_and_says_how_to_go_on(
    client: Caller, store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store
    topic = Endless(ApiSettings().browse_max_records)
    monkeypatch.setattr(client.app.state.service, "browser", topic)
    answer = client.get(f"{RECORDS}/download", params={"topic": "dlq.t", "filter": "attempts > 99"})
    assert json.loads(answer.text) == {"next": f"C{topic.pages}"}
    assert topic.pages == MOST_PAGES_READ


@pytest.mark.parametrize(("key", "shown"), [(b"84", "<number>"), (b"8a", None), (b"\x08\x01", None)])
def test_no_reader_turns_a_masked_key_into_field_numbers(key: bytes, shown: str | None) -> None:
    record = parse_record("dlq.t", 0, 0, 0, key, None, [])
    assert renderer(unmasked=False, view=View.PROTOBUF).record(record).key.content == shown
    unmasked = renderer(view=View.PROTOBUF).record(record).key
    assert unmasked.format is Format.PROTOBUF


def test_a_masked_file_holds_no_value() -> None:
    secret = [parse_record("dlq.t", 0, 0, 0, b"secret", b'{"name": "secret"}', [("tenant", b"secret")])]
    for file in File:
        text = written(file, renderer(unmasked=False), RecordPage(secret, 1, {}, None))
        assert "dlq.t" in text
        assert "secret" not in text
