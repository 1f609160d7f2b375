"""A source at work in a thread of its own: poll, hand over, wait; with backoff (KIP-580) while it is down.

An instance that fails (KIP-572) is closed, or abandoned where that hangs; after the longest backoff the next
one takes over where it stood: its sequence number is one more. What goes wrong is one line at each change.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from collector.contract.backoff import Backoff
from collector.instance import Instance
from collector.log_context import Scope, log_context
from collector.outbox import Outlet
from collector.retirement import Retirement
from collector.sources.source import Chunk, Source, State
from collector.status import Status
from collector.telemetry import SILENT, Polled, Telemetry

log = logging.getLogger(__name__)

BLOCKED_MS: Final = 30_000
BLOCKED: Final = "the source has not come back from a read for 30 s; it goes on as soon as that returns"
ABANDONED: Final = "abandoned: the source did not stop in time"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every task of a process is given; ``save_interval_ms`` is for positions without events."""

    stop: threading.Event
    clock: Callable[[], int]
    rng: Random
    backoff: Backoff
    save_interval_ms: int
    task_timeout_ms: int
    telemetry: Telemetry = SILENT


class Task:
    """Runs instances of one source, one after the other, until it is told to stop.

    ``state`` is what its last chunk has left, ``failures`` how many instances have failed.
    """

    def __init__(
        self,
        source: Source,
        make: Callable[[], Source],
        *,
        scope: Scope,
        outlet: Outlet,
        status: Status,
        around: Surroundings,
        retirement: Retirement,
    ) -> None:
        self.name = source.name
        self.scope = scope
        self.state: State | None = None
        self.failures = 0
        self._make = make
        self._outlet = outlet
        self._status = status
        self._around = around
        self._retirement = retirement
        self._kind = source.kind
        self._instance = self._begun(source)
        self._attempts = 0
        self._trouble: str | None = None
        self._blocked_since_ms: int | None = None
        self._saved_ms = around.clock()
        self._unsaved = False
        self._abandoned = False
        self._announcing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=source.name, daemon=True)

    @property
    def sequence(self) -> int:
        """The number of the present instance, from 1."""
        return self.failures + 1

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def runs(self) -> bool:
        """Whether its thread has not ended."""
        return self._thread.is_alive()

    def join(self, timeout_ms: float) -> bool:
        """Whether it has ended within that time."""
        self._thread.join(max(timeout_ms, 0) / 1_000)
        return not self.runs()

    def abandon(self) -> None:
        """Nobody waits for it any longer: publish that."""
        self._abandoned = True
        with self._announcing:
            self._status.announce(ABANDONED, self._around.clock(), self._outlet)

    def announce(self) -> None:
        """Publish how the source is, if that is due; never waits."""
        trouble = BLOCKED if self._is_blocked() else self._trouble
        if trouble is None or self._abandoned:
            return
        with self._announcing:
            self._status.announce(trouble, self._around.clock(), self._outlet)

    def _is_blocked(self) -> bool:
        """Whether a poll does not come back; one line for each such poll."""
        since_ms = self._instance.polling_since_ms
        if since_ms is None or self._around.clock() - since_ms <= BLOCKED_MS:
            return False
        if self._blocked_since_ms != since_ms:
            self._blocked_since_ms = since_ms
            with log_context(self.name, self.scope, self.sequence):
                log.warning("Down: %s", BLOCKED)
        return True

    def _run(self) -> None:
        while self._lives():
            self._renew()

    def _lives(self) -> bool:
        """Run one instance to its end; whether it has failed and not been told to stop."""
        stop, failed = self._around.stop, False
        with log_context(self.name, self.scope, self.sequence):
            while not failed and not stop.is_set():
                wait_ms, failed = self._step()
                stop.wait(wait_ms / 1_000)
            if self._unsaved and self.state is not None:
                self._outlet.offer((), {self.name: self.state})
            if failed:
                self._retirement.retire(self.name, self.scope, self._instance.close, stop)
            else:
                self._instance.close()
            if self._abandoned:
                log.warning("Ended after it was abandoned")
        return failed and not stop.is_set()

    def _renew(self) -> None:
        """The next instance."""
        self.failures += 1
        with log_context(self.name, self.scope, self.sequence):
            while not self._around.stop.is_set():
                try:
                    self._instance = self._begun(self._make())
                except Exception as error:  # noqa: BLE001 - a process loop: tried again until stopped
                    self._say(f"cannot be started anew ({error!r})")
                    self.announce()
                    self._around.stop.wait(self._around.backoff.max_ms / 1_000)
                else:
                    return

    def _begun(self, source: Source) -> Instance:
        return Instance(source, self._around.task_timeout_ms, self._around.clock)

    def _step(self) -> tuple[int, bool]:
        """One poll; how many ms to wait after it, and whether the instance has failed."""
        began_ms = self._around.clock()
        chunk, trouble, failed = self._instance.poll()
        self._tell(began_ms, chunk, trouble)
        self._say(trouble)
        self.announce()
        if chunk is not None:
            self._hand_over(chunk)
        if failed:
            return self._around.backoff.max_ms, True
        return self._wait_ms(trouble, more=chunk is not None and chunk.more), False

    def _tell(self, began_ms: int, chunk: Chunk | None, trouble: str) -> None:
        error_type = self._instance.error_type if trouble and chunk is None else ""
        events = len(chunk.events) if chunk is not None else 0
        self._around.telemetry.polled(
            Polled(self.name, self._kind, events, began_ms, self._around.clock(), error_type)
        )

    def _wait_ms(self, trouble: str, *, more: bool) -> int:
        interval_ms = self._instance.poll_interval_ms
        if trouble:
            self._attempts += 1
            return max(interval_ms, self._around.backoff.delay_ms(self._attempts, self._around.rng))
        self._attempts = 0
        return 0 if more else interval_ms

    def _say(self, trouble: str) -> None:
        if trouble == self._trouble:
            return
        if trouble:
            log.warning("Down: %s", trouble)
        elif self._trouble is None:
            log.info("Up")
        else:
            log.info("Up again")
        self._trouble = trouble

    def _hand_over(self, chunk: Chunk) -> None:
        """Events go at once; a position without events only now and then."""
        now_ms = self._around.clock()
        self.state = chunk.state
        if not chunk.events and 0 <= now_ms - self._saved_ms < self._around.save_interval_ms:
            self._unsaved = True
            return
        if self._outlet.offer(chunk.events, {self.name: chunk.state}, self._around.stop):
            self._saved_ms, self._unsaved = now_ms, False
        elif chunk.events:
            self._unsaved = False
