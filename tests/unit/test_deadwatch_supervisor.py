"""The supervisor with real processes: tiny modules that behave as badly as ours could."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from collector.contract.backoff import Backoff
from deadwatch.restarts import Policy
from deadwatch.stop_switch import StopSwitch
from deadwatch.supervisor import Program, Supervisor
from tests.waiting import until

QUICK = Policy(Backoff(initial_ms=10, max_ms=50), settled_ms=60_000)
WITHIN_S = 20

OBEDIENT = """
import os, signal, sys, threading
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
print("started", os.getpid(), *sys.argv[1:], flush=True)
stop.wait()
print("stopped", flush=True)
"""
DEAF = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", os.getpid(), grandchild.pid, flush=True)
signal.pause()
signal.pause()
"""
REFUSING = "import sys; sys.exit(2)"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"obedient": OBEDIENT, "deaf": DEAF, "refusing": REFUSING}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    return tmp_path


def program(modules: Path, name: str, *arguments: str) -> Program:
    return Program(name, arguments, modules / f"{name}.log")


def words(modules: Path, name: str) -> list[list[str]]:
    log = modules / f"{name}.log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


@contextmanager
def running(supervisor: Supervisor) -> Iterator[None]:
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    try:
        yield
    finally:
        supervisor.switch.press()
        thread.join()


def test_a_killed_child_is_restarted_and_it_is_said(modules: Path, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor([program(modules, "obedient", "--config", "file")], policy=QUICK)

    with running(supervisor):
        until(lambda: len(words(modules, "obedient")) == 1)
        os.kill(int(words(modules, "obedient")[0][1]), signal.SIGKILL)
        until(lambda: len(words(modules, "obedient")) == 2)

    first, second, last = words(modules, "obedient")
    assert first[2:] == second[2:] == ["--config", "file"]
    assert last == ["stopped"]
    assert "obedient ended with exit code -9 (killed by signal 9), restarting in" in caplog.text


def test_what_a_killed_child_left_behind_is_gone_before_the_next_one(modules: Path) -> None:
    supervisor = Supervisor([program(modules, "deaf")], policy=QUICK, graceful_ms=100)

    with running(supervisor):
        until(lambda: len(words(modules, "deaf")) == 1)
        _, pid, grandchild = words(modules, "deaf")[0]
        os.kill(int(pid), signal.SIGKILL)
        until(lambda: len(words(modules, "deaf")) == 2)
        until(lambda: not _runs(int(grandchild)))


def test_a_deaf_child_is_killed_after_one_limit_for_all_and_named(
    modules: Path, caplog: pytest.LogCaptureFixture
) -> None:
    programs = [program(modules, "deaf"), program(modules, "obedient")]
    supervisor = Supervisor(programs, policy=QUICK, graceful_ms=500)

    with running(supervisor):
        until(lambda: bool(words(modules, "deaf") and words(modules, "obedient")))

    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["Graceful stop of deaf failed."]
    assert words(modules, "obedient")[-1] == ["stopped"]
    until(lambda: not any(_runs(int(pid)) for pid in words(modules, "deaf")[0][1:]))


def test_asking_twice_does_not_wait_for_the_limit(modules: Path) -> None:
    supervisor = Supervisor([program(modules, "deaf")], policy=QUICK, graceful_ms=WITHIN_S * 10_000)

    with running(supervisor):
        until(lambda: bool(words(modules, "deaf")))
        supervisor.switch.press()
        began_s = time.monotonic()

    assert time.monotonic() - began_s < WITHIN_S


def test_refused_settings_stop_the_others_too(modules: Path) -> None:
    supervisor = Supervisor([program(modules, "obedient"), program(modules, "refusing")], policy=QUICK)

    assert supervisor.run() == 2
    assert supervisor.switch == StopSwitch(requests=0)


def test_children_end_with_a_supervisor_that_was_killed(modules: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from deadwatch.supervisor import Program, Supervisor\n"
        f"Supervisor([Program(n, (), Path({str(modules)!r}, n + '.log')) for n in ('obedient', 'deaf')],"
        " graceful_ms=300).run()"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as supervisor:
        until(lambda: bool(words(modules, "deaf") and words(modules, "obedient")))
        supervisor.kill()

    until(lambda: words(modules, "obedient")[-1] == ["stopped"])
    pids = [words(modules, "obedient")[0][1], *words(modules, "deaf")[0][1:]]
    until(lambda: not any(_runs(int(pid)) for pid in pids))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
