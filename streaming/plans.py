"""What Spark planned for a batch, out of its own log: from where to where every partition is read.

An entry of the log has a line a source of the query, "-" for one that had nothing yet.

The log is written before a batch begins and stays as it is when the batch is run again.
"""

import json
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streaming.checkpoint import numbers

Place = tuple[str, int]
"""Topic and partition."""
Offsets = Mapping[Place, int]

OFFSETS: Final = "offsets"
COMMITS: Final = "commits"
INITIAL: Final = "sources/*/0"
NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Plan:
    """``end`` is excluded; a partition that is new to the query has no ``begin``."""

    begin: Offsets
    end: Offsets


def read(checkpoint: Path, batch_id: int) -> Plan | None:
    """The plan of a batch; None where Spark has not written it, or has removed it."""
    end = _offsets(checkpoint / OFFSETS / str(batch_id))
    begin = _offsets(checkpoint / OFFSETS / str(batch_id - 1)) if batch_id else _initial(checkpoint)
    return None if end is None or begin is None else Plan(begin, end)


def newest_topics(checkpoint: Path) -> tuple[frozenset[str], bool]:
    """The topics of the newest plan, and whether its batch has still to end."""
    planned, done = numbers(checkpoint / OFFSETS), numbers(checkpoint / COMMITS)
    if not planned:
        return frozenset(), False
    offsets = _offsets(checkpoint / OFFSETS / str(max(planned))) or {}
    return frozenset(topic for topic, _ in offsets), max(planned) > max(done, default=-1)


def _initial(checkpoint: Path) -> Offsets | None:
    """From where every source began."""
    found = [_read(file, slice(-1, None)) for file in checkpoint.glob(INITIAL)]
    known = [offsets for offsets in found if offsets is not None]
    return dict(ChainMap(*known)) if known and len(known) == len(found) else None


def _offsets(file: Path) -> dict[Place, int] | None:
    return _read(file, slice(2, None))  # after the version of the log and the settings of the batch


def _read(file: Path, lines: slice) -> dict[Place, int] | None:
    try:
        sources = [json.loads(line) for line in file.read_text().splitlines()[lines] if line != NOTHING]
    except (OSError, ValueError):
        return None
    return {
        (topic, int(number)): offset
        for topics in sources
        for topic, partitions in topics.items()
        for number, offset in partitions.items()
    }
