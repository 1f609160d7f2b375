"""The life of the lab's processes, tried with ``sleep`` in place of Kafka."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.processes import LabError, PortTakenError, Processes
from lab.watchdog import living

SLEEP = ["sleep", "60"]
WITHIN_S = 10.0


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
    assert not psutil.pid_exists(started.popen.pid)
    assert not directory.exists()


FAILING: dict[str, tuple[list[str], float, type[LabError], str]] = {
    "it ends": (
        ["sh", "-c", "echo no disk; exit 3"],
        WITHIN_S,
        LabError,
        r"^broker: the process ended with status 3\n.*b\.out.*\n  \| no disk$",
    ),
    "its port is taken": (
        ["sh", "-c", "echo Address already in use; exit 1"],
        WITHIN_S,
        PortTakenError,
        "broker found its port taken",
    ),
    "it keeps silent": (SLEEP, 0.2, LabError, "broker: waited 0 s in vain: no answer"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_process_that_does_not_come_up_says_why(name: str, processes: Processes, directory: Path) -> None:
    command, within_s, error, message = FAILING[name]
    process = processes.start("broker", command, directory, directory / "b.log")
    with pytest.raises(error, match=message):
        process.until(lambda: False, "no answer", within_s)


def test_a_command_that_fails_is_an_error(processes: Processes, directory: Path) -> None:
    processes.run("format", ["true"], directory)
    with pytest.raises(LabError, match="format ended with status 1"):
        processes.run("format", ["false"], directory)


def test_a_process_that_was_ended_is_not_there_any_more(processes: Processes, directory: Path) -> None:
    started = processes.start("streams", SLEEP, directory, directory / "s.log")
    started.popen.send_signal(signal.SIGSTOP)
    processes.end(started)
    assert not psutil.pid_exists(started.popen.pid)


def test_the_watchdog_forgets_what_has_ended() -> None:
    assert living(["7\n", "8\n", "-7\n", "9\n", "7\n", "-9\n"]) == {7, 8}
