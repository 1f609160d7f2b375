"""How often credentials from an address were not valid: beyond a limit, the answer is to come again later.

A valid credential is never refused for the failures of others at its address: 256 random bits cannot be
guessed however often one tries, and an address may be that of a whole company. The memory is bounded; of too
many addresses the one that failed longest ago is forgotten.
"""

import ipaddress
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

WINDOW_MS: Final = 60_000
MAX_FAILURES: Final = 10
MAX_ADDRESSES: Final = 10_000
PREFIX_V6: Final = 64
"""Bits of an IPv6 address that one customer has for itself."""


class Failures:
    """Failures by address, in windows that begin with the first failure; used by many threads."""

    def __init__(self, now_ms: Callable[[], int], maximum: int = MAX_FAILURES) -> None:
        self._now_ms, self._maximum = now_ms, maximum
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def failed(self, address: str) -> int:
        """Count one more; for how many seconds there were too many, 0: there were not."""
        place, now_ms = _place(address), self._now_ms()
        with self._lock:
            began_ms, failures = self._windows.pop(place, (now_ms, 0))
            if not 0 <= now_ms - began_ms < WINDOW_MS:
                began_ms, failures = now_ms, 0
            self._windows[place] = (began_ms, min(failures + 1, self._maximum + 1))
            while len(self._windows) > MAX_ADDRESSES:
                self._windows.popitem(last=False)
        left_ms = began_ms + WINDOW_MS - now_ms
        return max(1, -(-left_ms // 1_000)) if failures >= self._maximum else 0


def _place(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if found.version == 4:  # noqa: PLR2004 -- of the protocol
        return str(found)
    return str(ipaddress.ip_network((found, PREFIX_V6), strict=False))
