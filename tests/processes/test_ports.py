"""Ports are free, differ, and are given out once."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ports import COUNTER, free_ports
from tests.paths import ROOT

ASKS = "from lab.ports import free_ports; print(*free_ports(50))"


def test_processes_that_ask_at_once_are_given_different_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COUNTER, str(tmp_path / "ports"))
    command = [sys.executable, "-c", ASKS]
    asking = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    given = [port for one in asking for port in one.communicate()[0].split()]
    assert len(set(given)) == len(given) == 150
    assert "10080" not in given, "a browser opens no page there"


def test_a_host_that_is_not_this_machine_is_refused_at_once() -> None:
    with pytest.raises(OSError, match="Cannot assign requested address"):
        free_ports(1, "192.0.2.1")


def test_without_a_counter_they_differ_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(COUNTER)
    assert len(set(free_ports(20))) == 20
