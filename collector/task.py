"""One source at work in a thread of its own: poll, hand over, wait; with backoff (KIP-580) while it is down.

What goes wrong is one line at each change, with the log context ``[source|task-0|number of the instance]``.
"""

import logging
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from collector.contract.backoff import Backoff
from collector.outbox import Outlet
from collector.sources.source import Chunk, Source, SourceDownError, State
from collector.status import Status

BLOCKED_MS: Final = 30_000
BLOCKED: Final = "the source has not come back from a read for 30 s; it goes on as soon as that returns"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every task of a process is given; ``save_interval_ms`` is for positions without events."""

    stop: threading.Event
    clock: Callable[[], int]
    rng: Random
    backoff: Backoff
    save_interval_ms: int


class _Context(logging.LoggerAdapter[logging.Logger]):
    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        context = self.extra["context"] if self.extra else ""
        return f"[{context}] {msg}", kwargs


class Task:
    """Runs a source until it is told to stop."""

    def __init__(
        self, source: Source, outlet: Outlet, status: Status, sequence: int, around: Surroundings
    ) -> None:
        self.name = source.name
        self._source = source
        self._outlet = outlet
        self._status = status
        self._around = around
        self._log = _Context(logging.getLogger(__name__), {"context": f"{source.name}|task-0|{sequence}"})
        self._failures = 0
        self._trouble: str | None = None
        self._polling_since_ms: int | None = None
        self._blocked = False
        self._saved_ms = around.clock()
        self._unsaved: State | None = None
        self._announcing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=source.name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, timeout_ms: float) -> bool:
        """Whether it has ended within that time."""
        self._thread.join(max(timeout_ms, 0) / 1_000)
        return not self._thread.is_alive()

    def announce(self) -> None:
        """Publish how the source is, if that is due; never waits."""
        now_ms, since_ms, trouble = self._around.clock(), self._polling_since_ms, self._trouble
        if since_ms is not None and now_ms - since_ms > BLOCKED_MS:
            trouble = BLOCKED
            if not self._blocked:
                self._log.warning("Down: %s", BLOCKED)
            self._blocked = True
        if trouble is None:
            return
        with self._announcing:
            self._status.announce(trouble, now_ms, self._outlet)

    def _run(self) -> None:
        try:
            while not self._around.stop.is_set():
                self._around.stop.wait(self._step() / 1_000)
            if self._unsaved is not None:
                self._outlet.offer((), {self.name: self._unsaved})
        finally:
            self._source.close()

    def _step(self) -> int:
        """One poll; how many ms to wait after it."""
        chunk, trouble = self._poll()
        self._say(trouble)
        self.announce()
        if chunk is not None:
            self._hand_over(chunk)
        if trouble:
            self._failures += 1
            return max(
                self._source.poll_interval_ms, self._around.backoff.delay_ms(self._failures, self._around.rng)
            )
        self._failures = 0
        return 0 if chunk is not None and chunk.more else self._source.poll_interval_ms

    def _poll(self) -> tuple[Chunk | None, str]:
        self._polling_since_ms = self._around.clock()
        try:
            chunk = self._source.poll()
        except SourceDownError as error:
            return None, str(error)
        except Exception as error:  # noqa: BLE001 - a process loop: the source's failure stays its own
            trouble = f"failed unexpectedly ({error!r}); please report this with the collector's log"
            if trouble != self._trouble:
                self._log.exception("Poll failed")
            return None, trouble
        finally:
            self._polling_since_ms, self._blocked = None, False
        return chunk, chunk.trouble if chunk is not None else ""

    def _say(self, trouble: str) -> None:
        if trouble == self._trouble:
            return
        if trouble:
            self._log.warning("Down: %s", trouble)
        elif self._trouble is None:
            self._log.info("Up")
        else:
            self._log.info("Up again")
        self._trouble = trouble

    def _hand_over(self, chunk: Chunk) -> None:
        """Events go at once; a position without events only now and then."""
        now_ms = self._around.clock()
        if not chunk.events and 0 <= now_ms - self._saved_ms < self._around.save_interval_ms:
            self._unsaved = chunk.state
            return
        if self._outlet.offer(chunk.events, {self.name: chunk.state}, self._around.stop):
            self._saved_ms, self._unsaved = now_ms, None
        elif chunk.events:
            self._unsaved = None
