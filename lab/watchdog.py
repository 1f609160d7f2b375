"""Ends what the lab leaves behind. Run as a script, in a session of its own, fed through standard input.

Every process of the lab writes its own pid, a line, before it becomes what it is meant to be; a line
``-<pid>`` says that one has ended and been waited for. At end of file, however the owner ended, every process
group still listed is killed (SIGKILL: a stopped process dies of nothing else) and the directory given as
argument is removed.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_REMOVE_ATTEMPTS = 100
_WAIT_BETWEEN_S = 0.1


def living(lines: Iterable[str]) -> set[int]:
    """The pids that were announced and not taken back."""
    pids: set[int] = set()
    for line in lines:
        number = int(line)
        if number > 0:
            pids.add(number)
        else:
            pids.discard(-number)
    return pids


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        return


def _remove(directory: Path) -> None:
    for _ in range(_REMOVE_ATTEMPTS):  # a process that was just killed may be in the middle of a write
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(_WAIT_BETWEEN_S)


def main() -> None:
    """Wait for the end of the owner, then clean up."""
    for pid in living(sys.stdin):
        _kill_group(pid)
    _remove(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
