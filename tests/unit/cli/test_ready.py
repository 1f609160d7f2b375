"""``deadwatch ready`` says what is missing, or that nothing is."""

import itertools
from pathlib import Path

import httpx2
import pytest

from api.app import create_app
from api.auth.credentials import issue
from api.settings import ApiSettings
from cli.api_client import ANONYMOUS
from cli.commands import ready as ready_command
from tests.tables import named
from tests.unit.cli.conftest import Port
from tests.unit.cli.terminal import Served

UP = 'deadwatch_source_up{source="streaming",kind="streaming"} 1\n'
DOWN = 'deadwatch_source_up{source="redrive",kind="redrive"} 0\n'
NEVER_HEARD = "missing: nonsense has never been heard of: see its log\n"
METRICS = f"# TYPE deadwatch_source_up gauge\n{UP}{DOWN}"


def client(readiness: httpx2.Response, scrape: httpx2.Response) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return {"/readyz": readiness, "/metrics": scrape}[request.url.path]

    return httpx2.Client(base_url="http://d:8000", transport=httpx2.MockTransport(answer))


READY, METRICS_OK = httpx2.Response(200, json={"ready": True}), httpx2.Response(200, text=METRICS)
AWAY = httpx2.Response(503, json={"missing": ["the store"]})
ANOTHER = httpx2.Response(404, text="<html>")
PAGE = httpx2.Response(200, text="<html>")
GARBLED = httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(b"{}"))
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
    ("a page for every path", PAGE, METRICS_OK, (), [f"{ELSE} 200{NOT_OURS}"]),
    ("somebody else answers JSON", httpx2.Response(404, json=[]), METRICS_OK, (), [f"{ELSE} 404{NOT_OURS}"]),
    (
        "an answer that is garbled",
        GARBLED,
        METRICS_OK,
        (),
        ["no answer from http://d:8000 (Error -3 while decompressing data: incorrect header check)"],
    ),
    ("metrics fail", READY, BROKEN, ("streaming",), ["/metrics answers 503"]),
]


@pytest.mark.parametrize(("readiness", "scrape", "sources", "missing"), named(CASES))
def test_what_is_missing_is_said(
    readiness: httpx2.Response, scrape: httpx2.Response, sources: tuple[str, ...], missing: list[str]
) -> None:
    assert ready_command.look(client(readiness, scrape), sources) == missing


@pytest.fixture
def guarded(served: Served, port: Port, store_file: Path) -> Served:
    """The service where /metrics needs a token."""
    local = served.data / "token"
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", local_token_file=local, anonymous="nothing")
    port.app = create_app(settings)
    return served


def test_without_a_token_that_metrics_need_no_source_is_called_ready(guarded: Served) -> None:
    address = guarded.url.replace("//", "//ann:s3cret@")
    ready = guarded.run("ready", "--url", address, "--source", "nonsense", local=False)
    assert ready.exit_code == 0
    assert ready.stdout.startswith(f"ready: {guarded.url}; sources are not looked at: /metrics needs a token")
    assert "nonsense" not in ready.stdout
    assert guarded.run("ready", "--url", address, local=False).stdout == f"ready: {guarded.url}\n"


def test_with_a_token_that_metrics_need_sources_are_looked_at(guarded: Served) -> None:
    missing = guarded.run("ready", "--source", "nonsense", "--within", "0")
    assert (missing.exit_code, missing.stdout) == (1, NEVER_HEARD)


def test_a_token_that_metrics_refuse_is_an_error_at_once(guarded: Served) -> None:
    refused = guarded.run("ready", "--source", "streaming", token=issue().text)
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "/metrics refuses this token; here: --token-file" in refused.stderr


def test_a_token_goes_along_only_where_metrics_ask_for_one(served: Served) -> None:
    missing = served.run("ready", "--source", "nonsense", "--within", "0", token="dw_stale")
    assert (missing.exit_code, missing.stdout) == (1, NEVER_HEARD)


def test_time_runs_out_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    clock = itertools.count()
    pauses: list[float] = []
    code = ready_command.run(
        *("http://127.0.0.1:1", ANONYMOUS, ()),
        within_s=3,
        now_s=lambda: float(next(clock)),
        pause_s=pauses.append,
    )
    assert code == 1
    assert "missing: no answer from http://127.0.0.1:1" in capsys.readouterr().out
    assert len(pauses) == 2
