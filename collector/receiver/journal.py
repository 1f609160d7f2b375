"""The journal: what the receiver has taken reaches Kafka exactly once, because it is saved, then sent, then
forgotten.

A crash between these steps leaves the events in the saved state: the next start sends them again at the
same positions, before anything new, and readers drop what they have counted. So a request that was
answered, or that was taken although its answer came too late, is counted once.
"""

import itertools
import json
import logging
import queue
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from collector.positions import PositionsError
from collector.publish.publisher import ChunkQueue, QueuedChunk
from collector.receiver.body import Reason
from collector.receiver.events import InvalidEventError, event_of
from collector.receiver.state import Origin, Saved, Submission
from collector.sources.source import State
from deadwatch.contract.events import Event, Position, encode

log = logging.getLogger(__name__)

NAME: Final = "receiver"
MAX_WAITING: Final = 256
MAX_TOGETHER: Final = 64
"""Submissions that are committed together."""

Step = tuple[tuple[Event, ...], State]
"""Events, and the state to save with them."""

Pending = tuple[Submission, Future[None]]
"""A submission, and what is resolved when it is committed; it may be cancelled before."""

_SAVED: Final = TypeAdapter(Saved)


class Journal:
    """Used by one thread, but for ``submit``; it outlives the receiver that uses it."""

    def __init__(self, chunks: ChunkQueue, saved: State | None, now_ms: int) -> None:
        self._chunks = chunks
        self._waiting: queue.Queue[Future[None]] = queue.Queue(MAX_WAITING)
        self._submitted: dict[Future[None], Submission] = {}
        """By what resolves it; one that is given up is forgotten at once, however long Kafka is away."""
        self._sending: list[Pending] = []
        self._steps: deque[Step] = deque()
        """What is on its way, and what follows once that is committed."""
        self._committed = threading.Event()
        self._numbers = itertools.count(1)
        known, again = _restored(saved)
        self._saved = replace(known, position_ms=max(now_ms, known.position_ms + 1), ahead=())
        if again:
            self._send((again, _state(self._saved)))

    def submit(self, submission: Submission) -> Future[None] | None:
        """Resolved when the submission is committed; None when too many are waiting."""
        done: Future[None] = Future()
        self._submitted[done] = submission
        done.add_done_callback(lambda done: self._submitted.pop(done, None))
        try:
            self._waiting.put_nowait(done)
        except queue.Full:
            done.cancel()
            return None
        return done

    def step(self, wait_ms: int) -> None:
        """Wait for what is on its way; if that has arrived, send what has come meanwhile."""
        while self._steps:
            if not self._committed.wait(wait_ms / 1_000):
                return
            self._steps.popleft()
            self._put_next()
        for _, done in self._sending:
            if not done.done():
                done.set_result(None)
        self._sending = []
        gathered = self._gather(wait_ms)
        if gathered:
            self._apply(gathered)
            self._sending = gathered  # after it: what could not be applied is answered by nobody

    def _send(self, *steps: Step) -> None:
        """Put the first step on its way; each of the others follows when the one before is committed."""
        self._steps.extend(steps)
        self._put_next()

    def _put_next(self) -> None:
        if self._steps:
            events, state = self._steps[0]
            self._committed.clear()
            self._chunks.put(QueuedChunk(events, {NAME: state}, self._committed.set))

    def _gather(self, wait_ms: int) -> list[Pending]:
        """The submissions that nobody has given up, waiting for a first one."""
        gathered: list[Pending] = []
        with suppress(queue.Empty):
            while len(gathered) < MAX_TOGETHER:
                done = self._waiting.get(timeout=0 if gathered else wait_ms / 1_000)
                if done.set_running_or_notify_cancel():
                    gathered.append((self._submitted.pop(done), done))
        return gathered

    def _apply(self, gathered: list[Pending]) -> None:
        fresh: list[Event] = []
        for submission, done in gathered:
            try:
                self._saved, events = submission.applied_to(self._saved)
            except Exception as error:  # a process loop: one submission's failure stays its own
                log.exception("A submission cannot be read")
                done.set_exception(error)
            else:
                fresh += events
        at_ms, numbers = self._saved.position_ms, self._numbers
        ready = tuple(_readable(replace(event, position=Position(at_ms, next(numbers)))) for event in fresh)
        ahead = replace(self._saved, ahead=tuple(_json(event) for event in ready))
        first: list[Step] = [((), _state(ahead))] if ready else []
        self._send(*first, (ready, _state(self._saved)))


def _json(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(event)[1])
    return body


def _readable(event: Event) -> Event:
    """The event, or that it was skipped: a log may contain a number that no reader accepts."""
    try:
        return event_of(_json(event))
    except InvalidEventError as error:
        origin = Origin(event.source, event.kafka_cluster, event.observed_at_ms)
        return replace(origin.quarantined(Reason.INVALID_EVENT, str(error)), position=event.position)


def _state(saved: Saved) -> State:
    state: State = _SAVED.dump_python(saved, mode="json")
    return state


def _restored(saved: State | None) -> tuple[Saved, tuple[Event, ...]]:
    """What was saved, and its events that may not have reached Kafka."""
    try:
        known = Saved() if saved is None else _SAVED.validate_python(saved)
        return known, tuple(event_of(dict(event)) for event in known.ahead)
    except (ValidationError, InvalidEventError):
        raise PositionsError(
            "what the receiver has saved cannot be read; restore the positions, or give the collector another"
            " name"
        ) from None
