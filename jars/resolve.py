"""Make the jars, once: lock, Ivy (three attempts), manifest, rename.

Two calls at a time do not meet: the second waits for the first and finds everything there.
"""

import fcntl
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from jars import cache, ivy
from jars.cache import CONFS, Conf, JarsError
from jars.manifest import Manifest

_ATTEMPTS: Final = 3
_WAIT_BETWEEN_S: Final = 2


def _silent(line: str) -> None:
    """Show no progress."""


def resolve(progress: ivy.Progress = _silent, confs: Sequence[Conf] = CONFS) -> Path:
    """The directory with the jars of ``confs``; what is missing is downloaded, ``progress`` is told in short
    lines.
    """
    if not cache.is_complete(confs):
        home = cache.home()
        home.parent.mkdir(parents=True, exist_ok=True)
        with _locked(home.with_suffix(".lock"), progress) as lock:
            if not cache.is_complete(confs):
                _make(home, progress, lock, confs)
    return cache.home()


def discard() -> None:
    """Remove the jars that were made; what Ivy downloaded stays, so that making them again is quick."""
    shutil.rmtree(cache.home(), ignore_errors=True)


def _make(home: Path, progress: ivy.Progress, lock: int, confs: Sequence[Conf]) -> None:
    draft = home.with_suffix(".draft")
    _run_ivy(draft, home.with_suffix(".log"), progress, lock, confs)
    Manifest.of(draft).write(draft)
    shutil.rmtree(home, ignore_errors=True)
    draft.rename(home)


def _run_ivy(draft: Path, log: Path, progress: ivy.Progress, lock: int, confs: Sequence[Conf]) -> None:
    reason = ""
    for attempt in range(1, _ATTEMPTS + 1):
        shutil.rmtree(draft, ignore_errors=True)
        if ivy.run(cache.cache_root() / "ivy", draft, log, progress, lock=lock, confs=confs):
            return
        reason = ivy.complaint(log.read_text(encoding="utf-8", errors="replace"))
        if attempt < _ATTEMPTS:
            progress(f"jars: attempt {attempt} of {_ATTEMPTS} failed ({reason}), once more")
            time.sleep(_WAIT_BETWEEN_S)
    raise JarsError(
        f"the jars could not be downloaded ({reason}): check the network and run it again, "
        f"it goes on where it stopped; Ivy's log is {log}"
    )


@contextmanager
def _locked(lock: Path, progress: ivy.Progress) -> Iterator[int]:
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("jars: another process is making them, waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()
