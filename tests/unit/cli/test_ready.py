"""``deadwatch ready`` says what is missing, or that nothing is."""

import itertools

import httpx2
import pytest

from cli.commands import ready as ready_command

UP = 'deadwatch_source_up{source="streaming",kind="streaming"} 1\n'
DOWN = 'deadwatch_source_up{source="redrive",kind="redrive"} 0\n'
METRICS = f"# TYPE deadwatch_source_up gauge\n{UP}{DOWN}"


def client(readiness: httpx2.Response, scrape: httpx2.Response) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return {"/readyz": readiness, "/metrics": scrape}[request.url.path]

    return httpx2.Client(base_url="http://d:8000", transport=httpx2.MockTransport(answer))


READY, METRICS_OK = httpx2.Response(200, json={"ready": True}), httpx2.Response(200, text=METRICS)
AWAY = httpx2.Response(503, json={"missing": ["the store"]})
ANOTHER = httpx2.Response(404, text="<html>")
BROKEN = httpx2.Response(503)
ELSE, NOT_OURS = "/readyz answers", ": it is not Deadwatch"
UNHEARD = "collector:a has never been heard of: see its log"
CASES: list[tuple[str, httpx2.Response, httpx2.Response, tuple[str, ...], list[str]]] = [
    ("all is well", READY, METRICS_OK, ("streaming",), []),
    ("no source is asked for", READY, BROKEN, (), []),
    ("a source is down", READY, METRICS_OK, ("streaming", "redrive"), ["redrive is down: see its log"]),
    ("a source was never there", READY, METRICS_OK, ("collector:a",), [UNHEARD]),
    ("the store is away", AWAY, METRICS_OK, ("streaming",), ["/readyz answers 503: the store"]),
    ("somebody else answers", ANOTHER, METRICS_OK, (), [f"{ELSE} 404{NOT_OURS}"]),
    ("somebody else answers JSON", httpx2.Response(404, json=[]), METRICS_OK, (), [f"{ELSE} 404{NOT_OURS}"]),
    ("metrics fail", READY, BROKEN, ("streaming",), ["/metrics answers 503"]),
]


@pytest.mark.parametrize(
    ("readiness", "scrape", "sources", "missing"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_what_is_missing_is_said(
    readiness: httpx2.Response, scrape: httpx2.Response, sources: tuple[str, ...], missing: list[str]
) -> None:
    assert ready_command.look(client(readiness, scrape), sources) == missing


def test_metrics_that_need_a_token_are_left_out_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert ready_command.look(client(READY, httpx2.Response(401)), ("streaming",)) == []
    assert "/metrics needs a token" in capsys.readouterr().out


def test_time_runs_out_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    clock = itertools.count()
    pauses: list[float] = []
    code = ready_command.run("http://127.0.0.1:1", (), 3, lambda: float(next(clock)), pauses.append)
    assert code == 1
    assert "missing: no answer from http://127.0.0.1:1" in capsys.readouterr().out
    assert len(pauses) == 2
