"""What a process loads, and what it leaves alone because it has no use for it."""

import os
import sys
from pathlib import Path

import pytest

from deadwatch.store.store import Store
from tests.command_line import succeeded
from tests.paths import ROOT

SERVICE = {"alembic", "fastapi", "kafka", "numpy", "polars", "pyarrow", "pyspark", "sqlalchemy"}
ASKING = {"httpx2", "prometheus_client", "rich", "yaml"}
"""What only a command needs that asks the api or prints its answer."""


def loaded(program: str, *arguments: str, **variables: str) -> set[str]:
    """The modules in memory at the end of a program."""
    command = [sys.executable, "-c", f"import sys\n{program}\nprint('LOADED', *sys.modules)", *arguments]
    said = succeeded(*command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)} | variables)
    (names,) = [line.split()[1:] for line in said.splitlines() if line.startswith("LOADED ")]
    return set(names)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def test_what_stays_in_memory_with_the_service_loads_no_part_of_it() -> None:
    names = loaded("import cli.main, cli.commands.up")
    assert "typer" in names
    assert {"alembic", "kafka", "numpy", "polars", "pyarrow", "pyspark", "sqlalchemy"}.isdisjoint(names)


@pytest.mark.parametrize(
    ("arguments", "completed", "unused"),
    [
        ("--help", "", SERVICE | ASKING | {"pydantic"}),
        ("overview --help", "", SERVICE | ASKING),
        ("groups --url http://127.0.0.1:1", "", SERVICE),
        ("", "deadwatch gro", SERVICE | ASKING),
    ],
    ids=["help", "help of a command", "a command that asks the api", "a completion"],
)
def test_a_command_loads_only_what_it_needs(arguments: str, completed: str, unused: set[str]) -> None:
    program = "from cli.main import app\ntry: app(prog_name='deadwatch')\nexcept SystemExit: pass"
    completing = {"_DEADWATCH_COMPLETE": "complete_bash", "COMP_WORDS": completed, "COMP_CWORD": "1"}
    names = loaded(program, *arguments.split(), **(completing if completed else {}))
    assert "typer" in names
    assert unused.intersection(names) == set()


def test_services_load_no_alembic_for_a_store_of_today(url: str) -> None:
    Store(url).open().close()
    names = loaded(
        "import api.__main__, redrive.__main__, streaming.__main__\n"
        "from deadwatch.store.store import Store\n"
        "with Store(sys.argv[1]): pass",
        url,
    )
    assert "sqlalchemy" in names
    assert "alembic" not in names


@pytest.mark.parametrize("process", ["collector.service", "redrive.__main__"])
def test_without_an_endpoint_the_sdk_of_opentelemetry_is_not_loaded(process: str) -> None:
    names = loaded(f"import {process}")
    assert "opentelemetry" in names
    assert "opentelemetry.sdk" not in names
