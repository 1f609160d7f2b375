"""How streaming itself is, said to the store in intervals: so that a dead driver differs from an idle one."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from streaming.store.store import Store

STREAMING: Final = "streaming"
KAFKA: Final = "kafka"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _State:
    up: bool
    message: str


class Heartbeat:
    """Repeats what was last said of ``streaming`` and ``kafka`` until it is closed."""

    def __init__(self, store: Store, interval_ms: int, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._interval_ms = interval_ms
        self._clock_ms = clock_ms
        self._states: dict[str, _State] = {}
        self._changed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def say(self, name: str, *, up: bool, message: str = "") -> None:
        """Remember how ``name`` is; a change is written at once."""
        state = _State(up, message)
        if self._states.get(name) != state:
            self._states = {**self._states, name: state}
            self._changed.set()

    def close(self) -> None:
        """Write what was said last and end."""
        self._closed = True
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            self._changed.wait(self._interval_ms / 1_000)
            self._changed.clear()
            self._write()
        self._write()  # what was said while the last beat was written

    def _write(self) -> None:
        try:
            for name, state in self._states.items():
                self._store.note_source(
                    name, name, up=state.up, message=state.message, now_ms=self._clock_ms()
                )
        except SQLAlchemyError as error:
            logger.warning("the store does not take the heartbeat: %s", str(error).splitlines()[0])
