"""What an instrumented client reports, and the guard that keeps our failures away from the application.

``client`` is the library (kafka-python or librdkafka), ``error`` the library's own name of the error. The
tables of errors say which of them are timeouts, and of what. A test compares them with the installed
libraries, so that a timeout in a new release that nobody has classified is noticed. For a commit the
``…_TOO_LATE_TO_COMMIT`` tables decide alone.
"""

import logging
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Final, Protocol

from kafka import errors

KAFKA_PYTHON: Final = (errors.KafkaTimeoutError, errors.RequestTimedOutError)
"""Timeouts; where one is raised decides what timed out."""

KAFKA_PYTHON_TOO_LATE_TO_COMMIT: Final = (errors.CommitFailedError, *KAFKA_PYTHON)
"""The group has moved on without the member, or nobody answered in time."""

log = logging.getLogger(__name__)
UNKNOWN_PARTITION = -1


class Timeout(StrEnum):
    """What timed out; all but ``DELIVERY`` are the words of ``ClientTimeout.timeout``."""

    DELIVERY = "delivery"
    METADATA = "metadata"
    BUFFER = "buffer"
    COMMIT = "commit"
    REQUEST = "request"
    POLL = "poll"


LIBRDKAFKA: Final[dict[str, Timeout]] = {
    "_MSG_TIMED_OUT": Timeout.DELIVERY,
    "_TIMED_OUT": Timeout.REQUEST,
    "_TIMED_OUT_QUEUE": Timeout.REQUEST,
    "REQUEST_TIMED_OUT": Timeout.REQUEST,
    "_MAX_POLL_EXCEEDED": Timeout.POLL,
}
"""What timed out, by the name of librdkafka's error (``KafkaError.name()``)."""

LIBRDKAFKA_TOO_LATE_TO_COMMIT: Final = {
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    *LIBRDKAFKA,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What every observation contains: the library, the client's id, and the library's name of the error."""

    client: str
    client_id: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired(Observation):
    """A batch of ``records`` was not delivered in time; ``elapsed_ms`` is the age of its oldest record."""

    topic: str
    partition: int
    records: int
    elapsed_ms: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut(Observation):
    """Anything but a delivery took too long."""

    timeout: Timeout
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Observation):
    """A batch of ``records`` will be sent once more."""

    topic: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFailed(Observation):
    """Offsets were not committed, for whatever reason."""

    message: str


class Reporter(Protocol):
    """Receives observations. It is called in the client's own threads, so it must not wait."""

    def report(self, seen: Observation) -> None:
        """Record or publish an observation."""


class Watch:
    """Hands observations to the reporters; as a context it keeps every failure of ours from the application.

    A failure is counted in ``failures`` and logged once for each place that it comes from.
    """

    def __init__(self, client: str, reporters: Sequence[Reporter]) -> None:
        self.failures = 0
        self._client = client
        self._reporters = tuple(reporters)
        self._logged: set[tuple[str, int | None]] = set()

    def report(self, kind: Callable[..., Observation], client_id: str, error: str, **details: object) -> None:
        """Report an observation of a ``kind`` to every reporter, even if another one fails."""
        with self:
            seen = kind(client=self._client, client_id=client_id, error=error, **details)
            for reporter in self._reporters:
                with self:
                    reporter.report(seen)

    def commit_failed(self, client_id: str, error: str, message: str, *, too_late: bool) -> None:
        """Report a failed commit, and also a timeout if time was the reason."""
        self.report(CommitFailed, client_id, error, message=message)
        if too_late:
            self.report(TimedOut, client_id, error, timeout=Timeout.COMMIT, message=message)

    def __enter__(self) -> None:
        """Begin guarding; nothing is prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Swallow errors; interrupts and exits pass."""
        if not isinstance(error, Exception):
            return False
        self.failures += 1
        place = traceback.extract_tb(trace)[-1]
        origin = (place.filename, place.lineno)
        if origin not in self._logged:
            self._logged.add(origin)
            with suppress(Exception):  # of the application's own handlers
                log.warning("A Kafka client's timeouts are not reported in full: %r", error, exc_info=error)
        return True
