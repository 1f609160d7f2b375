"""Keeps child processes running until it is asked to stop; none of them outlives it.

Every child leads a session of its own, so a Ctrl-C at the terminal reaches the supervisor alone. To stop, all
children get SIGTERM first and are then waited for within one total limit, not one each; what still runs is
killed with its process group and named at ERROR. Asking a second time kills at once; a terminal that is
closed asks once, however often it tells it (SIGHUP).

A child is expected to run until it is asked to stop; any other end is a failure, exit code 0 included. It is
answered with a restart after a delay that grows as KIP-580 says, and so is a start that the machine refuses
(no memory, too many processes). A child that had run for ``settled_ms`` begins again at the first failure.
Refused settings do not get better by trying: exit code 2 stops everything.

No child, and no Python that it starts, imports what lies in the working directory.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Thread
from typing import IO

from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.process import REFUSED, Interrupted, stop_signals

POLL_S = 0.05
IMPORTS_NOTHING_HERE = {"PYTHONSAFEPATH": "1"}
"""Unless told so, Python looks for modules in the working directory first, Spark's workers too."""
KILL = 2
"""So many requests to stop are one to kill."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """When a child that failed is restarted, and after how long its failures are forgotten."""

    backoff: Backoff = field(default_factory=lambda: Backoff(initial_ms=200, max_ms=10_000))
    settled_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Step:
    """What follows the end of a child, and the words that say so.

    After ``delay_ms`` it starts again, ``failures`` being those in a row; an ``exit_code`` stops everything.
    """

    text: str
    delay_ms: int = 0
    failures: int = 0
    exit_code: int = 0


def next_step(
    exit_code: int, *, stopping: bool, failures: int, ran_ms: int, policy: Policy, rng: Random
) -> Step:
    """Decide after an exit; ``failures`` are those before it. The first rule that applies wins."""
    if stopping:
        return Step("stopped")
    killed = f" (killed by signal {-exit_code})" if exit_code < 0 else ""  # as Python's subprocess counts
    ended = f"ended with exit code {exit_code}{killed}"
    if exit_code == REFUSED:
        return Step(f"{ended}: no restart fixes what it tells, stopping everything", exit_code=REFUSED)
    return _once_more(ended, 0 if ran_ms >= policy.settled_ms else failures, policy, rng)


def _once_more(what: str, failures: int, policy: Policy, rng: Random) -> Step:
    """A restart after what has happened; ``failures`` are those in a row before it."""
    failures += 1
    delay_ms = policy.backoff.delay_ms(failures, rng)
    return Step(f"{what}, restarting in {delay_ms} ms (failure {failures})", delay_ms, failures)


@dataclass(frozen=True, slots=True)
class Program:
    """A module to run as a process; ``output`` is the file its lines go to, None: our own stderr."""

    name: str
    arguments: tuple[str, ...] = ()
    output: Path | None = None


@dataclass(slots=True)
class _Child:
    """A program's process, or the moment at which it is due."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_ms: int = 0
    due_ms: int = 0
    failures: int = 0


@dataclass(slots=True)
class Supervisor:
    """Runs programs until it is asked to stop; asked again, it kills them."""

    programs: Sequence[Program]
    policy: Policy = field(default_factory=Policy)
    graceful_ms: int = 20_000
    rng: Random = field(default_factory=Random)
    clock_ms: Callable[[], int] = monotonic_ms
    requests: int = 0
    """How often it was asked to stop; unlike an Event, a signal handler may change it at any moment."""

    def stop(self) -> None:
        """Ask to stop; the second time: to kill at once instead of waiting."""
        self.requests += 1

    def stop_on_signals(self) -> None:
        """Let signals ask; call this from the main thread."""
        for number in stop_signals():
            signal.signal(number, self._asked)

    def _asked(self, number: int, _frame: object) -> None:
        if number != signal.SIGHUP or not self.requests:
            self.stop()

    def run(self) -> int:
        """Start everything, keep it running, stop it; the exit code of the whole."""
        children = [_Child(program) for program in self.programs]
        exit_code = 0
        try:
            while not self.requests and exit_code == 0:
                exit_code = max(self._look_after(child) for child in children)
                time.sleep(POLL_S)
        finally:
            self._end(children)
        return exit_code

    def _look_after(self, child: _Child) -> int:
        """Start the child when it is due, or decide what follows its end; other than 0 stops everything."""
        if child.process:
            exit_code = child.process.poll()
            return 0 if exit_code is None else self._ended(child, exit_code)
        if self.clock_ms() >= child.due_ms:
            try:
                self._start(child)
            except OSError as error:  # where the machine refuses, once more later: the others run on
                what = f"could not be started ({error.strerror})"
                self._wait(child, _once_more(what, child.failures, self.policy, self.rng))
        return 0

    def _start(self, child: _Child) -> None:
        program = child.program
        launcher = [sys.executable, "-m", "cli.child", f"{self.graceful_ms / 1_000}"]
        with _opened(program.output) as output:
            child.process = subprocess.Popen(
                [*launcher, program.name, *program.arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=os.environ | IMPORTS_NOTHING_HERE,
                start_new_session=True,
            )
        child.started_ms = self.clock_ms()

    def _ended(self, child: _Child, exit_code: int) -> int:
        _release(child)
        step = next_step(
            exit_code,
            stopping=self.requests > 0,
            failures=child.failures,
            ran_ms=self.clock_ms() - child.started_ms,
            policy=self.policy,
            rng=self.rng,
        )
        self._wait(child, step)
        return step.exit_code

    def _wait(self, child: _Child, step: Step) -> None:
        log.warning("%s %s", child.program.name, step.text)
        child.failures, child.due_ms = step.failures, self.clock_ms() + step.delay_ms

    def _end(self, children: Sequence[_Child]) -> None:
        """SIGTERM to all, then wait for each within what is left of the one limit."""
        running = [(child, child.process) for child in children if child.process is not None]
        for _, process in running:
            process.terminate()
        deadline_ms = self.clock_ms() + self.graceful_ms
        for child, process in running:
            while process.poll() is None and self.clock_ms() < deadline_ms and self.requests < KILL:
                time.sleep(POLL_S)
            if process.poll() is None:
                log.error("Graceful stop of %s failed.", child.program.name)
            _release(child)


def _opened(output: Path | None) -> IO[bytes]:
    """Where the child writes; a duplicate of our stderr or the end of its file."""
    return os.fdopen(os.dup(2), "wb") if output is None else output.open("ab")


def _release(child: _Child) -> None:
    """Kill what is left of a process and its group: nothing of it may go on."""
    if child.process is None:
        return
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()
    if child.process.stdin is not None:
        child.process.stdin.close()
    child.process = None


@contextmanager
def running(supervisor: Supervisor) -> Iterator[Callable[[], bool]]:
    """The supervisor in a thread; gives whether it still runs. A second Ctrl-C kills the processes."""
    thread = Thread(target=supervisor.run, name="supervisor")
    thread.start()
    try:
        yield thread.is_alive
    finally:
        supervisor.stop()
        try:
            thread.join()
        except Interrupted:
            supervisor.stop()
            thread.join()
