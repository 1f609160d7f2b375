"""Fault tests: their size is a setting, and at the end a table says what was done and what was lost.

docs/testing.md has the settings.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadwatch.store import upgrades
from deadwatch.store.engine import connect
from lab.broker import LoneBroker
from tests.chaos.account import ACCOUNTS, Account
from tests.chaos.processes import Victims
from tests.chaos.traffic import Traffic
from tests.postgres import Postgres

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "5"))
MINUTES = float(os.environ.get("DEADWATCH_CHAOS_MINUTES", "0.7"))


@pytest.fixture
def kills() -> int:
    """How often a process is killed."""
    return KILLS


@pytest.fixture
def lasts_s() -> float:
    """How long a test goes on that takes a time."""
    return MINUTES * 60


@pytest.fixture
def broker() -> Iterator[LoneBroker]:
    with LoneBroker() as running:
        yield running


@pytest.fixture
def traffic(broker: LoneBroker, tmp_path: Path, kills: int) -> Traffic:
    return Traffic(broker.bootstrap_servers, tmp_path / "app.log", kills)


@pytest.fixture
def sqlite(tmp_path: Path) -> tuple[str, Victims]:
    """Its process is the driver's: killing that kills it."""
    return f"sqlite:///{tmp_path / 'deadwatch.db'}", {}


@pytest.fixture
def postgresql(postgres_server: Postgres, postgres: str) -> tuple[str, Victims]:
    def crash() -> None:
        postgres_server.stop(signal.SIGQUIT)
        postgres_server.start()

    engine = connect(postgres)
    upgrades.upgrade(engine)
    engine.dispose()
    return postgres, {"store": crash}


@pytest.fixture
def account(request: pytest.FixtureRequest) -> Account:
    """What this test has done and found."""
    return ACCOUNTS.setdefault(request.node.name, Account())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ACCOUNTS:
        terminalreporter.section("what was done, and what was lost")
        for name, account in ACCOUNTS.items():
            terminalreporter.write_line(f"{name}: {account.line()}")
