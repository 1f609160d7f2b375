"""Guards, which pause or slow down an order before it does harm; checked every few seconds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from deadwatch.orders.order import Guards

LOOK_MS: Final = 5_000
BRAKE_MS: Final = 1_000
"""How often the lag of the group that reads a target is looked up."""
LEAST_SENT: Final = 20
"""Records sent at least, before the bounce ratio is judged."""


@dataclass(frozen=True, slots=True)
class Returns:
    """How many records an order has sent, and how many of them came back."""

    sent: int
    bounced: int


Watch = Callable[[str], Returns]
"""The returns of an order, by its id, as the store counts them."""


def bounce_reason(guards: Guards, returns: Returns) -> str:
    """Why the order must stop, since too many records come back; "" if it need not."""
    if guards.max_bounce_ratio is None or returns.sent < LEAST_SENT:
        return ""
    ratio = returns.bounced / returns.sent
    if ratio <= guards.max_bounce_ratio:
        return ""
    return (
        f"{returns.bounced} of {returns.sent} records came back ({ratio:.0%}, guards.max_bounce_ratio is "
        f"{guards.max_bounce_ratio:.0%}): fix the cause, then resume"
    )


class LagRefusedError(Exception):
    """We may not read the group's offsets; the text says what to grant."""


Lag = Callable[[Iterable[str]], int]
"""The lag of a group on the topic where it is greatest, in records; may raise ``LagRefusedError``."""


class Guard:
    """The guards of one order: returns are checked every ``LOOK_MS``, the lag every ``BRAKE_MS``."""

    def __init__(self, order: str, guards: Guards, watch: Watch, lag: Lag | None, shared_by: int = 1) -> None:
        self._order, self._guards, self._watch, self._lag = order, guards, watch, lag
        self._next_look_ms = self._next_lag_ms = 0
        self._topics: frozenset[str] = frozenset()
        self._room, self._shared_by = 0, shared_by

    def trip(self, now_ms: int, topics: frozenset[str]) -> tuple[str, int | None]:
        """Why to pause ("": go on), and how many records may be sent before the lag is too great (None: any).

        ``topics`` are the targets so far. As long as there is none, one record may be sent. Of what is left
        before the lag is too great each task has its share, and one record at least.
        """
        reason = ""
        if now_ms >= self._next_look_ms:
            self._next_look_ms = now_ms + LOOK_MS
            reason = bounce_reason(self._guards, self._watch(self._order))
        most = self._guards.max_target_lag
        if self._lag is None or most is None:
            return reason, None
        if not topics:
            return reason, 1
        if now_ms >= self._next_lag_ms or topics != self._topics:
            try:
                room = max(most - self._lag(topics), 0)
                self._room = max(room // self._shared_by, min(room, 1))
            except LagRefusedError as refused:
                return str(refused), 0
            self._topics, self._next_lag_ms = topics, now_ms + BRAKE_MS
        return reason, self._room

    def wrote(self, records: int) -> None:
        """Count records that were sent since the lag was last looked up."""
        self._room = max(self._room - records, 0)
