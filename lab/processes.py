"""Starts the lab's processes and ends every one of them, whatever becomes of the owner.

A process announces itself to the watchdog before it turns into its program, so there is no moment at which it
runs unwatched; standard input is the line to the watchdog until then. Each lives in a session of its own, so
Ctrl-C reaches the owner alone.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab import watchdog

_ANNOUNCED: Final = 'echo $$ >&0; exec "$@" </dev/null'
_TAIL_LINES: Final = 15
_LOOK_EVERY_S: Final = 0.05
_PORT_TAKEN: Final = "Address already in use"


class LabError(Exception):
    """The lab could not start or an act did not happen; the message says what and where to look."""


class PortTakenError(LabError):
    """Another process was given a port between our choosing it and using it; other ports will do."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process, leader of its group; what it prints goes to ``output``, what it logs to ``log``."""

    name: str
    popen: subprocess.Popen[bytes]
    output: Path
    log: Path

    def until(self, condition: Callable[[], bool], what: str, within_s: float) -> None:
        """Wait for ``condition``; raises LabError when time is up or the process has ended."""
        try:
            until(lambda: self._alive() and condition(), what, within_s)
        except PortTakenError:
            raise
        except LabError as error:
            raise LabError(f"{self.name}: {error}\n{self.tail()}") from error

    def tail(self) -> str:
        """The last lines of its log, or of its output where it has logged nothing yet."""
        source = self.log if read(self.log) else self.output
        lines = read(source).splitlines()[-_TAIL_LINES:]
        return "\n".join([f"  the end of {source}:", *(f"  | {line}" for line in lines)])

    def _alive(self) -> bool:
        status = self.popen.poll()
        if status is None:
            return True
        if _PORT_TAKEN in read(self.log) + read(self.output):
            raise PortTakenError(f"{self.name} found its port taken\n{self.tail()}")
        raise LabError(f"the process ended with status {status}")


class Processes:
    """All processes of one lab and the watchdog that outlives the owner, and removes the lab's directory."""

    def __init__(self, remove: Path) -> None:
        self._started: list[Process] = []
        reading, writing = os.pipe()
        self._line = os.fdopen(writing, "wb", buffering=0)
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", watchdog.__file__, remove], stdin=reading, start_new_session=True
        )
        os.close(reading)

    def start(self, name: str, command: Sequence[str | Path], directory: Path, log: Path) -> Process:
        """Start ``command`` in ``directory``; it is watched from its first instant."""
        output = log.with_suffix(".out")
        with output.open("ab") as stream:
            popen = subprocess.Popen(
                ["/bin/sh", "-c", _ANNOUNCED, "sh", *command],
                stdin=self._line,
                stdout=stream,
                stderr=stream,
                cwd=directory,
                start_new_session=True,
            )
        process = Process(name, popen, output, log)
        self._started.append(process)
        return process

    def run(self, name: str, command: Sequence[str | Path], directory: Path) -> None:
        """Start ``command`` and wait for its end; raises LabError when it fails."""
        process = self.start(name, command, directory, directory / f"{name}.log")
        status = process.popen.wait()
        self._forget(process)
        if status:
            raise LabError(f"{name} ended with status {status}\n{process.tail()}")

    def end(self, process: Process) -> None:
        """Kill one process and wait for it."""
        process.popen.kill()
        process.popen.wait()
        self._forget(process)

    def close(self) -> None:
        """End everything; the watchdog kills and removes, the owner waits for its children."""
        self._line.close()
        self._watchdog.wait()
        for process in self._started:
            process.popen.wait()
        self._started = []

    def _forget(self, process: Process) -> None:
        self._started.remove(process)
        self._line.write(b"-%d\n" % process.popen.pid)


def read(file: Path) -> str:
    """The text of a log file; empty while it does not exist."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def until(condition: Callable[[], bool], what: str, within_s: float) -> None:
    """Return as soon as ``condition`` holds; raise LabError naming ``what`` when the time is up."""
    deadline_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise LabError(f"waited {within_s:.0f} s in vain: {what}")
        time.sleep(_LOOK_EVERY_S)
