"""Reports whatever opens the file of a SQLite store in a process in which SQLite has it open, but SQLite.

Who closes such a file takes the locks of SQLite's connections with it. Opening by Python raises an audit
event, opening by SQLite's own library none. In processes that a test starts, Python runs this by itself:
``PYTHONPATH`` begins with this directory, and ``DEADWATCH_TEST_OPENED`` names the file that gets a line for
each. What the code of a test opens itself is the test's own affair.
"""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

VARIABLE = "DEADWATCH_TEST_OPENED"
ENDINGS = (".db", ".db-shm", ".db-wal")
LIBRARY = str(Path(os.__file__).parent)
TESTS = str(Path(__file__).parents[1])
DESCRIPTORS = "/proc/self/fd"


def install(report: Callable[[str], object]) -> None:
    """For the rest of this process, but its very end; ``report`` gets the file and who opened it."""
    is_finalizing = sys.is_finalizing  # at the end this module's own names are gone

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or is_finalizing():
            return
        path = arguments[0]
        if isinstance(path, (str, bytes, os.PathLike)):
            name = os.path.realpath(os.fsdecode(path))
            if name.endswith(ENDINGS) and is_open(name) and not (by := _opener()).startswith(TESTS):
                report(f"{name}: opened by {by}")

    sys.addaudithook(hook)


def is_open(name: str) -> bool:
    """Whether this process has opened the store of that file."""
    store = name.removesuffix("-shm").removesuffix("-wal")
    descriptors = Path(DESCRIPTORS)
    return descriptors.is_dir() and any(_target(one) == store for one in descriptors.iterdir())


def _opener() -> str:
    """The file of who asked Python's library to open something."""
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe(2)))
    return next((one for one in files if not one.startswith(LIBRARY)), "")


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""


def _write(line: str) -> None:
    with Path(os.environ[VARIABLE]).open("a") as file:
        file.write(line + "\n")


if VARIABLE in os.environ:
    install(_write)
