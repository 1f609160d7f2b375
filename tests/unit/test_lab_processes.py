"""The life of the lab's processes, tried with ``sleep`` in place of Kafka."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lab.errors import LabError, PortTakenError
from lab.processes import Processes
from lab.watchdog import living

SLEEP = ["sleep", "60"]
WITHIN_S = 10.0

OWNER = """
import sys, time
from pathlib import Path
from lab.processes import Processes
directory = Path(sys.argv[1])
processes = Processes(remove=directory)
for name in ("one", "two"):
    print(processes.start(name, ["sleep", "60"], directory, directory / f"{name}.log").pid, flush=True)
time.sleep(60)
"""


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + WITHIN_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "lab"
    made.mkdir()
    return made


@pytest.fixture
def processes(directory: Path) -> Iterator[Processes]:
    made = Processes(remove=directory)
    yield made
    made.close()


def test_closing_ends_what_was_started_and_removes_the_directory(directory: Path) -> None:
    processes = Processes(remove=directory)
    started = processes.start("one", SLEEP, directory, directory / "one.log")
    processes.close()
    assert not psutil.pid_exists(started.pid)
    assert not directory.exists()


def test_a_directory_that_is_to_be_kept_is_kept(directory: Path) -> None:
    Processes(remove=None).close()
    assert directory.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_an_owner_that_is_killed(number: signal.Signals, directory: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout is not None
        pids = [int(owner.stdout.readline()) for _ in range(2)]
        assert eventually(lambda: all(psutil.Process(pid).name() == "sleep" for pid in pids))
        os.kill(pids[0], signal.SIGSTOP)
        owner.send_signal(number)
    assert eventually(lambda: all(map(is_gone, pids)) and not directory.exists())


def test_a_failed_process_is_named_with_its_status_and_its_last_words(
    processes: Processes, directory: Path
) -> None:
    failing = processes.start("broker", ["sh", "-c", "echo no disk; exit 3"], directory, directory / "b.log")
    with pytest.raises(
        LabError, match=r"^broker: the process ended with status 3\n.*b\.out.*\n  \| no disk$"
    ):
        failing.until(lambda: False, "it did not start", WITHIN_S)


def test_a_process_that_found_its_port_taken_says_so(processes: Processes, directory: Path) -> None:
    command = ["sh", "-c", "echo Address already in use; exit 1"]
    failing = processes.start("broker", command, directory, directory / "b.log")
    with pytest.raises(PortTakenError, match="broker found its port taken"):
        failing.until(lambda: False, "it did not start", WITHIN_S)


def test_a_process_that_keeps_silent_is_waited_for_only_so_long(
    processes: Processes, directory: Path
) -> None:
    silent = processes.start("connect", SLEEP, directory, directory / "c.log")
    with pytest.raises(LabError, match="connect: waited 0 s in vain: no answer"):
        silent.until(lambda: False, "no answer", 0.2)


def test_a_command_that_fails_is_an_error(processes: Processes, directory: Path) -> None:
    processes.run("format", ["true"], directory)
    with pytest.raises(LabError, match="format ended with status 1"):
        processes.run("format", ["false"], directory)


def test_a_process_that_was_ended_is_not_there_any_more(processes: Processes, directory: Path) -> None:
    started = processes.start("streams", SLEEP, directory, directory / "s.log")
    started.signal(signal.SIGSTOP)
    processes.end(started)
    assert not psutil.pid_exists(started.pid)


def test_the_watchdog_forgets_what_has_ended() -> None:
    assert living(["7\n", "8\n", "-7\n", "9\n", "7\n", "-9\n"]) == {7, 8}
