"""The end of an instance that fails: one that does not close in time is abandoned (KIP-611), the next begins.

What is abandoned so has been polled for the last time: it moves no position that the next instance moves.
"""

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final

from collector.abandonment import Abandonments
from collector.log_context import Scope

log = logging.getLogger(__name__)

SLICE_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Retirement:
    """Closes instances, each in a thread of its own, for no longer than the graceful timeout."""

    abandoned: Abandonments
    graceful_timeout_ms: int

    def retire(self, name: str, scope: Scope, close: Callable[[], None], stop: threading.Event) -> None:
        """Close, and wait until that is late; once ``stop`` is set, whoever stops the task abandons it."""
        closing = threading.Thread(target=copy_context().run, args=(close,), name=name, daemon=True)
        closing.start()
        for _ in range(0, max(self.graceful_timeout_ms, 1), SLICE_MS):
            closing.join(None if stop.is_set() else SLICE_MS / 1_000)
            if not closing.is_alive():
                return
        log.error("Graceful stop of task %s failed.", name)
        self.abandoned.add(name, scope, closing.is_alive)
