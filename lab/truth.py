"""What was provoked, and how often the lab's own logs say so.

Streams writes one task timeout in up to three log entries (state updater, stream thread, client), some at
level INFO, and each stack trace repeats its message. A later stall may bring the same task with the same
milliseconds. So a timeout is identified by (client, task, elapsed ms), and mentions that follow each other
within ten seconds are one. An expired batch is written twice in an entry, and once more by every other task
whose records were in it, at the same moment; batches that look alike at another moment are counted.

Nothing here is shared with the service, which is judged by it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

_ENTRY: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ", re.MULTILINE)
_CLIENT: Final = re.compile(r"\b(\w+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
_TIMEOUT: Final = re.compile(r"Task (\S+) did not make progress within (\d+) ms")
_EXPIRY: Final = re.compile(r"Expiring (\d+) record\(s\) for (\S+-\d+):(\d+) ms")
_SAME_TIMEOUT_WITHIN_MS: Final = 10_000
_SAME_BATCH_WITHIN_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Truth:
    """What an observer must have seen so far; a difference is what happened in between."""

    abandoned_tasks_current: int = 0
    abandoned_tasks_total: int = 0
    share_dead_letters: int = 0
    connect_dead_letters: int = 0
    task_timeouts: int = 0
    expired_batches: int = 0
    expired_records: int = 0
    share_accepted: int = 0
    connect_returned: int = 0
    spring_dead_letters: int = 0
    spring_processed: int = 0
    stream_records_dropped: int = 0

    def __sub__(self, earlier: "Truth") -> "Truth":
        return Truth(*(getattr(self, name) - getattr(earlier, name) for name in Truth.__slots__))


class Entry(NamedTuple):
    """One log entry: when, in milliseconds since the epoch, and its text up to the next entry."""

    at_ms: int
    text: str


def entries(log: str) -> Iterator[Entry]:
    """Split a log at its timestamps."""
    starts = list(_ENTRY.finditer(log))
    bounds = [*(start.start() for start in starts), len(log)]
    for start, end in zip(starts, bounds[1:], strict=True):
        at = datetime.strptime(start.group(1) + "000", "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007 - local, as logs are
        yield Entry(int(at.timestamp() * 1_000), log[start.start() : end])


def abandonments(log: str) -> list[int]:
    """When Connect abandoned a task, any of them, in milliseconds since the epoch."""
    return [entry.at_ms for entry in entries(log) if "Graceful stop of task " in entry.text]


def task_timeouts(log: str) -> list[int]:
    """When each task timed out, in milliseconds since the epoch."""
    return [at_ms for at_ms, _ in _distinct(log, _TIMEOUT, _SAME_TIMEOUT_WITHIN_MS)]


def expired_batches(log: str) -> list[tuple[int, int]]:
    """When each batch expired after delivery.timeout.ms, and how many records were in it."""
    found = _distinct(log, _EXPIRY, _SAME_BATCH_WITHIN_MS)
    return [(at_ms, int(records)) for at_ms, (records, *_) in found]


def _distinct(log: str, pattern: re.Pattern[str], within_ms: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Time and groups of every match, without what the same client repeats so soon after the last time."""
    last_mention: dict[tuple[str, ...], int] = {}
    for at_ms, text in entries(log):
        client = _CLIENT.search(text)
        for groups in sorted(set(pattern.findall(text))):
            key = (client.group(1) if client else "", *groups)
            if key not in last_mention or at_ms - last_mention[key] > within_ms:
                yield at_ms, groups
            last_mention[key] = at_ms
