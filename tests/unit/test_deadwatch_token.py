"""``deadwatch token``, ``audit`` and the options of every command, before a real api."""

import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from api.app import create_app, system_now_ms
from api.settings import ApiSettings
from collector.settings_file import SettingsError
from deadwatch import local_token
from deadwatch.cli import app
from streaming.redrive.order import Order, OrderRequest, Status
from streaming.redrive.plan import Plan
from streaming.store import audit
from streaming.store.order_claims import OrderClaims
from streaming.store.orders import OrderBook


@dataclass(frozen=True)
class Served:
    """The api on a port, and a terminal beside it."""

    url: str
    data: Path

    def run(self, *arguments: str, token: str = "", local: bool = True) -> Result:
        file = self.data / "token" if local else self.data / "none"
        environment = {"DEADWATCH_URL": self.url, "DEADWATCH_TOKEN": token, "DEADWATCH_TOKEN_FILE": str(file)}
        return CliRunner().invoke(app, [*arguments], env={**environment, "COLUMNS": "200"})

    def on_store(self, *arguments: str) -> Result:
        return self.run("token", *arguments, "--on-store", "--data", str(self.data))


@pytest.fixture
def served(store: Engine, store_file: Path) -> Iterator[Served]:
    del store
    data = store_file.parent
    local_token.make(data / "token")
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", local_token_file=data / "token")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline_s = time.monotonic() + 60
        while not server.started and time.monotonic() < deadline_s:
            time.sleep(0.01)
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", data)
        server.should_exit = True
        thread.join()


@pytest.fixture
def order(store: Engine) -> str:
    request = OrderRequest.model_validate(
        {"dlq_topic": "dlq.t", "selection": {"all": True}, "dry_run": False, "reason": "mended"}
    )
    made = Order(id="a", request=request, requested_by="me", created_at_ms=1, begin={0: 0}, cut_off={0: 9})
    OrderBook(store).create(made, Plan(to_move=9).model_dump_json())
    return "a"


def test_the_first_admin_is_made_on_the_store_and_makes_the_others(served: Served) -> None:
    first = served.on_store("create", "ann", "--role", "admin")
    assert first.exit_code == 0, first.output
    admin = first.stdout.strip()
    made = served.run("token", "create", "pipeline", "--role", "operator", "--days", "3", token=admin)
    operator = made.stdout.strip()
    assert operator.startswith("dw_")
    assert "pipeline, operator, valid until" in made.stderr
    who = json.loads(served.run("token", "whoami", "--json", token=operator).stdout)
    assert (who["name"], who["role"]) == ("pipeline", "operator")
    listed = served.run("token", "list", token=admin).stdout
    assert "pipeline" in listed
    assert operator.split("_")[2] not in listed
    assert served.run("token", "list", token=operator).exit_code == 3
    assert served.run("token", "revoke", operator.split("_")[1], token=admin).exit_code == 0
    assert served.run("token", "whoami", token=operator).exit_code == 3
    states = json.loads(served.on_store("list", "--json").stdout)["items"]
    assert {one["name"]: one["valid"] for one in states} == {"ann": True, "pipeline": False}
    told = json.loads(served.run("audit", "--json").stdout)["items"]
    done = [(one["action"], one["who"]) for one in told if one["outcome"] == "done"]
    assert done[0] == ("tokens.revoke", "ann")
    assert told[-1]["who"].endswith("(on the store)")


def test_on_its_own_machine_nothing_has_to_be_typed(served: Served, order: str) -> None:
    assert served.run("cancel", order, local=False).exit_code == 3
    stopped = served.run("cancel", order, "--json")
    assert json.loads(stopped.stdout)["status"] == "CANCELLED"
    entry = json.loads(served.run("audit", "--export", "--action", "redrives.cancel").stdout.splitlines()[0])
    assert (entry["outcome"], entry["token"], entry["subject"]) == ("done", "local", order)
    assert "redrives.cancel" in served.run("audit").stdout


def test_an_order_is_followed_and_its_end_is_the_exit_code(served: Served, order: str, store: Engine) -> None:
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, Status.FAILED, "orders-3 made no progress", system_now_ms())
    failed = served.run("jobs", order, "--follow", "--json")
    assert (failed.exit_code, json.loads(failed.stdout)["status"]) == (1, "FAILED")
    shown = served.run("jobs", order, "--follow")
    assert "orders-3 made no progress" in shown.stdout


@pytest.mark.parametrize(("limit", "rows"), [(3, 3), (500, 500), (501, 501), (1_000, 700)])
def test_a_list_is_as_long_as_is_asked_for(served: Served, store: Engine, limit: int, rows: int) -> None:
    with store.begin() as connection:
        for number in range(700):
            audit.write(
                connection,
                audit.Entry(at_ms=system_now_ms(), who="ann", action="redrives.create", subject=str(number)),
            )
    told = json.loads(served.run("audit", "--json", "--limit", str(limit)).stdout)
    subjects = [one["subject"] for one in told["items"]]
    assert subjects == [str(number) for number in range(699, 699 - rows, -1)]
    assert (told["next"] is None) is (rows == 700)


def test_the_local_token_is_its_owner_s_and_goes_to_no_other_machine(tmp_path: Path) -> None:
    file = tmp_path / "token"
    local_token.make(file)
    first = file.read_text()
    local_token.make(file)
    assert file.read_text() != first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
    assert local_token.find(file, "http://[::1]:8000") == file.read_text().strip()
    for url in ("https://deadwatch.example", "http://127.0.0.1.evil.example", "http://192.0.2.1", "rubbish"):
        assert not local_token.find(file, url)
    with pytest.raises(SettingsError, match="--data"):
        local_token.make(tmp_path / "none" / "token")


WRONG = {
    "a store that is not there": (
        ("token", "list", "--on-store", "--data", "/nowhere"),
        1,
        "streaming makes it",
    ),
    "a name of two lines": (
        ("token", "create", "a\nb", "--role", "viewer", "--on-store"),
        2,
        "NAME is one line",
    ),
    "a role that is none": (("token", "create", "a", "--role", "root"), 2, "--role"),
    "nobody answers": (("jobs", "--url", "http://127.0.0.1:1"), 4, "is `deadwatch up` running?"),
    "a token of another kind": (("jobs", "--token", "a\nb"), 2, "was it copied whole?"),
    "no such order": (("jobs", "ff"), 1, "no redrive has the id 'ff'"),
    "a token that is not known": (("jobs", "--token", "dw_0"), 3, "this is no token"),
}


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG.values(), ids=WRONG)
def test_what_is_refused_is_one_line_and_an_exit_code(
    served: Served, arguments: tuple[str, ...], code: int, told: str
) -> None:
    answer = served.run(*arguments)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert told in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not Path("/nowhere").exists()


@pytest.mark.parametrize(
    "command",
    ["topics", "groups", "show", "redrive", "jobs", "cancel", "pause", "resume", "audit", "token create"],
)
def test_help_shows_an_example_and_the_exit_codes(command: str) -> None:
    told = CliRunner().invoke(app, [*command.split(), "--help"]).stdout
    assert f"deadwatch {command} " in told.split("Options:")[0].replace("Usage: ", "", 1)
    assert "Exit codes: 0 done" in told


def test_a_shell_is_offered_the_ids_there_are(served: Served, order: str) -> None:
    environment = {
        "_DEADWATCH_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": "deadwatch cancel ",
        "DEADWATCH_URL": served.url,
    }
    told = CliRunner().invoke(app, [], prog_name="deadwatch", env=environment).stdout
    assert f'"{order}":"RUNNING dlq.t"' in told


def test_texts_of_others_move_no_cursor(served: Served, store: Engine) -> None:
    with store.begin() as connection:
        audit.write(
            connection,
            audit.Entry(
                at_ms=system_now_ms(), who="\x1b[2Jeve", action="redrives.cancel", why="a\r\nb\u202ec"
            ),
        )
    told = served.run("audit").stdout
    assert "\x1b" not in told
    assert r"\x1b[2Jeve" in told
    assert r"a\r\nb\u202ec" in told
