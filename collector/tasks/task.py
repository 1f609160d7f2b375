"""A source at work in a thread of its own: poll, publish, wait; with backoff (KIP-580) while the source is
down.

An instance that fails (KIP-572) is closed, or abandoned if closing hangs; after the longest backoff the
next instance continues from its state, with the next sequence number. Trouble is logged once at each
change.

How long an instance may go on timing out is ``task_timeout_ms`` (KIP-572). The timer starts at the first
timeout, and progress resets it; other failures and slow reads do not change it. A timeout after it has
expired fails the instance; with 0 the very first timeout does.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from collector.publish.publisher import BoundedChannel
from collector.sources.source import Chunk, Source, SourceDownError, SourceTimeoutError, State
from collector.tasks.status import Abandonments, Announcement
from collector.telemetry import SILENT, Telemetry
from deadwatch.contract.backoff import Backoff
from deadwatch.contract.deadline import Deadline
from deadwatch.runtime.logs import Scope, invoke, log_context

log = logging.getLogger(__name__)

BLOCKED_MS: Final = 30_000
BLOCKED: Final = "the source has not come back from a read for 30 s; it goes on as soon as that returns"
ABANDONED: Final = "abandoned: the source did not stop in time"


FAILED: Final = (
    "failed: no progress within {timeout_ms} ms (task_timeout_ms), {call} timed out; it is started anew"
)


class Outcome(NamedTuple):
    """The result of one poll; ``error_type`` is the class of what it has raised.

    After ``failed`` the instance is only closed.
    """

    chunk: Chunk | None
    trouble: str
    error_type: str = ""
    failed: bool = False


class Instance:
    """Polls its source; ``polling_since_ms`` is set while that has not come back."""

    def __init__(self, source: Source, task_timeout_ms: int, clock: Callable[[], int]) -> None:
        self.polling_since_ms: int | None = None
        self.poll_interval_ms = source.poll_interval_ms
        self._source = source
        self._deadline = Deadline(task_timeout_ms)
        self._clock = clock
        self._unexpected = ""

    def poll(self) -> Outcome:
        """Poll the source; never raises."""
        self.polling_since_ms = self._clock()
        try:
            chunk = invoke(self._source, self._source.poll)
        except SourceTimeoutError as error:
            return self._timed_out(error)
        except SourceDownError as error:
            return Outcome(None, str(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a process loop: the source's failure stays its own
            return Outcome(None, self._failed_unexpectedly(error), type(error).__name__)
        finally:
            self.polling_since_ms = None
        self._deadline, self._unexpected = self._deadline.progressed(), ""
        return Outcome(chunk, chunk.trouble if chunk is not None else "")

    def close(self) -> None:
        """Close the source; never raises."""
        try:
            invoke(self._source, self._source.close)
        except Exception:
            log.exception("Close failed")

    def _timed_out(self, error: SourceTimeoutError) -> Outcome:
        now_ms, timeout_ms, error_type = self._clock(), self._deadline.timeout_ms, type(error).__name__
        if self._deadline.spent(now_ms):
            trouble = FAILED.format(timeout_ms=timeout_ms, call=error.call)
            return Outcome(None, trouble, error_type, failed=True)
        if not self._deadline.running:
            log.warning(
                "%s timed out; without progress within %d ms the source fails", error.call, timeout_ms
            )
        self._deadline = self._deadline.timed_out(now_ms)
        return Outcome(None, str(error), error_type)

    def _failed_unexpectedly(self, error: Exception) -> str:
        trouble = f"failed unexpectedly ({error!r}); please report this with the collector's log"
        if trouble != self._unexpected:
            log.error("Poll failed", exc_info=error)
        self._unexpected = trouble
        return trouble


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What every task of a process shares; ``save_interval_ms`` is for positions without events."""

    stop: threading.Event
    clock: Callable[[], int]
    rng: Random
    backoff: Backoff
    save_interval_ms: int
    task_timeout_ms: int
    telemetry: Telemetry = SILENT


class Task:
    """Runs instances of one source, one after the other, until it is stopped.

    ``state`` is that of its last chunk, ``sequence`` the number of the present instance, from 1.
    """

    def __init__(
        self,
        source: Source,
        make: Callable[[], Source],
        *,
        scope: Scope,
        channel: BoundedChannel,
        status: Announcement,
        context: TaskContext,
        abandoned: Abandonments,
    ) -> None:
        self.name = source.name
        self.scope = scope
        self.state: State | None = None
        self.sequence = 1
        self._make = make
        self._channel = channel
        self._status = status
        self._context = context
        self._abandonments = abandoned
        self._kind = source.kind
        self._instance = self._instance_of(source)
        self._attempts = 0
        self._trouble: str | None = None
        self._blocked_since_ms: int | None = None
        self._saved_ms = context.clock()
        self._unsaved = False
        self._abandoned = False
        self._ended = self._told = False
        self._announcing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=source.name, daemon=True)

    def start(self) -> None:
        """Start the task's thread."""
        self._thread.start()

    def ends(self, within_ms: float) -> bool:
        """Whether the task has ended ``within_ms``."""
        self._thread.join(max(within_ms, 0) / 1_000)
        return not self._thread.is_alive()

    @property
    def over(self) -> bool:
        """Whether the source has ended, and that was told."""
        return self._told and not self._thread.is_alive()

    def abandon(self) -> None:
        """Count and publish that the task was abandoned: nobody waits for it any longer."""
        with log_context(self.name, self.scope, self.sequence):
            self._abandonments.add(self.name, self.scope, self._thread.is_alive)
        self._abandoned = True
        self._publish_status(ABANDONED)

    def announce(self) -> None:
        """Publish the status of the source, if that is due; never waits."""
        if self._ended:
            self._told = self._status.publish(up=True, message="", ended=True)
            return
        trouble = BLOCKED if self._is_blocked() else self._trouble
        if trouble is not None and not self._abandoned:
            self._publish_status(trouble)

    def _publish_status(self, trouble: str) -> None:
        with self._announcing:
            self._status.publish(up=not trouble, message=trouble)

    def _is_blocked(self) -> bool:
        """Whether a poll does not return; logged once for each such poll."""
        since_ms = self._instance.polling_since_ms
        if since_ms is None or self._context.clock() - since_ms <= BLOCKED_MS:
            return False
        if self._blocked_since_ms != since_ms:
            self._blocked_since_ms = since_ms
            with log_context(self.name, self.scope, self.sequence):
                log.warning("Down: %s", BLOCKED)
        return True

    def _run(self) -> None:
        while self._run_instance() and self._renew():
            pass

    def _run_instance(self) -> bool:
        """Run one instance to its end; whether it has failed and is to be followed by another one."""
        stop, failed = self._context.stop, False
        with log_context(self.name, self.scope, self.sequence):
            while not failed and not self._ended and not stop.is_set():
                wait_ms, failed = self._step()
                stop.wait(wait_ms / 1_000)
            if self._unsaved and self.state is not None:
                self._channel.offer((), {self.name: self.state})
            if failed:
                self._abandonments.retire(self.name, self.scope, self._instance.close, stop)
            else:
                self._instance.close()
            if self._abandoned:
                log.warning("Ended after it was abandoned")
            elif self._ended:
                log.info("Ended: it is gone")
        return failed and not stop.is_set()

    def _renew(self) -> bool:
        """Make the next instance, and try again until that succeeds; false when stopped before."""
        self.sequence += 1
        with log_context(self.name, self.scope, self.sequence):
            while not self._context.stop.is_set():
                try:
                    self._instance = self._instance_of(self._make())
                except Exception as error:  # noqa: BLE001 - a process loop: tried again until stopped
                    self._note(f"cannot be started anew ({error!r})")
                    self.announce()
                    self._context.stop.wait(self._context.backoff.max_ms / 1_000)
                else:
                    return True
        return False

    def _instance_of(self, source: Source) -> Instance:
        return Instance(source, self._context.task_timeout_ms, self._context.clock)

    def _step(self) -> tuple[int, bool]:
        """One poll; how many ms to wait after it, and whether the instance has failed."""
        began_ms = self._context.clock()
        chunk, trouble, error_type, failed = self._instance.poll()
        events = len(chunk.events) if chunk is not None else 0
        now_ms = self._context.clock()
        self._context.telemetry.polled(self.name, self._kind, events, began_ms, now_ms, error_type=error_type)
        if chunk is not None and chunk.ended:
            self._publish(chunk)
            self._ended = True
            return 0, False
        self._note(trouble)
        self.announce()
        self._publish(chunk)
        if failed:
            return self._context.backoff.max_ms, True
        return self._wait_ms(chunk, trouble), False

    def _wait_ms(self, chunk: Chunk | None, trouble: str) -> int:
        interval_ms = self._instance.poll_interval_ms
        if trouble:
            self._attempts += 1
            return max(interval_ms, self._context.backoff.delay_ms(self._attempts, self._context.rng))
        self._attempts = 0
        return 0 if chunk is not None and chunk.more else interval_ms

    def _note(self, trouble: str) -> None:
        """Log trouble, or its end, once at each change."""
        if trouble == self._trouble:
            return
        if trouble:
            log.warning("Down: %s", trouble)
        elif self._trouble is None:
            log.info("Up")
        else:
            log.info("Up again")
        self._trouble = trouble

    def _publish(self, chunk: Chunk | None) -> None:
        """Publish events at once, and a position without events once each ``save_interval_ms``, also where
        nothing has come after it.
        """
        events, now_ms = (chunk.events if chunk is not None else ()), self._context.clock()
        if chunk is not None:
            self.state, self._unsaved = chunk.state, True
        is_early = not events and 0 <= now_ms - self._saved_ms < self._context.save_interval_ms
        if self.state is None or not self._unsaved or is_early:
            return
        if self._channel.offer(events, {self.name: self.state}, self._context.stop):
            self._saved_ms, self._unsaved = now_ms, False
        elif events:
            self._unsaved = False
