"""A store in place of one that is damaged, or as a backup has it; what was there is kept under another name.

What Kafka does not have is read from the damaged file, as far as that goes. Counts are those of the newest
backup that is whole, or none: streaming finds in the new store where they end and reads what came since from
Kafka. What is not as it was last moves no record by itself: orders are paused, policies are switched off.
"""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from streaming.redrive.order import Status
from streaming.store import audit, backups, check, file, lease, migrate, salvage, versions
from streaming.store.audit import Entry
from streaming.store.engine import connect
from streaming.store.errors import DamagedError, StoreError
from streaming.store.orders import OrderBook
from streaming.store.policies import PolicyBook
from streaming.store.policy_rows import policy_of
from streaming.store.schema import redrive_orders, redrive_policies
from streaming.store.trouble import RESTORE
from streaming.store.versions import Kind

NEWEST: Final = "newest"
NEW: Final = ".restoring"
RESTING: Final = "the store was restored: see what has been moved since, then resume"
COUNTS: Final = "counts are those of {}: streaming reads what came since from Kafka"
NO_COUNTS: Final = "there are no counts: streaming counts all that Kafka has; what it has no more is lost"

Lines = list[str]


def from_backup(store: Path, backup: str, now_ms: int) -> Lines:
    """Make the store what it was in a backup, or in the newest one that is whole.

    Raises:
        StoreError: the backup cannot be used, or the store is in use. The store is as it was.
    """
    _require_vacant(store)
    if backup == NEWEST:
        base = _newest_whole(store, versions.known()[0])
        if base is None:
            raise StoreError(f"no backup beside {store} is there and whole: name a file")
    else:
        base = Path(backup)
        _version_of(base)
    new = _begun(store, base)
    migrate.upgrade(new)
    return _finished(store, new, base, (), now_ms)


def from_damaged(store: Path, now_ms: int) -> Lines:
    """Make a new store of what can be read of the damaged one.

    Raises:
        StoreError: it is not damaged, or in use. It is as it was.
    """
    _require_vacant(store)
    _require_damaged(store)
    version = _version_of_damaged(store)
    base = _newest_whole(store, version)
    new = _begun(store, base)
    migrate.upgrade(new, version)
    taken = salvage.take(store, new, counted=base is not None)
    migrate.upgrade(new)
    kept = f"kept: {', '.join(str(one) for one in taken)}"
    return [kept, *_finished(store, new, base, [one.table for one in taken if one.whole], now_ms)]


def _require_vacant(store: Path) -> None:
    with file.vacant(store):
        pass


def _require_damaged(store: Path) -> None:
    if not store.exists():
        raise StoreError(
            f"there is no {store}: streaming makes it and counts what Kafka has; or name a backup"
        )
    try:
        found = check.whole(file.read_only(store))
    except DamagedError:
        return
    if found.kind is not Kind.EMPTY:
        raise StoreError(f"{store} is whole: to go back to a backup, name it, or say `{NEWEST}`")


def _version_of_damaged(store: Path) -> str:
    """Ours, where it cannot be told."""
    with suppress(SQLAlchemyError), file.read_only(store).connect() as connection:
        found = versions.state(connection)
        if found.kind is Kind.NEWER:
            versions.require(found)
        if found.version in versions.known():
            return found.version
    return versions.known()[0]


def _newest_whole(store: Path, most: str) -> Path | None:
    """The newest backup that is whole, and of no newer version than ``most``."""
    for backup in backups.every(store):
        with suppress(StoreError):
            if _version_of(backup) <= most:
                return backup
    return None


def _version_of(backup: Path) -> str:
    """Of a backup that can be used. Raises ``StoreError``."""
    if not backup.is_file():
        raise StoreError(f"there is no file {backup}")
    try:
        found = check.whole(file.read_only(backup))
    except DamagedError as error:
        raise StoreError(f"{backup} is damaged: name another, or say `{NEWEST}`") from error
    if found.kind not in {Kind.OLDER, Kind.CURRENT}:
        versions.require(found)
        raise StoreError(f"{backup} holds no store")
    return found.version


def _begun(store: Path, base: Path | None) -> Engine:
    """The new store: with what the backup has, or empty."""
    new = store.with_name(store.name + NEW)
    for ending in (*file.BESIDE, ""):
        new.with_name(new.name + ending).unlink(missing_ok=True)
    if base is not None:
        backups.make(base, new)
    return connect(f"{file.ADDRESS}{new}")


def _finished(store: Path, new: Engine, base: Path | None, as_last: Collection[str], now_ms: int) -> Lines:
    """Put it in place; ``as_last``: tables that are as they were last."""
    counts = NO_COUNTS if base is None else COUNTS.format(base.name)
    said = [*_rested(new, as_last, now_ms), counts]
    with new.begin() as connection:
        lease.displace(connection)
        entry = Entry(at_ms=now_ms, who=RESTORE, action="store.restore", subject=base.name if base else "")
        audit.write(connection, replace(entry, why="; ".join(said)))
    new.dispose()
    aside = _put_in_place(store.with_name(store.name + NEW), store)
    return [*said, f"{store} is restored" + (f"; what was there is {aside.name} now" if aside else "")]


def _rested(new: Engine, as_last: Collection[str], now_ms: int) -> Lines:
    """What moves records by itself rests where the table is not as it was last."""
    orders = [] if redrive_orders.name in as_last else _paused(new)
    policies = [] if redrive_policies.name in as_last else _switched_off(new, now_ms)
    return [
        *([f"paused until somebody resumes them: {len(orders)} orders"] if orders else []),
        *([f"switched off until somebody enables them: {len(policies)} policies"] if policies else []),
    ]


def _paused(new: Engine) -> list[str]:
    orders = redrive_orders.c
    running = select(orders.id).where(orders.status == Status.RUNNING, orders.dry_run.is_(False))
    with new.begin() as connection:
        found = list(connection.scalars(running))
    for order in found:
        OrderBook(new).pause(order, RESTING)
    return found


def _switched_off(new: Engine, now_ms: int) -> list[str]:
    with new.begin() as connection:
        enabled = select(redrive_policies).where(redrive_policies.c.enabled)
        found = [policy_of(row) for row in connection.execute(enabled).mappings()]
    for one in found:
        off = one.request.model_copy(update={"enabled": False})
        PolicyBook(new).change(replace(one, request=off, changed_by=RESTORE, changed_at_ms=now_ms), None)
    return [one.id for one in found]


def _put_in_place(new: Path, store: Path) -> Path | None:
    """With the owner and the rights of what was there; where that is now."""
    backups.settle(new)
    with file.vacant(store):
        aside = None
        if store.exists():
            before = store.stat()
            new.chmod(before.st_mode & 0o777)
            if (before.st_uid, before.st_gid) != (new.stat().st_uid, new.stat().st_gid):
                os.chown(new, before.st_uid, before.st_gid)
            aside = file.put_aside(store)
        new.rename(store)
    backups.settle(store.parent)
    return aside
