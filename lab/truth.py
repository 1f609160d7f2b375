"""What was provoked, and what the lab's own logs hold of it.

Streams writes one task timeout in up to three log entries (state updater, stream thread, client), some at
level INFO, and each stack trace repeats its message. A later stall may bring the same task with the same
milliseconds. So a timeout is told by (client, task, elapsed ms), and mentions that follow each other within
ten seconds are one. An expired batch is written twice in an entry, and once more by every other task whose
records were in it, at the same moment; batches that look alike at another moment are counted.

Nothing here is shared with the service: it is the other witness.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_ENTRY: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ", re.MULTILINE)
_CLIENT: Final = re.compile(r"\b(\w+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
_TIMEOUT: Final = re.compile(r"Task (\S+) did not make progress within (\d+) ms")
_EXPIRY: Final = re.compile(r"Expiring (\d+) record\(s\) for (\S+-\d+):(\d+) ms")
_SAME_TIMEOUT_WITHIN_S: Final = 10.0
_SAME_BATCH_WITHIN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Truth:
    """What an observer must have seen so far; differences tell what happened in between."""

    abandoned_tasks_current: int = 0
    abandoned_tasks_total: int = 0
    share_dead_letters: int = 0
    connect_dead_letters: int = 0
    task_timeouts: int = 0
    expired_batches: int = 0
    expired_records: int = 0
    share_accepted: int = 0
    connect_returned: int = 0

    def __sub__(self, earlier: "Truth") -> "Truth":
        return Truth(*(getattr(self, name) - getattr(earlier, name) for name in Truth.__slots__))


@dataclass(frozen=True, slots=True)
class Entry:
    """One log entry: when, and its text with everything up to the next entry."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Expired:
    """What delivery timeouts cost."""

    batches: int
    records: int


def entries(log: str) -> Iterator[Entry]:
    """Split a log at its timestamps."""
    starts = list(_ENTRY.finditer(log))
    bounds = [*(start.start() for start in starts), len(log)]
    for start, end in zip(starts, bounds[1:], strict=True):
        at = datetime.strptime(start.group(1) + "000", "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007 - differences only
        yield Entry(at, log[start.start() : end])


def count_task_timeouts(log: str) -> int:
    """How many tasks timed out."""
    return sum(1 for _ in _distinct(log, _TIMEOUT, _SAME_TIMEOUT_WITHIN_S))


def count_expired(log: str) -> Expired:
    """How many batches, and records in them, expired."""
    batches = [int(records) for records, *_ in _distinct(log, _EXPIRY, _SAME_BATCH_WITHIN_S)]
    return Expired(len(batches), sum(batches))


def _distinct(log: str, pattern: re.Pattern[str], within_s: float) -> Iterator[tuple[str, ...]]:
    """The groups of every match that no mention by the same client, so shortly before, had as well."""
    last_mention: dict[tuple[str, ...], datetime] = {}
    for entry in entries(log):
        client = _CLIENT.search(entry.text)
        for groups in sorted(set(pattern.findall(entry.text))):
            key = (client.group(1) if client else "", *groups)
            before = last_mention.get(key)
            if before is None or (entry.at - before).total_seconds() > within_s:
                yield groups
            last_mention[key] = entry.at
