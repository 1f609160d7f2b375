"""``make test``: every test of the gate once; what failed, once more and alone; then, what was left over.

    python -m tests.gate [arguments of pytest]

A test that fails and then passes is unstable: it is listed with the text of its first failure. Up to
``MOST_UNSTABLE`` failures are green, more are red. A set-up that tests share fails once, however many tests
wait for it. The run ends after ``LIMIT_S`` and names the tests that were running. Everything runs in a
temporary directory of its own: what tests leave there, in shared memory or as processes is named at the end,
and the processes are ended.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.paths import COUNTED

MOST_UNSTABLE: Final = 3
LIMIT_S: Final = float(os.environ.get("DEADWATCH_GATE_LIMIT_S", "1800"))
VARIABLE: Final = "DEADWATCH_GATE"
"""Names the run's directory in the environment of all that it starts: so its processes are known by it."""
OF_PYTEST: Final = "pytest-of-"
"""Where pytest keeps the directories of the last tests, to be looked at; they go with the run."""
SHARED_MEMORY: Final = Path("/dev/shm")
TERMINAL: Final = os.dup(1)
ALONE: Final = ("-p", "no:schemathesis", "-p", "no:cacheprovider", "-p", "tests.traced")


def say(text: str) -> None:
    """Write to the terminal, also while pytest captures what is written."""
    os.write(TERMINAL, text.encode())


class Recorder:
    """A plugin of pytest that knows which tests run, what they took, and what the failed ones have said."""

    def __init__(self) -> None:
        self.running: dict[str, None] = {}
        self.failures: dict[str, str] = {}
        self.causes: set[str] = set()
        self.tests: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self.running[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test has ended."""
        self.running.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test has ended: its set-up, itself, or its tear-down."""
        layer = "/".join(report.nodeid.split("/")[:2])
        self.seconds[layer] += report.duration
        self.tests[layer] += report.when == "call"
        if report.failed:
            self.failures.setdefault(report.nodeid, report.longreprtext)
            self.causes.add(cause(report))


def cause(report: pytest.TestReport) -> str:
    """What failed: the test, or what its module shares.

    pytest keeps the error of a shared fixture and raises it again in each test that asks for it.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.when != "setup" or crash is None:
        return report.nodeid
    return f"{report.nodeid.split('::')[0]}: {crash}"


def main(arguments: Sequence[str]) -> int:
    """Run the gate; the exit code is pytest's, 0 where nothing failed but what is unstable."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored
    memory = shared_memory()
    room = Path(tempfile.mkdtemp(prefix="deadwatch-"))
    room.chmod(0o711)  # PostgreSQL, whom root starts as another user, passes through it
    os.environ |= {"TMPDIR": str(room), VARIABLE: str(room)}
    tempfile.tempdir = None  # it is asked for anew
    recorder = Recorder()
    code = within_limit(arguments, recorder)
    for layer, seconds in recorder.seconds.items():
        say(f"{layer}: {recorder.tests[layer]} tests, {seconds:.0f} s\n")
    if code == pytest.ExitCode.TESTS_FAILED:
        code = again(recorder.failures, len(recorder.causes))
    left = [*left_files(room), *sorted(shared_memory() - memory), *end_processes(room)]
    if left:
        say("".join(("left over:\n", *(f"  {line}\n" for line in left))))
    if code == pytest.ExitCode.OK:
        shutil.rmtree(room, ignore_errors=True)
    else:
        say(f"what the tests wrote is in {room}\n")
    return code


def within_limit(arguments: Sequence[str], recorder: Recorder) -> int:
    """Run pytest, and interrupt it when the time is up."""

    def end() -> None:
        names = "".join(f"  {name}\n" for name in recorder.running)
        say(f"\nthe gate ends after {LIMIT_S:.0f} s, in the middle of:\n{names}")
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(LIMIT_S, end)
    timer.daemon = True
    timer.start()
    try:
        return int(pytest.main([*arguments], plugins=[recorder]))
    finally:
        timer.cancel()


def again(failures: dict[str, str], causes: int) -> int:
    """Run once more, alone, what failed; 0 where all of it passes and is not too much."""
    count = len(failures)
    if causes > MOST_UNSTABLE:
        say(f"{causes} failures of {count} tests: too many to be called unstable, none is run again\n")
        return int(pytest.ExitCode.TESTS_FAILED)
    say(f"{count} failed: once more, alone\n")
    command = [sys.executable, "-m", "pytest", *ALONE, *failures]
    code = subprocess.run(command, check=False).returncode
    if code == pytest.ExitCode.OK:
        say(f"unstable: {count} passed alone that had failed\n")
        first = {text: name for name, text in reversed(failures.items())}
        for text, name in reversed(first.items()):
            say(f"unstable: {name}\n{text}\n")
        say("".join(f"unstable: {name}\n" for name in failures))
    return code


def left_files(room: Path) -> Iterator[str]:
    """What is left in the temporary directory."""
    for path in sorted(room.iterdir()):
        if path.name != COUNTED and not path.name.startswith(OF_PYTEST):
            yield str(path)


def shared_memory() -> set[str]:
    """Names of shared memory."""
    return {str(path) for path in SHARED_MEMORY.iterdir()} if SHARED_MEMORY.is_dir() else set()


def end_processes(room: Path) -> Iterator[str]:
    """Kill the processes that the run has started and that still run; a line for each."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == str(room):
                yield f"process {process.pid}: {' '.join(process.cmdline())[:200]}"
                process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
