"""What is decided of a cause once, for all records that have it and have waited long enough."""

from typing import Final, NamedTuple

from streaming.dialects import SHARE_GROUP
from streaming.letter import Cause, Letter
from streaming.redrive.batch import Outcome, Result
from streaming.redrive.decision import Send, decide, longest_delay_ms, nominal_delay_ms
from streaming.redrive.order import Order
from streaming.redrive.patience import Patiences
from streaming.redrive.routes import Routes
from streaming.redrive.targets import Skip

MOST_KNOWN: Final = 10_000


class Course(NamedTuple):
    """Where records of a cause go, as which attempt, and what is counted for each."""

    cause: Cause
    routes_version: int
    to: tuple[str, int | None]
    attempt: int
    outcome: Outcome
    longest_delay_ms: int
    prefix: bytes
    """Of where its records were read first, before the offset; empty where nothing tells it."""


class Causes:
    """Of one order. While a target fails there are no courses: every record is decided then."""

    def __init__(self, order: Order, routes: Routes, patiences: Patiences) -> None:
        self._request, self._routes, self._patiences = order.request, routes, patiences
        self._known: dict[int, Course] = {}

    def known(self, cause: Cause) -> Course | None:
        """The course of a cause that a letter had before."""
        course = self._known.get(id(cause))
        if course is None or course.cause is not cause or course.routes_version != self._routes.version:
            return None
        return None if self._patiences.running() else course

    def of(self, letter: Letter) -> Course | None:
        """The course of the letter's cause, where nothing but the cause matters."""
        course = self.known(letter.cause)
        if course is not None or self._patiences.running():
            return course
        course = self._made(letter)
        if course is not None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[id(letter.cause)] = course
        return course

    def sent(self, topic: str, attempt: int, fingerprint: str) -> Outcome:
        """What is counted for a record that goes to its target."""
        delay_ms = nominal_delay_ms(self._request.retry, attempt)
        return Outcome(topic, Result.SENT, "", attempt, delay_ms, fingerprint)

    def _made(self, letter: Letter) -> Course | None:
        """Records that were moved before have times of their own; a target's own rate looks at each."""
        route, retry = self._routes.route(letter), self._request.retry
        limited = self._request.limits.per_target_records_per_second is not None
        if isinstance(route, Skip) or letter.attempts or limited:
            return None
        decision = decide(
            attempts=0,
            due_ms=0,
            retry=retry,
            refused="",
            patience=None,
            now_ms=0,
            error_class=letter.error_class,
        )
        if not isinstance(decision, Send):
            return None
        attempt = decision.attempt
        return Course(
            letter.cause,
            self._routes.version,
            (route.topic, route.partition),
            attempt,
            self.sent(route.topic, attempt, letter.cause.fingerprint),
            longest_delay_ms(retry, attempt),
            _prefix(letter.cause),
        )


def _prefix(cause: Cause) -> bytes:
    """Of records that are what their headers say: a share group's are somewhere else."""
    told = cause.source_topic and cause.source_partition is not None
    if not told or cause.marked or cause.dialect == SHARE_GROUP.name:
        return b""
    return f"{cause.source_topic}/{cause.source_partition}/".encode()
