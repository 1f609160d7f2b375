"""Waiting for a condition instead of sleeping: generous, since a deadline costs nothing when it is kept.

Who waits looks at once, and then ever less often, by a tenth of the time that has passed: what takes
milliseconds is seen within milliseconds, and what takes a minute is not asked for a thousand times, which
would keep a core from what is waited for.
"""

import time
from collections.abc import Callable

WITHIN_S = 120
_SOONEST_S, _LATEST_S = 0.01, 0.25


def eventually(condition: Callable[[], object], within_s: float = WITHIN_S) -> bool:
    """Whether ``condition`` holds before the time is up; returns as soon as it does."""
    began_s = time.monotonic()
    while not condition():
        passed_s = time.monotonic() - began_s
        if passed_s > within_s:
            return False
        time.sleep(min(max(passed_s / 10, _SOONEST_S), _LATEST_S))
    return True


def until(
    condition: Callable[[], object],
    what: str | Callable[[], object] = "what the test waits for",
    within_s: float = WITHIN_S,
) -> None:
    """Return as soon as ``condition`` holds; fail with ``what`` was waited for when the time is up.

    A ``what`` that is called tells how things stand at the end, and where the test's own limit ends the wait.
    """
    try:
        held = eventually(condition, within_s)
    except BaseException as ended:
        ended.add_note(f"while it waited: {what() if callable(what) else what}")
        raise
    if not held:
        raise AssertionError(f"not within {within_s:.0f} s: {what() if callable(what) else what}")
