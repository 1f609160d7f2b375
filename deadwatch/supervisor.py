"""Keeps child processes running until it is told to stop; none of them outlives it.

Every child leads a session of its own, so a Ctrl-C at the terminal reaches the supervisor alone. To stop, all
children are told first (SIGTERM) and then waited for within one total limit, not one each; what still runs is
killed with its process group and named at ERROR. Asking a second time kills at once.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO

from deadwatch.restarts import Policy, Restart, StopAll, describe, next_step
from deadwatch.stop_switch import StopSwitch

POLL_S = 0.05

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Program:
    """A module to run as a process; ``output`` is the file its lines go to, None: our own stderr."""

    name: str
    arguments: tuple[str, ...] = ()
    output: Path | None = None

    def command(self, graceful_ms: int) -> list[str]:
        """The command line of the child."""
        launcher = [sys.executable, "-m", "deadwatch.child", f"{graceful_ms / 1_000}"]
        return [*launcher, self.name, *self.arguments]


@dataclass(slots=True)
class _Child:
    """A program's process, or the moment at which it is due."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_ms: int = 0
    due_ms: int = 0
    failures: int = 0


def monotonic_ms() -> int:
    """Milliseconds of a clock that never jumps."""
    return time.monotonic_ns() // 1_000_000


@dataclass(slots=True)
class Supervisor:
    """Runs programs until the switch is pressed; pressed again, the graceful stop is cut short."""

    programs: Sequence[Program]
    policy: Policy = field(default_factory=Policy)
    graceful_ms: int = 20_000
    switch: StopSwitch = field(default_factory=StopSwitch)
    rng: Random = field(default_factory=Random)
    clock_ms: Callable[[], int] = monotonic_ms

    def run(self) -> int:
        """Start everything, keep it running, stop it; the exit code of the whole."""
        children = [_Child(program) for program in self.programs]
        exit_code = 0
        try:
            while not self.switch.stop and exit_code == 0:
                exit_code = max(self._tend(child) for child in children)
                time.sleep(POLL_S)
        finally:
            self._end(children)
        return exit_code

    def _tend(self, child: _Child) -> int:
        """Start the child when it is due, see to its end when it has ended; other than 0 stops everything."""
        if child.process is None:
            if self.clock_ms() >= child.due_ms:
                self._start(child)
            return 0
        exit_code = child.process.poll()
        return 0 if exit_code is None else self._ended(child, exit_code)

    def _start(self, child: _Child) -> None:
        command = child.program.command(self.graceful_ms)
        with _opened(child.program.output) as output:
            child.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
            )
        child.started_ms = self.clock_ms()

    def _ended(self, child: _Child, exit_code: int) -> int:
        _release(child)
        step = next_step(
            exit_code,
            stopping=self.switch.stop,
            failures=child.failures,
            ran_ms=self.clock_ms() - child.started_ms,
            policy=self.policy,
            rng=self.rng,
        )
        log.warning("%s", describe(child.program.name, exit_code, step))
        if isinstance(step, Restart):
            child.failures, child.due_ms = step.failures, self.clock_ms() + step.delay_ms
        return step.exit_code if isinstance(step, StopAll) else 0

    def _end(self, children: Sequence[_Child]) -> None:
        """Tell all, then wait for each within what is left of the one limit."""
        running = [(child, child.process) for child in children if child.process is not None]
        for _, process in running:
            process.terminate()
        deadline_ms = self.clock_ms() + self.graceful_ms
        for child, process in running:
            while process.poll() is None and self.clock_ms() < deadline_ms and not self.switch.kill:
                time.sleep(POLL_S)
            if process.poll() is None:
                log.error("Graceful stop of %s failed.", child.program.name)
            _release(child)


def _opened(output: Path | None) -> IO[bytes]:
    """Where the child writes; a duplicate of our stderr or the end of its file."""
    return os.fdopen(os.dup(2), "wb") if output is None else output.open("ab")


def _release(child: _Child) -> None:
    """Let go of a process and of whatever it left in its group: nothing of it may go on."""
    if child.process is None:
        return
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()
    if child.process.stdin is not None:
        child.process.stdin.close()
    child.process = None
