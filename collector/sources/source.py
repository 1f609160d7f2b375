"""What a source is to the runtime that polls it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from collector.contract.events import Event

State = Mapping[str, Any]
"""What a source saves, as JSON has it."""


class SourceDownError(Exception):
    """The source cannot be read now; the text says what to do and stays the same while the reason does."""


class SourceTimeoutError(SourceDownError):
    """A call has not come back in time; ``call`` names it. It counts towards ``task_timeout_ms``."""

    def __init__(self, call: str, text: str) -> None:
        super().__init__(text)
        self.call = call


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one poll has brought.

    ``state`` is saved once the events are committed. ``trouble`` says what the source could not see
    meanwhile. With ``more`` the source wants to be polled again at once.
    """

    events: tuple[Event, ...]
    state: State
    trouble: str = ""
    more: bool = False


class Source(Protocol):
    """Something to read; only its own thread calls it. A poll that raises has changed nothing."""

    @property
    def name(self) -> str:
        """The ``source`` of its events; carries no secret."""

    @property
    def kind(self) -> str:
        """``log``, ``connect``, ``connect_tasks``, ``broker`` or ``dead_letter_topics``."""

    @property
    def poll_interval_ms(self) -> int:
        """How long to wait after a poll that wants no more."""

    def poll(self) -> Chunk | None:
        """What is new, None for nothing. Raises ``SourceDownError``."""

    def close(self) -> None:
        """Let go of files and connections."""
