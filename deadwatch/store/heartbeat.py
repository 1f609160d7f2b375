"""Heartbeats of streaming and of redrive workers in the store, so that a dead one does not look idle."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.runtime.health import unheard
from deadwatch.store.errors import FencedError
from deadwatch.store.store import Store
from deadwatch.store.trouble import line

STREAMING: Final = "streaming"
KAFKA: Final = "kafka"
REDRIVE: Final = "redrive"
STORE: Final = "store"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _State:
    kind: str
    up: bool
    message: str
    works: bool


class Heartbeat:
    """Writes the state of every name at intervals until it is closed; thread-safe.

    ``work_done`` is called after each write while all names work.
    """

    def __init__(
        self,
        store: Store,
        interval_ms: int,
        clock_ms: Callable[[], int],
        work_done: Callable[[], None] = unheard,
    ) -> None:
        self._store = store
        self._interval_ms = interval_ms
        self._clock_ms = clock_ms
        self._work_done = work_done
        self._states: dict[str, _State] = {}
        self._one_at_a_time = threading.Lock()
        self._changed = threading.Event()
        self._closed = False
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def say(
        self, name: str, *, up: bool, message: str = "", kind: str = "", works: bool | None = None
    ) -> None:
        """Set the state of ``name``; a change is written at once. Its kind is its name unless given.

        Unless given, it ``works`` when it is up and has no message.
        """
        state = _State(kind or name, up, message, up and not message if works is None else works)
        with self._one_at_a_time:
            if self._states.get(name) != state:
                self._states = {**self._states, name: state}
                self._changed.set()

    def close(self) -> None:
        """Write the latest states once more and end the thread."""
        self._closed = True
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            self._changed.wait(self._interval_ms / 1_000)
            self._changed.clear()
            self._write()
        self._write()  # a state that was set while the last beat was written

    def _write(self) -> None:
        try:
            for name, state in self._states.items():
                self._store.note_source(
                    name, state.kind, up=state.up, message=state.message, now_ms=self._clock_ms()
                )
        except SQLAlchemyError as error:
            if line(error) != self._trouble:
                self._trouble = line(error)
                log.warning("the heartbeat is not taken: %s", self._trouble)
        except FencedError as error:  # ``Store.hold`` has asked for the end
            log.warning("the heartbeat is not taken: %s", error)
        else:
            self._trouble = ""
            if self._states and all(state.works for state in self._states.values()):
                self._work_done()
