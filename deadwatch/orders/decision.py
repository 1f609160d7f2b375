"""The decision about one dead letter: send, wait, park, skip or stop. Pure; the caller acts on it."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from random import Random

from deadwatch.contract.backoff import Backoff
from deadwatch.contract.deadline import Deadline
from deadwatch.orders.order import Retry
from deadwatch.orders.reasons import ParkReason


class Result(StrEnum):
    """Values of ``RedriveOutcome.outcome``."""

    SENT = "sent"
    PARKED = "parked"
    SKIPPED = "skipped"
    FAILED = "failed"

    __hash__ = str.__hash__  # the hash of enumerations is slow, and every record is counted


@dataclass(frozen=True, slots=True)
class Send:
    """The record goes to its target as this attempt."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The record is not due before this time."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Park:
    """The record goes to the parked topic."""

    reason: ParkReason


@dataclass(frozen=True, slots=True)
class Skip:
    """The record stays where it is, and is counted."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The target's deadline has passed: the order pauses, and the record is not blamed."""


Decision = Send | Wait | Park | Skip | Stop


@dataclass(frozen=True, slots=True)
class TargetState:
    """A target's deadline and its backoff after a timeout."""

    deadline: Deadline
    retry_at_ms: int = 0
    failures: int = 0
    expired: bool = False

    def failed(self, now_ms: int, wait_ms: int) -> "TargetState":
        """The state after one more timeout; a timeout after the deadline is the last one."""
        return TargetState(
            self.deadline.timed_out(now_ms),
            now_ms + wait_ms,
            self.failures + 1,
            expired=self.deadline.spent(now_ms),
        )


def decide(
    *,
    attempts: int,
    due_ms: int,
    retry: Retry,
    refused: str,
    target: TargetState | None,
    now_ms: int,
    error_class: str = "",
    wrapper: str = "",
) -> Decision:
    """Decide; the first rule that applies wins. ``refused`` says why there is no target, else it is ""."""
    if refused:
        return Skip(refused)
    if target is not None and target.expired:  # before the record is blamed for what its target does
        return Stop()
    hopeless = park_reason(attempts, (error_class, wrapper), retry)
    if hopeless is not None:
        return Park(hopeless)
    if now_ms < due_ms:
        return Wait(due_ms)
    if target is not None and now_ms < target.retry_at_ms:
        return Wait(target.retry_at_ms)
    return Send(attempts + 1)


def park_reason(attempts: int, classes: tuple[str, str], retry: Retry) -> ParkReason | None:
    """Why a record must not be tried (again); None if it may.

    ``classes`` are those of the exception and of the one around it, "" where there is none.
    """
    if not set(classes).isdisjoint(retry.park_error_classes):
        return ParkReason.ERROR_CLASS_EXCLUDED
    return ParkReason.ATTEMPTS_USED_UP if attempts >= retry.max_attempts else None


def delay_ms(retry: Retry, attempt: int, place: tuple[str, int, int]) -> int:
    """How long a record waits before ``attempt``; the same after a restart, whoever asks (KIP-580)."""
    backoff = Backoff(retry.retry_backoff_ms, retry.retry_backoff_max_ms)
    return backoff.delay_ms(attempt, Random(f"{place}{attempt}"))


def longest_delay_ms(retry: Retry, attempt: int) -> int:
    """The longest that any record waits before ``attempt``."""
    return min(retry.retry_backoff_max_ms, (nominal_delay_ms(retry, attempt) + 1) * 6 // 5 + 1)


@lru_cache(1_000)
def nominal_delay_ms(retry: Retry, attempt: int) -> int:
    """The delay before ``attempt`` without jitter."""
    return Backoff(retry.retry_backoff_ms, retry.retry_backoff_max_ms, jitter=0).delay_ms(attempt, Random(0))
