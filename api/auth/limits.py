"""Limits for each caller or address: failures in a minute, and requests of a kind at one time."""

import ipaddress
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

WINDOW_MS: Final = 60_000
PREFIX_V6: Final = 64
"""Bits of an IPv6 address that one customer has: its prefix is counted, not its addresses."""


class Counted(NamedTuple):
    """Whether a failure is ``beyond`` the limit of its window, which lasts ``left_ms`` more; of the window
    that ended with it, how many were beyond, and so told to nobody.
    """

    beyond: bool
    left_out: int
    left_ms: int


class FailureCounter:
    """Counts failures in windows of a minute that begin with the first one; used by many threads.

    ``limit`` is how many of one name a window takes. Of more than ``names`` the one that failed longest ago
    is dropped.
    """

    def __init__(self, now_ms: Callable[[], int], names: int, limit: int) -> None:
        self._now_ms, self._names, self._limit = now_ms, names, limit
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, name: str) -> Counted:
        """Count one failure of this name."""
        now_ms, ended = self._now_ms(), 0
        with self._lock:
            began_ms, before = self._windows.pop(name, (now_ms, 0))
            if not 0 <= now_ms - began_ms < WINDOW_MS:
                began_ms, before, ended = now_ms, 0, before
            self._windows[name] = began_ms, before + 1
            if len(self._windows) > self._names:
                self._windows.popitem(last=False)
        return Counted(before >= self._limit, max(0, ended - self._limit), began_ms + WINDOW_MS - now_ms)


class Shares:
    """Places for requests of one kind, of which one caller has at most half; used by one event loop.

    All anonymous callers together count as one. ``refusal`` makes the error of who gets no place, of the
    number of places, and of how many the caller has where these are the reason.
    """

    def __init__(self, places: int, refusal: Callable[[int, int], Exception]) -> None:
        self._places, self._refusal = places, refusal
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many places are."""
        return self._taken.total()

    @contextmanager
    def place(self, caller: str) -> Iterator[None]:
        """A place for a caller, "" for an anonymous one. Raises the error of ``refusal``."""
        mine = self._taken[caller]
        if self.taken >= self._places:
            raise self._refusal(self._places, 0)
        if mine >= max(1, self._places // 2):
            raise self._refusal(self._places, mine)
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]


def network(address: str) -> str:
    """The addresses that are counted as one: an IPv4 address, the prefix of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    v4 = found if isinstance(found, ipaddress.IPv4Address) else found.ipv4_mapped
    if v4 is not None:
        return str(v4)
    return str(ipaddress.ip_network((found, PREFIX_V6), strict=False))
