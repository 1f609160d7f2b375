"""A process with all that it has started, while some of these end by themselves as Spark's workers do."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

from tests.waiting import until

ENDS_WITHIN_S: Final = 60


@contextmanager
def frozen(root: psutil.Process) -> Iterator[None]:
    """Inside, ``root`` and its descendants stand still (SIGSTOP).

    Whoever stands still starts nobody, so the search is over when it finds nobody new and all that were found
    have obeyed: a process that waits for a core stops when it gets one.

    Raises:
        psutil.NoSuchProcess: ``root`` itself is gone.
    """
    stopped = [root]
    try:
        root.suspend()
        until(lambda: not _stop_more(stopped), lambda: f"some run on: {stopped}")
        yield
    finally:
        for one in reversed(stopped):
            with suppress(psutil.NoSuchProcess):
                one.resume()


def _stop_more(stopped: list[psutil.Process]) -> bool:
    """Stop those who are new; whether there were such, or some that have not obeyed yet."""
    new = [one for one in stopped[0].children(recursive=True) if one not in stopped]
    for one in new:
        stopped.append(one)
        with suppress(psutil.NoSuchProcess):
            one.suspend()
    return bool(new) or any(map(_runs, stopped))


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_RUNNING)
    except psutil.NoSuchProcess:
        return False


def lives(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill(process: subprocess.Popen[bytes]) -> None:
    """A process and its descendants, at once (SIGKILL); returns when they are gone."""
    descendants: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        descendants = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(ENDS_WITHIN_S)
    for one in descendants:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(descendants, ENDS_WITHIN_S)
