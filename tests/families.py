"""A process with all that it has started, while some of these end by themselves as Spark's workers do."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

ENDS_WITHIN_S: Final = 60


@contextmanager
def frozen(root: psutil.Process) -> Iterator[None]:
    """Inside, ``root`` and its descendants stand still (SIGSTOP).

    Whoever stands still starts nobody, so the search is over when it finds nobody new.

    Raises:
        psutil.NoSuchProcess: ``root`` itself is gone.
    """
    stopped = [root]
    try:
        root.suspend()
        while new := [one for one in root.children(recursive=True) if one not in stopped]:
            for one in new:
                stopped.append(one)
                with suppress(psutil.NoSuchProcess):
                    one.suspend()
        yield
    finally:
        for one in reversed(stopped):
            with suppress(psutil.NoSuchProcess):
                one.resume()


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
