"""One instance of a source, and how long it may go on timing out (KIP-572 ``task.timeout.ms``).

The timer starts at the first timeout and progress resets it; other failures and slow reads leave it alone. A
timeout after it has expired fails the instance, with ``task_timeout_ms`` 0 the very first one.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from collector.contract.deadline import Deadline
from collector.log_context import invoke
from collector.sources.source import Chunk, Source, SourceDownError, SourceTimeoutError

log = logging.getLogger(__name__)

FAILED: Final = (
    "failed: no progress within {timeout_ms} ms (task_timeout_ms), {call} timed out; it is started anew"
)


class Outcome(NamedTuple):
    """What one poll has come to; after ``failed`` the instance is only closed."""

    chunk: Chunk | None
    trouble: str
    failed: bool = False


class Instance:
    """Polls its source; ``polling_since_ms`` is set while that has not come back.

    ``error_type`` is the class of what the last poll that failed has raised.
    """

    def __init__(self, source: Source, task_timeout_ms: int, clock: Callable[[], int]) -> None:
        self.polling_since_ms: int | None = None
        self.error_type = ""
        self.poll_interval_ms = source.poll_interval_ms
        self._source = source
        self._deadline = Deadline(task_timeout_ms)
        self._clock = clock
        self._unexpected = ""

    def poll(self) -> Outcome:
        """Read on; never raises."""
        self.polling_since_ms = self._clock()
        try:
            chunk = invoke(self._source, self._source.poll)
        except SourceTimeoutError as error:
            self.error_type = type(error).__name__
            return self._timed_out(error)
        except SourceDownError as error:
            self.error_type = type(error).__name__
            return Outcome(None, str(error))
        except Exception as error:  # noqa: BLE001 - a process loop: the source's failure stays its own
            self.error_type = type(error).__name__
            return Outcome(None, self._failed_unexpectedly(error))
        finally:
            self.polling_since_ms = None
        self._deadline, self._unexpected = self._deadline.progressed(), ""
        return Outcome(chunk, chunk.trouble if chunk is not None else "")

    def close(self) -> None:
        """Let go of what the source holds; never raises."""
        try:
            invoke(self._source, self._source.close)
        except Exception:
            log.exception("Close failed")

    def _timed_out(self, error: SourceTimeoutError) -> Outcome:
        now_ms, timeout_ms = self._clock(), self._deadline.timeout_ms
        if self._deadline.spent(now_ms):
            return Outcome(None, FAILED.format(timeout_ms=timeout_ms, call=error.call), failed=True)
        if not self._deadline.running:
            log.warning(
                "%s timed out; without progress within %d ms the source fails", error.call, timeout_ms
            )
        self._deadline = self._deadline.timed_out(now_ms)
        return Outcome(None, str(error))

    def _failed_unexpectedly(self, error: Exception) -> str:
        trouble = f"failed unexpectedly ({error!r}); please report this with the collector's log"
        if trouble != self._unexpected:
            log.error("Poll failed", exc_info=error)
        self._unexpected = trouble
        return trouble
