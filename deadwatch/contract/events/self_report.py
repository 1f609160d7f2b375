"""What a collector reports of itself: how its sources are, what it counts, what it could not read."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.event import Event

DEAD_LETTERS: Final = "dead_letters"
PRODUCE_REQUESTS: Final = "produce_requests"
FAILED_PRODUCE_REQUESTS: Final = "failed_produce_requests"
LOST: Final = "dead_letters_lost"
ABANDONED_TASKS: Final = "abandoned_tasks"
ABANDONED_CONNECTORS: Final = "abandoned_connectors"
"""Names of a ``CollectorCount``."""


LOG_FILE: Final = "log:"
"""Before the path, in the name of a log file's source."""
STATUS: Final = "#status"
"""Behind the name of a source, in that of the source of its status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus(Event):
    """The state of a source, sent at every change and as a heartbeat; ``subject`` is the source's name.

    ``ended``: it is read no more, by nobody's mistake, and is forgotten.
    """

    kind: ClassVar[str] = "source_status"
    subject: str
    source_kind: str
    up: bool
    message: str
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorCount:
    """One count of a collector, since its process began; ``subject`` is the source it is about, or empty.

    ``current`` is how many of the ``total`` still hold: instances that were abandoned and run on.
    """

    name: str
    subject: str
    current: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSnapshot(Event):
    """Everything that a collector counts of itself; with a later ``started_at_ms`` the counts begin anew."""

    kind: ClassVar[str] = "collector_snapshot"
    collector: str
    started_at_ms: int
    collector_counts: tuple[CollectorCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined(Event):
    """Input that a source could not read and has skipped; ``excerpt`` is its beginning."""

    kind: ClassVar[str] = "quarantined"
    reason: str
    excerpt: str
