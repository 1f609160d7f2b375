"""Fault tests: their size is a setting, and at the end a table says what was done and what was lost."""

import os
from collections.abc import Iterator

import pytest

from lab.lone_broker import LoneBroker
from tests.chaos.account import ACCOUNTS, Account

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "5"))


@pytest.fixture
def kills() -> int:
    """How often a process is killed."""
    return KILLS


@pytest.fixture
def broker() -> Iterator[LoneBroker]:
    with LoneBroker() as running:
        yield running


@pytest.fixture
def account(request: pytest.FixtureRequest) -> Account:
    """What this test has done and found."""
    return ACCOUNTS.setdefault(request.node.name, Account())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ACCOUNTS:
        terminalreporter.section("what was done, and what was lost")
        for name, account in ACCOUNTS.items():
            terminalreporter.write_line(f"{name}: {account.line()}")
