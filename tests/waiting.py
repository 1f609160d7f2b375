"""Waiting for a condition instead of sleeping: generous, since a deadline costs nothing when it is kept."""

import time
from collections.abc import Callable

WITHIN_S = 120
_LOOK_EVERY_S = 0.05


def until(
    condition: Callable[[], object],
    what: str | Callable[[], object] = "what the test waits for",
    within_s: float = WITHIN_S,
    every_s: float = _LOOK_EVERY_S,
) -> None:
    """Return as soon as ``condition`` holds; fail with ``what`` was waited for when the time is up.

    A ``what`` that is called tells how things stand at the end. Who asks for much does so less often, by
    ``every_s``.
    """
    end_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end_s:
            raise AssertionError(f"not within {within_s:.0f} s: {what() if callable(what) else what}")
        time.sleep(every_s)
