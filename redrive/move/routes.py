"""Where the records of a cause go, decided once for all of them."""

from typing import Final, NamedTuple

from deadwatch.deadletter.dialects import SHARE_GROUP
from deadwatch.deadletter.dropped import HeaderRule, Patterns
from deadwatch.deadletter.record import Cause, DeadLetter
from deadwatch.orders.decision import Result, longest_delay_ms, nominal_delay_ms, park_reason
from deadwatch.orders.order import Order
from deadwatch.orders.targets import Skip as NoTarget
from redrive.move.batch import Outcome
from redrive.move.targets import Router, TargetDeadlines

MAX_CAUSES: Final = 10_000
FIRST_ATTEMPT: Final = 1


class CachedRoute(NamedTuple):
    """Where the records of a cause go for the first time, and the outcome that is counted for each."""

    cause: Cause
    router_version: int
    to: tuple[str, int | None]
    outcome: Outcome
    longest_delay_ms: int
    prefix: bytes
    """Their origin without the offset, ``<topic>/<partition>/``; empty where it is not known."""
    dropped: Patterns
    """The headers that they go without."""


class RouteCache:
    """The routes of one order by cause. While a target fails there are none: every record is decided then."""

    def __init__(self, order: Order, router: Router, deadlines: TargetDeadlines) -> None:
        self._request, self._router, self._deadlines = order.request, router, deadlines
        self._routes: dict[int, CachedRoute] = {}
        self.rule = HeaderRule(order.request.drop_headers)
        """The headers that records go without."""

    def known(self, cause: Cause) -> CachedRoute | None:
        """The route of a cause that was asked for before."""
        route = self._routes.get(id(cause))
        if route is None or route.cause is not cause or route.router_version != self._router.version:
            return None
        return None if self._deadlines.running() else route

    def route(self, dead_letter: DeadLetter) -> CachedRoute | None:
        """The route of a dead letter's cause; None where more than the cause matters."""
        route = self.known(dead_letter.cause)
        if route is not None or self._deadlines.running():
            return route
        route = self._made(dead_letter)
        if route is not None:
            if len(self._routes) >= MAX_CAUSES:
                self._routes.clear()
            self._routes[id(dead_letter.cause)] = route
        return route

    def sent(self, topic: str, attempt: int, fingerprint: str) -> Outcome:
        """The outcome of a record that goes to its target."""
        delay_ms = nominal_delay_ms(self._request.retry, attempt)
        return Outcome(topic, Result.SENT, "", attempt, delay_ms, fingerprint)

    def _made(self, dead_letter: DeadLetter) -> CachedRoute | None:
        """None for what is parked or was moved before, and under a rate for each target."""
        place, retry = self._router.route(dead_letter), self._request.retry
        limited = self._request.limits.per_target_records_per_second is not None
        if isinstance(place, NoTarget) or dead_letter.attempts or limited:
            return None
        if park_reason(0, (dead_letter.error_class, dead_letter.wrapper), retry):
            return None
        return CachedRoute(
            dead_letter.cause,
            self._router.version,
            (place.topic, place.partition),
            self.sent(place.topic, FIRST_ATTEMPT, dead_letter.cause.fingerprint),
            longest_delay_ms(retry, FIRST_ATTEMPT),
            _prefix(dead_letter.cause),
            self.rule.patterns(dead_letter.dialect),
        )


def _prefix(cause: Cause) -> bytes:
    """``CachedRoute.prefix``; empty for a share group's records, whose originals are somewhere else."""
    known = cause.source_topic and cause.source_partition is not None
    if not known or cause.marked or cause.dialect == SHARE_GROUP.name:
        return b""
    return f"{cause.source_topic}/{cause.source_partition}/".encode()
