"""Backups of a SQLite store: files beside it, made while it is written.

A backup is whole or not there; none is overwritten.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Final

from deadwatch.runtime.clock import DAY_MS
from deadwatch.store.errors import StoreError
from deadwatch.store.maintenance import file

MARK: Final = ".backup-"
PART: Final = ".part"
FORM: Final = "%Y%m%dT%H%M%SZ"
OWNER_ONLY: Final = 0o600
ROOM: Final = 2
"""A scheduled backup needs this many times the store's size as free space: the store itself may grow."""


def path(store: Path, at_ms: int) -> Path:
    """The path of a backup made at this time (ms since the epoch)."""
    return store.with_name(f"{store.name}{MARK}{datetime.fromtimestamp(at_ms / 1_000, UTC):{FORM}}")


def every(store: Path, now_ms: int) -> list[Path]:
    """The backups beside the store, the newest first.

    One from later than ``now_ms`` was made while the clock was ahead, nobody knows when: it comes last.
    """
    found = (one for one in store.parent.glob(f"{escape(store.name)}{MARK}*") if made_ms(one))
    return sorted(found, key=lambda one: (made_ms(one) <= now_ms, made_ms(one)), reverse=True)


def made_ms(backup: Path) -> int:
    """When a backup was made, by its name, in ms since the epoch; 0 for the name of another file."""
    timestamp = backup.name.rpartition(MARK)[2]
    try:
        made = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    return round(made.timestamp() * 1_000) if f"{made:{FORM}}" == timestamp else 0


def make(store: Path, target: Path, stopped: Callable[[], bool] | None = None) -> None:
    """Copy one snapshot of the store; writers go on meanwhile, and the copy ends early when ``stopped``.

    Raises:
        StoreError: a file with that name exists.
        OSError, SQLAlchemyError: the copy failed. Nothing is left of it.
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


def forget(store: Path, made: Path, kept: int, now_ms: int) -> None:
    """Delete all backups but the one just ``made`` and the newest others, ``kept`` in all.

    Also unfinished ones that are a day apart from it.
    """
    others = [one for one in every(store, now_ms) if one != made]
    begun = store.parent.glob(f".{escape(store.name)}{MARK}*{PART}")
    left = [one for one in begun if abs(made_ms(one.with_suffix("")) - made_ms(made)) > DAY_MS]
    for one in (*others[kept - 1 :], *left):
        one.unlink()


def settle(written: Path) -> None:
    """Wait until a file or directory is on the disk (fsync)."""
    descriptor = os.open(written, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
