"""The supervisor with real processes: tiny modules that behave as badly as ours could."""

import itertools
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cli.supervisor import Policy, Program, Step, Supervisor, next_step, running
from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.clock import monotonic_ms
from tests.families import lives
from tests.waiting import until

QUICK = Policy(Backoff(initial_ms=10, max_ms=50), settled_ms=60_000)
LIMIT_MS = 60_000

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
STARTING = """
import signal, subprocess, sys
subprocess.run([sys.executable, "-m", "started"], check=True)
signal.pause()
"""
REFUSING = "import sys; sys.exit(2)"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"obedient": OBEDIENT, "deaf": DEAF, "refusing": REFUSING}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    return tmp_path


def ended(child: int) -> bool:
    """Whether a supervisor that looks now sees the child's end: one with threads is a zombie before that."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # it has looked
        return True


def program(modules: Path, name: str, *arguments: str) -> Program:
    return Program(name, arguments, modules / f"{name}.log")


def words(modules: Path, name: str) -> list[list[str]]:
    log = modules / f"{name}.log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


EXACT = Policy(Backoff(initial_ms=100, max_ms=1_000, jitter=0.0), settled_ms=30_000)


def again(exit_code: str, delay_ms: int, failures: int) -> Step:
    text = f"ended with exit code {exit_code}, restarting in {delay_ms} ms (failure {failures})"
    return Step(text, delay_ms, failures)


ENDED = Step("stopped")
REFUSED = Step("ended with exit code 2: no restart fixes what it tells, stopping everything", exit_code=2)
STEPS: dict[str, tuple[Step, dict[str, int]]] = {
    "the first failure waits the initial delay": (again("1", 100, 1), {}),
    "the second failure in a row waits twice as long": (again("1", 200, 2), {"failures": 1}),
    "the delay stops growing at the maximum": (again("1", 1_000, 9), {"failures": 8}),
    "one millisecond short of settled still counts": (again("1", 200, 2), {"failures": 1, "ran_ms": 29_999}),
    "a child that had settled begins at one again": (again("1", 100, 1), {"failures": 8, "ran_ms": 30_000}),
    "an end nobody asked for is a failure, exit code 0 too": (again("0", 100, 1), {"exit_code": 0}),
    "a killed child is restarted": (again("-9 (killed by signal 9)", 100, 1), {"exit_code": -9}),
    "refused settings stop everything": (REFUSED, {"exit_code": 2}),
    "refused settings stop everything, however long it ran": (REFUSED, {"exit_code": 2, "ran_ms": 99_999}),
    "a child that was asked to stop has ended": (ENDED, {"exit_code": 0, "stopping": True}),
    "a child that fails while stopping has ended": (ENDED, {"stopping": True}),
    "exit code 2 while stopping refuses nothing": (ENDED, {"exit_code": 2, "stopping": True}),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_follows_an_exit(name: str) -> None:
    step, given = STEPS[name]
    usual: dict[str, Any] = {"exit_code": 1, "stopping": False, "failures": 0, "ran_ms": 500}
    assert next_step(**{**usual, **given}, policy=EXACT, rng=Random(0)) == step


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
        until(lambda: not lives(int(grandchild)))


def test_a_deaf_child_is_killed_after_one_limit_for_all_and_named(
    modules: Path, caplog: pytest.LogCaptureFixture
) -> None:
    programs, looks = [program(modules, "deaf"), program(modules, "obedient")], itertools.count()

    def clock_ms() -> int:
        """Passes a limit at every look, as soon as the obedient one has ended."""
        began = words(modules, "obedient")
        return monotonic_ms() + (LIMIT_MS * next(looks) if began and ended(int(began[0][1])) else 0)

    supervisor = Supervisor(programs, policy=QUICK, graceful_ms=LIMIT_MS, clock_ms=clock_ms)
    with running(supervisor):
        until(lambda: bool(words(modules, "deaf") and words(modules, "obedient")))
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["Graceful stop of deaf failed."]
    assert words(modules, "obedient")[-1] == ["stopped"]
    until(lambda: not any(lives(int(pid)) for pid in words(modules, "deaf")[0][1:]))


def test_asking_twice_does_not_wait_for_the_limit(modules: Path) -> None:
    supervisor = Supervisor([program(modules, "deaf")], policy=QUICK, clock_ms=lambda: 0)
    with running(supervisor):
        until(lambda: bool(words(modules, "deaf")))
        supervisor.stop()
        supervisor.stop()
        until(
            lambda: not lives(int(words(modules, "deaf")[0][1])),
            "the limit never comes: it is killed at once",
        )


def test_refused_settings_stop_the_others_too(modules: Path) -> None:
    supervisor = Supervisor([program(modules, "obedient"), program(modules, "refusing")], policy=QUICK)
    assert supervisor.run() == 2
    assert supervisor.requests == 0


def test_a_child_that_cannot_be_started_is_tried_again_and_the_others_run_on(
    modules: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = modules / "not there yet"
    later = Program("obedient", ("later",), place / "later.log")
    with running(Supervisor([program(modules, "obedient"), later], policy=QUICK)) as alive:
        until(lambda: "could not be started (No such file or directory), restarting in" in caplog.text)
        until(lambda: "(failure 2)" in caplog.text and bool(words(modules, "obedient")))
        place.mkdir()
        until(lambda: bool(words(place, "later")))
        assert alive()
    assert words(modules, "obedient")[1:] == words(place, "later")[1:] == [["stopped"]]


def test_no_child_imports_what_lies_in_the_working_directory(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = modules / "theirs"
    for name in ("cli", "starting", "started"):
        (theirs / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (theirs / name / file).write_text("print('theirs', flush=True)")
    (modules / "starting.py").write_text(STARTING)
    (modules / "started.py").write_text("print('ours', flush=True)")
    monkeypatch.chdir(theirs)
    with running(Supervisor([program(modules, "starting")], policy=QUICK)):
        until(lambda: bool(words(modules, "starting")))
    assert words(modules, "starting") == [["ours"]]


SUPERVISED = """
import sys
from pathlib import Path
from cli.supervisor import Program, Supervisor
supervisor = Supervisor([Program("obedient", (), Path(sys.argv[1]))])
supervisor.stop_on_signals()
sys.exit(supervisor.run())
"""


def supervised(modules: Path, *, ignored: bool) -> "subprocess.Popen[bytes]":
    """A supervisor in a process of its own, where SIGHUP may be ignored as under nohup."""
    log = modules / "obedient.log"
    beforehand = "trap '' HUP; " if ignored else ""
    command = ["/bin/sh", "-c", f'{beforehand}exec "$@"', "sh"]
    started = subprocess.Popen([*command, sys.executable, "-c", SUPERVISED, log])
    until(lambda: bool(words(modules, "obedient")))
    return started


def test_a_terminal_that_is_closed_asks_to_stop_and_does_not_kill(modules: Path) -> None:
    with supervised(modules, ignored=False) as supervisor:
        supervisor.send_signal(signal.SIGHUP)
        supervisor.send_signal(signal.SIGHUP)
        assert supervisor.wait(LIMIT_MS / 1_000) == 0
    assert words(modules, "obedient")[1:] == [["stopped"]]


def test_a_terminal_that_is_closed_stops_nothing_that_was_started_by_nohup(modules: Path) -> None:
    with supervised(modules, ignored=True) as supervisor:
        supervisor.send_signal(signal.SIGHUP)
        os.kill(int(words(modules, "obedient")[0][1]), signal.SIGKILL)
        until(lambda: len(words(modules, "obedient")) == 2)
        supervisor.terminate()
        assert supervisor.wait(LIMIT_MS / 1_000) == 0


def test_children_end_with_a_supervisor_that_was_killed(modules: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from cli.supervisor import Program, Supervisor\n"
        f"Supervisor([Program(n, (), Path({str(modules)!r}, n + '.log')) for n in ('obedient', 'deaf')],"
        " graceful_ms=2_000).run()"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as supervisor:
        until(lambda: bool(words(modules, "deaf") and words(modules, "obedient")))
        supervisor.kill()
    until(lambda: words(modules, "obedient")[-1] == ["stopped"])
    pids = [words(modules, "obedient")[0][1], *words(modules, "deaf")[0][1:]]
    until(lambda: not any(lives(int(pid)) for pid in pids))
