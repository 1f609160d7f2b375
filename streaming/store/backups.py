"""Copies of a SQLite store beside it: made while it is written, each whole or not there, none overwritten."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from streaming.store import file
from streaming.store.errors import StoreError

MARK: Final = ".backup-"
PART: Final = ".part"
FORM: Final = "%Y%m%dT%H%M%SZ"
OWNER_ONLY: Final = 0o600
DAY_MS: Final = 86_400_000
ROOM: Final = 2
"""A backup is made by itself only where this many of the store's size are free: the store comes first."""


def path(store: Path, at_ms: int) -> Path:
    """Where a backup of that time is."""
    return store.with_name(f"{store.name}{MARK}{datetime.fromtimestamp(at_ms / 1_000, UTC):{FORM}}")


def every(store: Path) -> list[Path]:
    """Those beside the store, the newest first."""
    return sorted((one for one in store.parent.glob(f"{store.name}{MARK}*") if made_ms(one)), reverse=True)


def made_ms(backup: Path) -> int:
    """When it was made, by its name; 0 for a name that is not of our making."""
    said = backup.name.rpartition(MARK)[2]
    try:
        made = datetime.fromisoformat(said)
    except ValueError:
        return 0
    return round(made.timestamp() * 1_000) if f"{made:{FORM}}" == said else 0


def has_room(store: Path) -> bool:
    """Whether a backup leaves the store enough to grow."""
    return shutil.disk_usage(store.parent).free >= ROOM * store.stat().st_size


def make(store: Path, target: Path, stopped: Callable[[], bool] | None = None) -> None:
    """Copy the store as it is at one moment; writers go on meanwhile, and it ends early when ``stopped``.

    Raises:
        StoreError: there is a file of that name.
        OSError, SQLAlchemyError: it cannot be read or written. Nothing is left of the copy.
    """
    if target.exists():
        raise StoreError(f"{target} is there already: name another file")
    part = target.with_name(f".{target.name}{PART}")
    part.unlink(missing_ok=True)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        with file.read_only(store, stopped).connect() as connection:
            connection.exec_driver_sql("VACUUM INTO ?", (str(part),))
        settle(part)
        part.rename(target)
        settle(target.parent)
    finally:
        part.unlink(missing_ok=True)


def forget(store: Path, kept: int) -> None:
    """Delete all but the newest, and what a process that was killed a day before has left."""
    newest, *_ = found = every(store)
    begun = store.parent.glob(f".{store.name}{MARK}*{PART}")
    left = [one for one in begun if made_ms(one.with_suffix("")) < made_ms(newest) - DAY_MS]
    for one in (*found[kept:], *left):
        one.unlink()


def settle(written: Path) -> None:
    """On the disk, not only on its way."""
    descriptor = os.open(written, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
