"""``deadwatch redrive`` and its siblings, before a real api where Kafka is not asked."""

import io
import json
import sys
from collections.abc import Callable
from itertools import count, cycle, islice
from typing import Any

import httpx2
import pytest
from rich.console import Console
from sqlalchemy import Engine

from cli.api_client import Api, NoAnswerError, RefusedError, UsageError
from cli.commands import following, redrives
from cli.commands.output import Format
from cli.commands.redrives import Given, body
from deadwatch.orders.order import OrderRequest, Status
from deadwatch.store import series
from deadwatch.store.write.order_claims import OrderClaims
from redrive.plan.plan import Plan
from tests.unit.cli.terminal import api_that, printed

WHY: Given = {"reason": "fixed"}
ALL: Given = {"selection_all": True, **WHY}


@pytest.mark.parametrize(
    ("given", "selection"),
    [
        ({"selection_all": True}, {"all": True}),
        ({"selection_group": "f1"}, {"group": "f1"}),
        ({"selection_group": ""}, {"group": ""}),  # the api refuses it
        ({"selection_filter": "offset > 1"}, {"filter": "offset > 1"}),
        ({"selection_offsets": ["0:10-20", "3:0-1"]}, {"offsets": {"0": [10, 20], "3": [0, 1]}}),
        ({"selection_records": ["0:42"]}, {"records": [{"partition": 0, "offset": 42}]}),
        ({"selection_from": "2026-11-21T12:00:00Z"}, {"from": "2026-11-21T12:00:00Z"}),
        # the api refuses it
        ({"selection_all": True, "selection_group": "f1"}, {"all": True, "group": "f1"}),
    ],
)
def test_flags_become_a_selection(given: Given, selection: dict[str, Any]) -> None:
    assert body("dlq.t", {**WHY, **given})["selection"] == selection


def test_what_has_no_option_is_set_by_its_path() -> None:
    given = {**ALL, "limits_records_per_second": "none", "target": "retry:g"}
    settings = ["guards.max_bounce_ratio=null", "guards.lag_group=payments", "target.topic=again"]
    asked = OrderRequest.model_validate(body("dlq.t", {**given, "settings": settings}))
    assert asked.model_dump(exclude_defaults=True, exclude={"dlq_topic", "selection", "reason"}) == {
        "target": {"kind": "retry", "consumergroup": "g", "topic": "again"},
        "limits": {"records_per_second": None},
        "guards": {"max_bounce_ratio": None, "lag_group": "payments"},
    }


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (WHY, "which records?"),
        ({"selection_all": True}, "why\\? say --reason"),
        ({**WHY, "selection_offsets": ["0:10"]}, "--offsets takes PARTITION:FROM-TO"),
        ({**WHY, "selection_offsets": ["0:1-2", "0:5-6"]}, "each partition once"),
        ({**WHY, "selection_records": ["a:1"]}, "--record takes PARTITION:OFFSET"),
        ({**ALL, "target": "moon"}, "--target takes origin"),
        ({**ALL, "limits_records_per_second": "fast"}, "--rate takes a number, as 50, or none, not 'fast'"),
        ({**ALL, "limits_max_records": "1.5"}, "--max-records takes a whole number"),
        ({**ALL, "guards_settle_window_ms": "soon"}, "--settle-after takes a time in seconds"),
        ({**ALL, "settings": ["max_records"]}, "a setting is PATH=VALUE"),
        ({**ALL, "settings": ["reason=again"]}, "reason is given twice"),
        ({**ALL, "target": "origin", "settings": ["target.kind=topic"]}, "target.kind is given twice"),
        ({**ALL, "settings": ["dry_run=false"]}, "dry_run cannot be set"),
        ({**ALL, "settings": ["confirm=1"]}, "confirm cannot be set"),
    ],
)
def test_a_wrong_flag_is_refused_with_the_right_form(given: Given, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        body("dlq.t", given)


def test_a_dry_run_is_a_table_of_what_goes_and_what_stays() -> None:
    plan = Plan(
        to_move=10,
        at_least=True,
        read=15,
        targets={"orders": 10},
        to_park=1,
        park_reasons={"error_class_excluded": 1},
        skip_reasons={"no_origin": 3},
        rehydrated=2,
        dropped_headers={"retry_topic-attempts": 7},
        filter_problems={"divide by zero": 1},
        estimated_ms=7_200_000,
        warnings=("[bold] is not markup",),
    )
    lines = printed(redrives.plan({"dlq_topic": "dlq.t", "plan": plan.model_dump()}))
    for part in ("Dry run on dlq.t", "at least 10", "to orders", "would be parked: error_class_excluded"):
        assert part in lines
    assert "without header retry_topic-attempts" in lines
    assert "3: its headers do not tell where it came from" in " ".join(lines.split())
    assert "1: its error class is among" in " ".join(lines.split())
    for part in ("would be skipped: no_origin", "filter: divide by zero", "at least 2.0 h", "[bold] is not"):
        assert part in lines


def test_a_plan_of_an_earlier_version_tells_how_many_would_be_parked() -> None:
    earlier = Plan(to_move=1, to_park=12).model_dump(exclude={"park_reasons"})
    lines = printed(redrives.plan({"dlq_topic": "dlq.t", "plan": earlier}))
    assert "would be parked │ 12" in " ".join(lines.split())


@pytest.mark.parametrize("status", [Status.PAUSED, Status.COMPLETED, Status.FAILED])
def test_an_order_is_followed_until_it_is_over_or_needs_somebody(
    client: httpx2.Client, order: str, store: Engine, add_series: Callable[..., None], status: Status
) -> None:
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, status, "orders-3 made no progress", 1)
    if status.final:
        add_series(series.REDRIVE_ORDERS, 9, order=order, outcome="sent", outcome_reason="")
    followed = following.follow(Api(client), order, Console(quiet=True))
    assert (followed["status"], followed["status_reason"]) == (status, "orders-3 made no progress")
    assert followed["progress"]["counted"] == status.final
    assert "orders-3 made no progress" in printed(redrives.table(followed))


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("dry_run", "state"), [(True, "COMPLETED (dry run)"), (False, "COMPLETED")])
def test_a_dry_run_is_no_redrive_that_was_completed(*, dry_run: bool, state: str, alone: bool) -> None:
    one = {"id": "a", "status": "COMPLETED", "dry_run": dry_run, "dlq_topic": "dlq.t", "bounced": 0}
    one |= {"progress": {"text": "3 would be moved"}, "skip_reasons": {}, "created_at": None}
    one |= {"status_reason": None, "reason": "fixed"}
    rows = [[*map(str, row)] for row in redrives.table(one if alone else {"items": [one]}).rows]
    assert (["status", state] in rows) if alone else (rows[0][1] == state)
    assert ["dry_run", str(dry_run)] not in rows


@pytest.mark.parametrize(("away", "answered"), [(2, True), (99, False)])
def test_an_order_is_followed_while_the_api_is_away_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], away: int, answered: bool
) -> None:
    """Each look takes a third of the time for which it may be away, as where nothing answers at all."""
    looks = count(step=following.AWAY_S * 1_000 // 3)
    monkeypatch.setattr(following, "POLL_S", 0.01)
    monkeypatch.setattr(following, "monotonic_ms", lambda: next(looks))
    progress = {"text": "", "done": 1, "total": 2, "counted": True}
    shown = {"id": "a", "dlq_topic": "dlq.t", "dry_run": False, "status_reason": "", "reason": "fixed"}
    shown |= {"progress": progress, "skip_reasons": {}, "records_per_second": None}
    answers = iter([200, *islice(cycle((502, 503, 504)), away), 200])
    status = iter(["RUNNING", "COMPLETED"])

    def answer(_: httpx2.Request) -> httpx2.Response:
        code = next(answers)
        return httpx2.Response(code, json=shown | {"status": next(status)} if code == 200 else {})

    def watched() -> int:
        return redrives.watch(api_that(answer), "a", Console(quiet=True), Format.JSON)

    if answered:
        assert watched() == 0
        return
    with pytest.raises(NoAnswerError, match=r"^http://x answers 50[234] "):
        watched()
    assert capsys.readouterr().err == "it goes on; deadwatch jobs shows it\n"


def test_an_answer_of_another_program_differs_from_no_answer() -> None:
    def broken(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text="<html>")

    def away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    def another(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=["not ours"])

    def garbled(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(b"{}"))

    def proxy(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(502, text="<html>")

    complaints = {
        broken: "http://x is not Deadwatch",
        another: "http://x is not Deadwatch",
        away: "no answer from http://x",
        garbled: "no answer from http://x",
        proxy: "http://x answers 502 Bad Gateway",
    }
    for handler, complaint in complaints.items():
        with pytest.raises(NoAnswerError, match=f"^{complaint}"):
            api_that(handler).get("/redrives")


class Terminal(io.StringIO):
    """Standard input of a person who has typed something."""

    def isatty(self) -> bool:
        return True


Asked = list[dict[str, Any]]
READ = {"id": "a", "dlq_topic": "dlq.t", "dlq_topic_id": "b", "cut_off": {"0": 9}}
TRIED = READ | {"plan": Plan(to_move=7, at_most=7, targets={"orders": 7}).model_dump(mode="json")}


def taking(asked: Asked) -> Api:
    """An api that takes every order and notes what it was asked for."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        return httpx2.Response(202, json=TRIED)

    return api_that(answer)


@pytest.mark.parametrize("output", list(Format))
def test_who_is_asked_sees_the_plan_once_where_the_output_goes_elsewhere_and_a_no_makes_no_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, output: Format
) -> None:
    asked: Asked = []
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    assert redrives.redrive(taking(asked), "dlq.t", output=output, **ALL) == 1
    stdout, stderr = capsys.readouterr()
    assert stderr.index("to orders") < stderr.index("Move 7 records? [y/N] ")
    assert "[y/N]" not in stdout
    assert (stdout + stderr).count("Dry run on dlq.t") == 1  # both are one terminal behind `| cat`
    assert [request["dry_run"] for request in asked] == [True]
    if output is Format.JSON:
        assert json.loads(stdout) == TRIED


@pytest.mark.parametrize(
    ("plan", "question"),
    [
        (Plan(to_move=7, at_most=7), "Move 7 records?"),
        (Plan(to_move=1, at_most=3, to_park=2), "Move 1 record, park 2?"),
        (Plan(to_move=1, at_most=4, to_park=2), "Move 1 record, park up to 3?"),
        (Plan(to_move=1, at_most=1, to_park=2), "Move 1 record, park 2?"),
        (Plan(to_move=7, at_least=True, at_most=9), "Move or park up to 9 records?"),
        (Plan(to_park=1, at_most=1), "Park 1 record?"),
        (Plan(skip_reasons={"already_moved": 7}), ""),
    ],
)
def test_the_question_tells_what_would_be_done(plan: Plan, question: str) -> None:
    assert redrives.question_about(plan.model_dump(mode="json")) == question


def test_where_nothing_would_be_done_nobody_is_asked_and_the_api_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if json.loads(request.content)["dry_run"]:
            return httpx2.Response(202, json=READ | {"plan": Plan().model_dump(mode="json")})
        assert json.loads(request.content)["confirm"] == 0, "what nobody was asked about is not moved"
        return httpx2.Response(422, json={"detail": "the selection matches none"})

    with pytest.raises(RefusedError, match=r"^the selection matches none$"):
        redrives.redrive(api_that(answer), "dlq.t", **ALL)
    assert "[y/N]" not in capsys.readouterr().err


def test_nobody_is_asked_where_there_is_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    asked: Asked = []
    with pytest.raises(UsageError, match=r"nobody is there to confirm: say --yes$"):
        redrives.redrive(taking(asked), "dlq.t", **ALL)
    assert [request["dry_run"] for request in asked] == [True]


@pytest.mark.parametrize(("before", "told"), [(1, "it may have been made already"), (2, "it goes on")])
def test_who_interrupts_is_told_what_may_become_of_the_order(
    capsys: pytest.CaptureFixture[str], before: int, told: str
) -> None:
    answers = iter([httpx2.Response(202, json=TRIED)] * before)

    def answer(_: httpx2.Request) -> httpx2.Response:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redrives.redrive(api_that(answer), "dlq.t", yes=True, output=Format.JSON, **ALL)
    assert capsys.readouterr() == ("", f"{told}; deadwatch jobs shows it\n")


@pytest.mark.parametrize("output", [Format.TABLE, Format.JSON])
def test_a_dry_run_asks_nobody(capsys: pytest.CaptureFixture[str], output: Format) -> None:
    asked: Asked = []
    assert redrives.redrive(taking(asked), "dlq.t", dry_run=True, output=output, **ALL) == 0
    shown = capsys.readouterr().out
    assert "Dry run on dlq.t" in shown if output is Format.TABLE else json.loads(shown) == TRIED
    assert [request["dry_run"] for request in asked] == [True]


def test_a_yes_asks_for_what_the_dry_run_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Asked = []
    monkeypatch.setattr(redrives, "watch", lambda *_: 0)
    assert redrives.redrive(taking(asked), "dlq.t", yes=True, **ALL) == 0
    tried, made = asked
    assert made == {**tried, "dry_run": False, "confirm": 7, "cut_off": {"0": 9}, "dlq_topic_id": "b"}
