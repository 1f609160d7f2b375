"""SIGTERM ends a command as Ctrl-C does: everything it opened is closed on the way out."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt; call it from the main thread."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
