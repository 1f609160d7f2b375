"""Whether Spark's checkpoint and the store tell the same story; the store is the truth.

The checkpoint is trusted when the last batch that it finished is the store's last one, or the one before it
(the process ended between the two commits). Where it is ahead, the store was restored, replaced, or lost its
last seconds with the power: the checkpoint is put aside and the query goes on from the offsets in the store,
which stand in the same transactions as the counts. Nothing is lost or counted twice so.

One that is damaged, of another Spark or an old copy is refused: somebody has to know. ``deadwatch backfill``
is the way out.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOG_VERSION: Final = "v1"
SOURCES: Final = 2
"""Of the query: events and dead letters."""
NEWEST: Final = "the newest batch of {} cannot be read"

logger = logging.getLogger(__name__)


class CheckpointError(Exception):
    """The checkpoint cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a checkpoint says; -1: no batch yet. ``sources``: of its newest plan, None without one."""

    query_id: str
    committed: int
    sources: int | None = SOURCES


def settle(directory: Path, stored: Mapping[str, int]) -> Path | None:
    """Put a checkpoint aside that the store does not know; returns where it is then.

    Raises:
        CheckpointError: it is damaged, of a version of Spark that we do not know, or an old copy.
    """
    if not directory.is_dir() or not any(directory.iterdir()):
        return None
    if not _is_begun(directory):
        return put_aside(directory, "it has no batch")
    why = unknown(read(directory), stored)
    return put_aside(directory, why) if why else None


def is_usable(directory: Path) -> bool:
    """Whether it is there not at all, or can be read."""
    if not directory.is_dir():
        return True
    try:
        read(directory)
    except CheckpointError:
        return False
    return True


def put_aside(directory: Path, why: str) -> Path:
    """Keep the checkpoint under another name, so that the query goes on from the store."""
    aside = _free(directory)
    directory.rename(aside)
    logger.warning(
        "the checkpoint was put aside as %s: %s; the query goes on from the offsets in the store",
        aside.name,
        why,
    )
    return aside


def read(directory: Path) -> Progress:
    """The progress of the query.

    Raises:
        CheckpointError: it is damaged, or of a version of Spark that we do not know.
    """
    try:
        query_id = json.loads((directory / "metadata").read_text())["id"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CheckpointError("its metadata cannot be read") from None
    planned, _ = _newest(directory / "offsets")
    _, committed = _newest(directory / "commits")
    return Progress(str(query_id), committed, len(planned) - 1 if planned else None)


def unknown(progress: Progress, stored: Mapping[str, int]) -> str:
    """Why the store does not know a checkpoint; "" when both are at the same batch.

    Raises:
        CheckpointError: it is far behind the store.
    """
    applied = stored.get(progress.query_id, -1)
    where = f"it has finished batch {progress.committed}, the store's last one is {applied}"
    if progress.committed > applied:
        return f"{where}: the store was restored, replaced, rebuilt, or lost its last seconds"
    if progress.committed < applied - 1:
        raise CheckpointError(f"{where}: it is an old copy")
    if progress.sources not in {SOURCES, None}:
        return f"it is of an earlier version, whose query read {progress.sources} sources, not {SOURCES}"
    return "" if progress.query_id in stored else "it has not finished a batch"


def _is_begun(directory: Path) -> bool:
    """Whether Spark came to write more than the directory."""
    logs = (directory / name for name in ("offsets", "commits"))
    return (directory / "metadata").exists() or any(numbers(log) for log in logs)


def numbers(log: Path) -> list[int]:
    """The numbers of the entries of one of Spark's logs."""
    return [int(file.name) for file in log.glob("*") if file.name.isdecimal()] if log.is_dir() else []


def _newest(log: Path) -> tuple[Sequence[str], int]:
    """The newest entry of one of Spark's logs, which is checked, and its number; -1 where there is none."""
    found = numbers(log)
    if not found:
        return (), -1
    newest = log / str(max(found))
    try:
        version, *entries = newest.read_text().splitlines()
        _ = [json.loads(entry) for entry in entries if entry not in {"-", ""}]
    except (OSError, ValueError):
        raise CheckpointError(NEWEST.format(log.name)) from None
    if version != LOG_VERSION:
        raise CheckpointError(f"{log.name} has format {version[:20]!r}, this program writes {LOG_VERSION}")
    return entries, max(found)


def _free(directory: Path) -> Path:
    names = (directory.with_name(f"{directory.name}.aside-{number}") for number in range(1, 1_000_000))
    return next(name for name in names if not name.exists())
