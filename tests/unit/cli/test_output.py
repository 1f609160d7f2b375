"""What commands print: tables that fit the terminal, and the api's answer for programs."""

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import yaml
from sqlalchemy import Engine, NullPool, create_engine
from typer.testing import Result

from cli.commands import tables
from cli.commands.dead_letters import records
from cli.commands.output import Format
from cli.commands.signals import tasks
from cli.main import app
from deadwatch.contract.events import THREADLESS
from deadwatch.orders.order import Status
from deadwatch.runtime.clock import clock_ms
from deadwatch.store import schema, series
from deadwatch.store.write import audit
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from tests import console_store
from tests.unit.cli.terminal import Served, api_that, printed

# jobs tell of the present moment, which is another one in the next answer
LISTS = ("topics", "groups", "findings", "policies list")
ID = "0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a"
EVERYTHING = (*LISTS, "jobs", "overview", "tasks", f"show {console_store.MAIN_GROUP}", "token whoami")


@pytest.fixture(scope="module")
def full_store(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with something of everything, hostile texts too: to be copied."""
    file = tmp_path_factory.mktemp("full") / "deadwatch.db"
    shutil.copyfile(empty_store, file)
    console_store.fill(create_engine(f"sqlite:///{file}", poolclass=NullPool), clock_ms())
    return file


@pytest.fixture
def full(served: Served, store_file: Path, full_store: Path) -> Served:
    """The api over such a store, which it has not opened yet."""
    shutil.copyfile(full_store, store_file)
    return served


def ok(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("command", EVERYTHING)
@pytest.mark.parametrize("columns", [80, 120])
def test_a_table_fits_the_terminal_and_breaks_no_short_word(full: Served, command: str, columns: int) -> None:
    lines = ok(full.run(*command.split(), columns=columns)).splitlines()
    assert max(len(line) for line in lines) <= columns
    cells = [cell.strip() for line in lines for cell in line.split("\u2502")]
    assert sum(len(cell) == 1 and cell.isalpha() for cell in cells) <= 1, "a letter a line"


def test_columns_that_find_no_room_are_named(full: Served) -> None:
    narrow, wide = (ok(full.run("groups", columns=columns)) for columns in (80, 300))
    assert "not shown: dlq_topic, consumer, records, last_seen; a wider terminal" in narrow
    assert "message_pattern" in narrow
    assert "not shown" not in wide
    assert "last_seen" in wide


def test_an_order_alone_tells_why_it_stands_and_what_came_back_on_80_columns(
    served: Served, order: str, store: Engine, add_series: Callable[..., None]
) -> None:
    why = "6 of 9 records came back (67%, guards.max_bounce_ratio is 50%): fix the cause, then resume"
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, Status.PAUSED, why, 1)
    add_series(series.REDRIVE_ORDERS, 6, order=order, outcome="bounced", outcome_reason="")
    for reason, count in (("no_origin", 3), ("target_missing", 1)):
        add_series(series.REDRIVE_ORDERS, count, order=order, outcome="skipped", outcome_reason=reason)
    told = " ".join(ok(served.run("jobs", order, columns=80)).replace("\u2502", " ").split())
    assert f"status_reason {why}" in told
    assert "bounced 6" in told
    assert "progress 4 of 9 done" in told
    assert "skip_reasons no_origin: 3, target_missing: 1" in told
    assert not {"plan", "request", "cut_off", "dlq_topic_id"} & set(told.split())
    assert "not shown" not in told


def test_the_audit_tells_how_it_went_on_80_columns(served: Served, store: Engine) -> None:
    asked = audit.Entry(at_ms=clock_ms(), who="root (local)", action="redrives.create", why="converter fixed")
    with store.begin() as connection:
        audit.write(connection, replace(asked, subject="a" * 36, outcome="409 conflict"))
    assert "conflict" in ok(served.run("audit", columns=80))


@pytest.mark.parametrize(
    ("command", "title"), [("findings", "Findings"), ("policies list", "Policies"), ("tasks", "Tasks")]
)
def test_a_list_without_items_says_so(served: Served, command: str, title: str) -> None:
    assert ok(served.run(*command.split())) == f"{title}: none\n"


def test_the_trend_of_a_cause_is_told_by_hours_and_its_samples_to_the_second(full: Served) -> None:
    shown = ok(full.run("show", console_store.MAIN_GROUP))
    answer = json.loads(ok(full.run("show", console_store.MAIN_GROUP, "--json")))
    hour, sample = answer["trend"][0], answer["samples"][0]
    for at, told in ((hour["at"], hour["value"]), (sample["timestamp"], f"{sample['value_bytes']} B")):
        assert f"{at[:10]} {at[11:19]}Z  {told}" in shown


@pytest.mark.parametrize("command", LISTS)
def test_json_yaml_and_csv_tell_the_same(full: Served, command: str) -> None:
    answer = json.loads(ok(full.run(*command.split(), "--output", "json")))
    assert answer == json.loads(ok(full.run(*command.split(), "--json")))
    assert answer == yaml.safe_load(ok(full.run(*command.split(), "-o", "yaml")))
    rows = list(csv.DictReader(io.StringIO(ok(full.run(*command.split(), "-o", "csv")))))
    assert len(rows) == len(answer["items"]) > 0
    for row, item in zip(rows, answer["items"], strict=True):
        assert row.keys() == item.keys()


def test_no_cell_of_csv_is_a_formula(full: Served) -> None:
    rows = csv.reader(io.StringIO(ok(full.run("groups", "--output", "csv"))))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]


@pytest.mark.parametrize("form", list(Format))
def test_what_the_encoding_of_the_output_has_not_is_escaped(
    full: Served, store: Engine, monkeypatch: pytest.MonkeyPatch, form: Format
) -> None:
    entry = audit.Entry(at_ms=clock_ms(), who="zoë", action="redrives.pause", why="→")
    with store.begin() as connection:
        audit.write(connection, entry)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setenv("DEADWATCH_TOKEN_FILE", str(full.data / "token"))
    arguments = ["audit", "--url", full.url, "--output", form]
    assert app(arguments, standalone_mode=False) == 0
    assert (
        b"zo\\xeb" if form in {Format.TABLE, Format.CSV, Format.YAML} else b"zo\\u00eb"
    ) in written.getvalue()


def test_groups_are_found_by_words_and_ordered(full: Served) -> None:
    every = json.loads(ok(full.run("groups", "--shelf", "all", "--json")))["items"]
    some = json.loads(ok(full.run("groups", "--filter", every[0]["error_class"], "--json")))["items"]
    assert 0 < len(some) < len(every)
    records = json.loads(ok(full.run("groups", "--order", "records", "--json")))["items"]
    assert [one["records"] for one in records] == sorted((one["records"] for one in records), reverse=True)


def test_records_are_looked_for_until_some_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    def page(items: list[dict[str, int]], following: str | None, problems: int) -> dict[str, object]:
        return {"items": items, "next": following, "filter_problems": {"no such key": problems}}

    pages = {None: page([], "a", 1), "a": page([{"offset": 7}], None, 2)}
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json=pages[request.url.params.get("after")])

    assert records(api_that(answer), "dlq.t", text="attempts > 0", output=Format.JSON) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == page([{"offset": 7}], None, 3)
    assert shown.err == "deadwatch: the filter says nothing of 3 records: no such key\n"
    assert [one.url.params["filter"] for one in asked] == ["attempts > 0"] * 2


def test_tasks_beyond_a_page_are_asked_for_as_far_as_their_longest_list_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def page(timers: int, instances: int, following: str | None) -> dict[str, object]:
        return {"task_timeouts": [], "timers": [0] * timers, "connect": [0] * instances, "next": following}

    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.query.decode())
        return httpx2.Response(200, json=page(2, 500, "a") if len(asked) == 1 else page(0, 100, "b"))

    assert tasks(api_that(answer), limit=600, output=Format.JSON) == 0
    assert json.loads(capsys.readouterr().out) == page(2, 600, "b")
    assert asked == ["limit=500", "limit=100&after=a"]


@pytest.mark.parametrize("command", ["groups", "topics", "jobs"])
def test_a_list_that_is_cut_says_so(full: Served, command: str) -> None:
    more = ", and there are more: --limit"
    assert more in ok(full.run(command, "--limit", "1")).splitlines()[0]
    assert more not in ok(full.run(command, "--limit", "1000"))


def test_what_is_dead_comes_first_among_tasks(full: Served, add_row: Callable[..., None]) -> None:
    for task, state in (("0", "RUNNING"), ("1", THREADLESS), ("2", "FAILED")):
        add_row(schema.instances, connector="late", task=task, state=state, observed_at_ms=clock_ms())
    lines = ok(full.run("tasks")).splitlines()
    shown = [line.split()[3] for line in lines if "late-" in line]
    assert sorted(shown[:2]) == ["FAILED", THREADLESS]
    assert shown[2] == "RUNNING"
    assert any("pipe-0" in line and "unknown" in line for line in lines)  # its source is down
    assert ok(full.run("tasks", "--limit", "1")).startswith("Tasks, and there are more: --limit\n")


def test_only_what_has_failed_has_a_time_since_when(served: Served, add_row: Callable[..., None]) -> None:
    now_ms = clock_ms()
    times = {"observed_at_ms": now_ms, "state_since_ms": now_ms}
    add_row(schema.instances, connector="late", task="0", state="FAILED", **times)
    lines = ok(served.run("overview")).splitlines()
    since = {
        line.split("\u2502")[1].strip(): line.split("\u2502")[3].strip() for line in lines if "FAILED" in line
    }
    assert since["FAILED tasks"]
    assert not since["FAILED connectors"]


def test_the_overview_says_that_no_worker_runs_where_one_is_needed(
    served: Served, order: str, store: Engine
) -> None:
    waits = ok(served.run("overview"))
    assert "redrives  " in waits
    assert "1 redrive waits and no worker runs" in waits
    OrderBook(store).pause(order, "somebody")
    assert "redrives  " not in ok(served.run("overview"))


@pytest.mark.parametrize(("width", "whole"), [(70, ID), (50, "COMPLETE")])
def test_an_id_is_broken_last_and_leaves_room_for_the_others(width: int, whole: str) -> None:
    order = {"id": ID, "state": "COMPLETED", "topic": "dlq.connect.orders.parked"}
    table = tables.of_items("Redrives", tables.named(" ".join(order)), {"items": [order]})
    assert whole in printed(table, width)


def test_a_title_is_one_line_above_a_narrow_table() -> None:
    shown = printed(tables.FittedTable("Dry run on dlq.connect.orders.parked", ("", ""), [("read", 7)]), 80)
    assert shown.startswith("Dry run on dlq.connect.orders.parked\n")
