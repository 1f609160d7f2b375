"""``deadwatch token``, ``audit`` and the options of every command, before a real api."""

import getpass
import json
import logging
import re
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from api.signals.redrives import COUNTING_MS
from cli import local_token
from cli.commands import api as api_command
from cli.main import app
from deadwatch.orders.order import Status
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.process import SettingsError
from deadwatch.store import schema
from deadwatch.store.heartbeat import STREAMING
from deadwatch.store.write import audit
from deadwatch.store.write.order_claims import OrderClaims
from tests.unit.cli.terminal import Served


def test_the_first_admin_is_made_on_the_store_and_makes_the_others(served: Served) -> None:
    first = served.on_store("create", "ann", "--role", "admin")
    assert first.exit_code == 0, first.output
    admin = first.stdout.strip()
    made = served.run("token", "create", "pipeline", "--role", "operator", "--days", "3", token=admin)
    operator = made.stdout.strip()
    assert operator.startswith("dw_")
    assert re.search(r"pipeline, operator, valid until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ:\n", made.stderr)
    who = json.loads(served.run("token", "whoami", "--json", token=operator).stdout)
    assert (who["name"], who["role"]) == ("pipeline", "operator")
    listed = served.run("token", "list", token=admin).stdout
    assert "pipeline" in listed
    assert operator.split("_")[2] not in listed
    assert served.run("token", "list", token=operator).exit_code == 3
    assert served.run("token", "revoke", operator.split("_")[1], token=admin).exit_code == 0
    assert served.run("token", "whoami", token=operator).exit_code == 3
    states = json.loads(served.on_store("list", "--json").stdout)["items"]
    assert {token["name"]: token["valid"] for token in states} == {"ann": True, "pipeline": False}
    for answer in (
        served.on_store("list", "--limit", "1"),
        served.run("token", "list", "--limit", "1", token=admin),
    ):
        assert "Tokens, and there are more: --limit" in answer.stdout
    entries = json.loads(served.run("audit", "--json").stdout)["items"]
    done = [(entry["action"], entry["who"]) for entry in entries if entry["outcome"] == "done"]
    assert done[0] == ("tokens.revoke", "ann")
    assert entries[-1]["who"].endswith("(on the store)")


def test_a_user_without_a_name_as_in_a_container_may_work_on_the_store(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr(getpass, "getuser", nameless)
    made = served.on_store("create", "ann", "--role", "admin", "--json")
    assert json.loads(made.stdout)["created_by"] == "on the store"


def test_on_its_own_machine_nothing_has_to_be_typed(served: Served, order: str) -> None:
    assert served.run("cancel", order, local=False).exit_code == 3
    stopped = served.run("cancel", order, "--json")
    assert json.loads(stopped.stdout)["status"] == "CANCELLED"
    entry = json.loads(served.run("audit", "--export", "--action", "redrives.cancel").stdout.splitlines()[0])
    assert (entry["outcome"], entry["token"], entry["subject"]) == ("done", "local", order)
    assert "redrives.cancel" in served.run("audit").stdout


def test_a_token_that_nobody_named_and_the_service_refuses_is_named_with_what_to_do(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "api")  # the api is in this process: its log would be the command's
    monkeypatch.chdir(tmp_path)
    api_command.TOKEN_FILE.parent.mkdir()
    local_token.make(api_command.TOKEN_FILE)
    refused = served.run("jobs", local=False)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (3, "", 1)
    assert "it was found in deadwatch-data/token, which may be of another service" in refused.stderr
    assert "say --token-file DIR/token with the --data DIR of this one" in refused.stderr
    assert served.run("jobs", "--token-file", "/dev/null", local=False).exit_code == 0
    assert "was found in" not in served.run("jobs", "--token", "dw_0", local=False).stderr


def test_an_export_breaks_no_entry_at_a_separator_that_json_allows(served: Served, store: Engine) -> None:
    why = "one\u2028two\u2029three\u0085four\x7ffive"
    with store.begin() as connection:
        audit.write(connection, audit.Entry(at_ms=clock_ms(), who="ann", action="redrives.pause", why=why))
    (line,) = served.run("audit", "--export", "--action", "redrives.pause").stdout.rstrip("\n").split("\n")
    assert json.loads(line)["why"] == why


def test_an_order_is_followed_and_its_end_is_the_exit_code(
    served: Served, order: str, store: Engine, add_row: Callable[..., None]
) -> None:
    counted_ms = clock_ms() + 2 * COUNTING_MS
    add_row(schema.sources, name=STREAMING, kind=STREAMING, heartbeat_ms=counted_ms)
    claims = OrderClaims(store)
    claim = claims.claim("w", 0, 60_000)
    assert claim is not None
    claims.settle(claim, Status.FAILED, "orders-3 made no progress", clock_ms())
    failed = served.run("jobs", order, "--follow", "--json")
    assert (failed.exit_code, json.loads(failed.stdout)["status"]) == (1, "FAILED")
    shown = served.run("jobs", order, "--follow")
    assert "orders-3 made no progress" in shown.stdout


def test_the_local_token_is_its_owner_s_and_goes_to_no_other_machine(tmp_path: Path) -> None:
    file = tmp_path / "token"
    local_token.make(file)
    first = file.read_text()
    local_token.make(file)
    assert file.read_text() != first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
    assert local_token.find(file, "http://[::1]:8000") == file.read_text().strip()
    for url in (
        "https://deadwatch.example",
        "http://127.0.0.1.evil.example",
        "http://192.0.2.1",
        "rubbish",
        "http://[::1",
    ):
        assert not local_token.find(file, url)
    with pytest.raises(SettingsError, match="--data"):
        local_token.make(tmp_path / "none" / "token")


WRONG = (
    ("token create 'a\nb' --role viewer --on-store", 2, "NAME is one line"),
    ("token create a --role root", 2, "--role"),
    ("jobs --url http://127.0.0.1:1", 4, "is `deadwatch up` running?"),
    ("jobs --token 'a\nb'", 2, "was it copied whole?"),
    ("topics --token-file /nowhere", 2, "cannot read the token in /nowhere: No such file or directory"),
    ("token create a --role viewer --days 5 --never-expires", 2, "say --days or --never-expires, not both"),
    ("groups --json --output yaml", 2, "say --json or --output, not both"),
    ("groups --json --output table", 2, "say --json or --output, not both"),
    ("groups --order size", 2, "waiting"),
    ("groups --shelf attic", 2, "'--shelf': 'attic' is not one of 'active', 'archived', 'all'; see"),
    ("jobs ff", 1, "no redrive has the id 'ff'"),
    ("jobs nobody", 2, "order: this takes 1 to 36 characters of 0-9a-f-"),
    ("audit --from noon", 2, "from: a time is written as 2026-11-21T12:00:00Z"),
    ("redrive dlq.t --all --reason x --set limits.speed=1", 2, "limits.speed: no field or parameter has"),
    ("redrive dlq.t --all --reason x --engine warp", 2, "--engine takes local or spark, not 'warp'"),
    ("jobs --token dw_0", 3, "this is no token"),
    (
        "token list --on-store --data /nowhere",
        1,
        "sqlite:////nowhere/deadwatch.db: there is no store at store_url that can be opened yet: streaming",
    ),
)


def test_what_is_refused_is_one_line_and_an_exit_code(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "api")  # the api is in this process: its log would be the command's
    for command, code, complaint in WRONG:
        answer = served.run(*shlex.split(command))
        assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (code, "", 1), command
        assert complaint in answer.stderr
    assert not Path("/nowhere").exists()


@pytest.mark.parametrize(
    "command",
    ["topics", "groups", "show", "redrive", "jobs", "cancel", "pause", "resume", "audit", "token create"],
)
def test_help_shows_an_example_and_the_exit_codes(command: str) -> None:
    page = CliRunner().invoke(app, [*command.split(), "--help"]).stdout
    assert f"deadwatch {command} " in page.split("Options:")[0].replace("Usage: ", "", 1)
    assert "Exit codes: 0 done" in page


def test_a_shell_is_offered_the_ids_there_are(
    served: Served, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_command, "COMPLETION_TIMEOUT_S", 60)  # a busy machine takes longer
    environment = {
        "_DEADWATCH_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": "deadwatch cancel ",
        "DEADWATCH_URL": served.url,
        "DEADWATCH_TOKEN_FILE": "",  # unset, as for the commands
    }
    offered = CliRunner().invoke(app, [], prog_name="deadwatch", env=environment).stdout
    assert f'"{order}":"RUNNING dlq.t"' in offered
    nothing = CliRunner().invoke(
        app, [], prog_name="deadwatch", env={**environment, "DEADWATCH_URL": "http://[::1"}
    )
    assert (nothing.stdout.strip(), nothing.stderr, nothing.exception) == ("_files", "", None)


def test_texts_of_others_move_no_cursor(served: Served, store: Engine) -> None:
    why = "a\r\nb\u202ec"
    entry = audit.Entry(at_ms=clock_ms(), who="\x1b[2Jeve", action="redrives.cancel", why=why)
    with store.begin() as connection:
        audit.write(connection, entry)
    printed = served.run("audit").stdout
    assert "\x1b" not in printed
    assert r"\x1b[2Jeve" in printed
    assert r"a\r\nb\u202ec" in printed
