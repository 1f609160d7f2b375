"""How every process runs and stops: logging, signals, exit codes, garbage collection."""

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from typing import Final

from deadwatch.runtime.logs import LogFormat, add_context, formatter

REFUSED = 2
"""Exit code when the settings or arguments are refused."""
AGAIN = 75
"""Exit code of a process that ends so that its supervisor starts it again (EX_TEMPFAIL)."""
OTHERS = 0o077
"""The umask: nobody but the owner may read what a process writes, since it holds payloads."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks for the end; the last one says that the terminal was closed."""
UNWRITABLE: Final = frozenset({EDQUOT, EFBIG, EIO, ENOSPC, EPIPE})
"""Errors of an output that takes no more, as on a full disk."""

QUIET = {
    "kafka": logging.CRITICAL,  # logs each attempt; our callers log each change
    "httpx2": logging.WARNING,  # logs each request
    "httpcore2": logging.WARNING,
    "py4j": logging.WARNING,
    "opentelemetry": logging.CRITICAL,  # as kafka
    "alembic.runtime.plugins": logging.WARNING,  # logs what it finds when it is loaded
}


class SettingsError(Exception):
    """The settings cannot be used; the text says which and what to do, and never shows a value."""


class Interrupted(BaseException):
    """A signal has come inside ``interruptible``."""


def configure_logging(process: str, form: LogFormat = "text") -> None:
    """One line a record on stderr: UTC time, level, process, message (logger), or the same as JSON."""
    handler = logging.StreamHandler()
    handler.addFilter(add_context)
    handler.setFormatter(formatter(process, form))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(least)
    logging.captureWarnings(capture=True)


def stop_signals() -> Iterator[signal.Signals]:
    """What asks this process for its end: SIGHUP does not where it is ignored, as under ``nohup``."""
    for number in STOP_SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            yield number


def stop_on_signals() -> threading.Event:
    """An event that a signal sets which asks for the end; call it from the main thread."""
    stop = threading.Event()

    def ask(_number: int, _frame: object) -> None:
        threading.Thread(target=stop.set).start()  # the main thread may hold the event's lock right now

    for number in stop_signals():
        signal.signal(number, ask)
    return stop


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, what asks for the end raises ``Interrupted``; afterwards it does what it did before, also where
    a library has taken the signal meanwhile. Call it from the main thread.

    A terminal that is closed tells it more than once: what follows the first is no impatience, and ignored.

    It is raised at the end where it did not arrive before: in a finalizer it is ignored, and a library may
    swallow it or raise something else instead.
    """
    came = False

    def interrupt(number: int, _frame: object) -> None:
        nonlocal came
        if came and number == signal.SIGHUP:
            return
        came = True
        raise Interrupted

    before = {number: signal.signal(number, interrupt) for number in stop_signals()}
    try:
        yield
    except Exception:
        if not came:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise Interrupted


def interrupt_if(stop: threading.Event) -> None:
    """Raise ``Interrupted`` where a signal has set ``stop`` before ``interruptible`` began."""
    if stop.is_set():
        raise Interrupted


OBJECTS: Final = 200_000
"""The threshold of the youngest generation: more objects than the records of a transaction."""


def leave_records_alone() -> None:
    """Run the collector of cycles rarely, for a process that handles thousands of records or rows at once.

    They hold no cycles; looking through them again and again is a third of the work of moving them, and half
    of the slowest scrapes.
    """
    gc.freeze()
    gc.set_threshold(OBJECTS, 10, 10)


@contextmanager
def written(program: str) -> Iterator[None]:
    """Inside, an output that takes no more ends the process with exit code 1.

    It is one line on standard error, and none where the reader has gone, as ``head`` does.
    """
    try:
        yield
        if sys.stdout is not None:  # a process may be started without one
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        if error.errno != EPIPE:
            what = error.filename or "the output"
            sys.stderr.write(f"{program}: cannot write {what}: {error.strerror}\n")
        # what is left is written once more at the end of the process, and would fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
