"""What an instrumented client has been seen to suffer, and the guard between that and the application.

``client`` is the library (kafka-python or librdkafka), ``error`` the library's own name of the error.
"""

import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from collector.clients.timeouts import Timeout

log = logging.getLogger(__name__)

UNKNOWN_PARTITION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What every observation tells."""

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
    """Where observations go. It is called in the client's own threads: it must not wait."""

    def report(self, seen: Observation) -> None:
        """Take note of it."""


class Watch:
    """Hands observations to the reporters; as a context it keeps every failure of ours from the application.

    A failure is counted in ``failures`` and logged once for each place that it comes from.
    """

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self.failures = 0
        self._reporters = tuple(reporters)
        self._said: set[tuple[str, int | None]] = set()

    def report(self, seen: Observation) -> None:
        """To every reporter, whatever becomes of the others."""
        for reporter in self._reporters:
            with self:
                reporter.report(seen)

    def commit_failed(self, failed: CommitFailed, *, too_late: bool) -> None:
        """A failed commit; where time was the reason it is a timeout as well."""
        self.report(failed)
        if too_late:
            self.report(
                TimedOut(
                    client=failed.client,
                    client_id=failed.client_id,
                    error=failed.error,
                    timeout=Timeout.COMMIT,
                    message=failed.message,
                )
            )

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Swallow errors; interrupts and exits pass."""
        if not isinstance(error, Exception):
            return False
        self.failures += 1
        place = traceback.extract_tb(trace)[-1]
        origin = (place.filename, place.lineno)
        if origin not in self._said:
            self._said.add(origin)
            log.warning("A Kafka client's timeouts are not reported in full: %r", error, exc_info=error)
        return True
