"""What becomes of one dead letter. Pure: the caller reads, waits, writes and commits."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from random import Random

from collector.contract.backoff import Backoff
from collector.contract.deadline import Deadline
from streaming.redrive.order import Retry


class ParkReason(StrEnum):
    """Why a record is set aside for people."""

    ATTEMPTS_USED_UP = "attempts_used_up"
    ERROR_CLASS_EXCLUDED = "error_class_excluded"


class SkipReason(StrEnum):
    """Why a record stays where it is, beside those of its target and of its origin."""

    RECORD_GONE = "record_gone"
    ALREADY_MOVED = "already_moved"
    ALREADY_PARKED = "already_parked"


@dataclass(frozen=True, slots=True)
class Send:
    """Goes to its target as this attempt."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Is not due before."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Park:
    """Goes to the parked topic."""

    reason: ParkReason


@dataclass(frozen=True, slots=True)
class Skip:
    """Stays, and is counted."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The target has used up its patience: the order pauses, the record is not blamed."""


Decision = Send | Wait | Park | Skip | Stop


@dataclass(frozen=True, slots=True)
class Patience:
    """A target's deadline, and until when it is left alone after a timeout."""

    deadline: Deadline
    retry_at_ms: int = 0
    failures: int = 0
    expired: bool = False

    def failed(self, now_ms: int, wait_ms: int) -> "Patience":
        """After one more timeout; the one that comes after the deadline has passed is the last."""
        return Patience(
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
    patience: Patience | None,
    now_ms: int,
    error_class: str = "",
) -> Decision:
    """The first rule that applies wins. ``refused``: why there is no target, if so."""
    if refused:
        return Skip(refused)
    if patience is not None and patience.expired:  # before the record is blamed for what its target does
        return Stop()
    hopeless = park_reason(attempts, error_class, retry)
    if hopeless is not None:
        return Park(hopeless)
    if now_ms < due_ms:
        return Wait(due_ms)
    if patience is not None and now_ms < patience.retry_at_ms:
        return Wait(patience.retry_at_ms)
    return Send(attempts + 1)


def park_reason(attempts: int, error_class: str, retry: Retry) -> ParkReason | None:
    """Why a record is not tried (again), if so."""
    if error_class in retry.park_error_classes:
        return ParkReason.ERROR_CLASS_EXCLUDED
    return ParkReason.ATTEMPTS_USED_UP if attempts >= retry.max_attempts else None


def delay_ms(retry: Retry, attempt: int, place: tuple[str, int, int]) -> int:
    """How long a record waits before ``attempt``; the same after a restart, whoever asks (KIP-580)."""
    backoff = Backoff(retry.retry_backoff_ms, retry.retry_backoff_max_ms)
    return backoff.delay_ms(attempt, Random(f"{place}{attempt}"))


def longest_delay_ms(retry: Retry, attempt: int) -> int:
    """No record waits longer before ``attempt``."""
    return min(retry.retry_backoff_max_ms, (nominal_delay_ms(retry, attempt) + 1) * 6 // 5 + 1)


@cache
def nominal_delay_ms(retry: Retry, attempt: int) -> int:
    """The delay without its jitter."""
    return Backoff(retry.retry_backoff_ms, retry.retry_backoff_max_ms, jitter=0).delay_ms(attempt, Random(0))
