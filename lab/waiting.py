"""Wait for a condition with a deadline; there is no other waiting in the lab."""

import time
from collections.abc import Callable
from typing import Final

from lab.errors import LabError

_LOOK_EVERY_S: Final = 0.05


def until(condition: Callable[[], bool], what: str, within_s: float) -> None:
    """Return as soon as ``condition`` holds; raise LabError naming ``what`` when the time is up."""
    deadline_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise LabError(f"waited {within_s:.0f} s in vain: {what}")
        time.sleep(_LOOK_EVERY_S)
