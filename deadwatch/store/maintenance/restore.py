"""Restoring a store from a backup, or replacing a damaged one; the old file is kept under another name.

Of a damaged store, what Kafka does not have is read from the file as far as possible. Counts are those of the
newest backup that is whole, or none: streaming finds the offsets of these counts in the new store and reads
what came since from Kafka. Orders and policies that are not in their latest state must not move records by
themselves: such orders are paused, such policies are disabled.
"""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, select

from deadwatch.orders.order import Status
from deadwatch.store import upgrades, versions
from deadwatch.store.engine import connect
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.maintenance import backups, check, file, salvage
from deadwatch.store.schema import redrive_orders, redrive_policies
from deadwatch.store.trouble import RESTORE, UNREADABLE
from deadwatch.store.versions import Kind
from deadwatch.store.write import audit, lease
from deadwatch.store.write.audit import Entry
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.policies import PolicyBook, policy_of

NEWEST: Final = "newest"
NEW: Final = ".restoring"
RESTORED: Final = "the store was restored: see what has been moved since, then resume"
COUNTS: Final = "counts are those of {}: streaming reads what came since from Kafka"
NO_COUNTS: Final = "there are no counts: streaming counts all that Kafka has; what it has no more is lost"

Lines = list[str]


def from_backup(store: Path, backup: str, now_ms: int) -> Lines:
    """Restore the store from a backup, or from the newest one that is whole.

    Raises ``StoreError``: the backup cannot be used, or the store is in use. The store is as it was.
    """
    with file.locked(store):
        pass
    if backup == NEWEST:
        base = _newest_whole(store, versions.known()[0], now_ms)
        if base is None:
            raise StoreError(f"no backup beside {store} is there and whole: name a file")
    else:
        base = Path(backup)
        _version_of(base)
    new = _new_store(store, base)
    upgrades.upgrade(new)
    return _replaced(store, new, base, (), now_ms)


def from_damaged(store: Path, now_ms: int) -> Lines:
    """Replace a damaged store by a new one with everything that can be read of it.

    Raises ``StoreError``: the store is not damaged, or in use; then it stays as it was.
    """
    with file.locked(store):
        pass
    _require_damaged(store)
    version = _version_of_damaged(store)
    base = _newest_whole(store, version, now_ms)
    new = _new_store(store, base)
    upgrades.upgrade(new, version)
    taken = salvage.take(store, new, counted=base is not None)
    upgrades.upgrade(new)
    kept = f"kept: {', '.join(str(one) for one in taken)}"
    return [kept, *_replaced(store, new, base, [one.table for one in taken if one.whole], now_ms)]


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
    """The version of the damaged store; ours if it cannot be read."""
    with suppress(*UNREADABLE), file.read_only(store).connect() as connection:
        found = versions.state(connection)
        if found.kind is Kind.NEWER:
            versions.require(found)
        if found.version in versions.known():
            return found.version
    return versions.known()[0]


def _newest_whole(store: Path, most: str, now_ms: int) -> Path | None:
    """The newest backup that is whole and whose version is at most ``most``."""
    for backup in backups.every(store, now_ms):
        with suppress(StoreError):
            if _version_of(backup) <= most:
                return backup
    return None


def _version_of(backup: Path) -> str:
    """The version of a backup. Raises ``StoreError`` if it cannot be used."""
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


def _new_store(store: Path, base: Path | None) -> Engine:
    """The new store beside the old one: a copy of the backup, or empty."""
    new = store.with_name(store.name + NEW)
    for ending in (*file.BESIDE, ""):
        new.with_name(new.name + ending).unlink(missing_ok=True)
    if base is not None:
        backups.make(base, new)
    return connect(f"{file.ADDRESS}{new}")


def _replaced(store: Path, new: Engine, base: Path | None, as_last: Collection[str], now_ms: int) -> Lines:
    """Put the new store in place; returns what to print. ``as_last``: tables in their latest state."""
    counts = NO_COUNTS if base is None else COUNTS.format(base.name)
    report = [*_require_people(new, as_last, now_ms), counts]
    with new.begin() as connection:
        lease.displace(connection)
        entry = Entry(at_ms=now_ms, who=RESTORE, action="store.restore", subject=base.name if base else "")
        audit.write(connection, replace(entry, why="; ".join(report)))
    new.dispose()
    aside = _put_in_place(store.with_name(store.name + NEW), store)
    return [*report, f"{store} is restored" + (f"; what was there is {aside.name} now" if aside else "")]


def _require_people(new: Engine, as_last: Collection[str], now_ms: int) -> Lines:
    """Pause orders and disable policies whose table is not in its latest state; returns what to print."""
    orders = 0 if redrive_orders.name in as_last else _pause_orders(new)
    policies = 0 if redrive_policies.name in as_last else _disable_policies(new, now_ms)
    paused = [f"paused until somebody resumes them: {orders} orders"] if orders else []
    disabled = [f"switched off until somebody enables them: {policies} policies"] if policies else []
    return paused + disabled


def _pause_orders(new: Engine) -> int:
    orders = redrive_orders.c
    running = select(orders.id).where(orders.status == Status.RUNNING, orders.dry_run.is_(False))
    with new.begin() as connection:
        found = list(connection.scalars(running))
    for order in found:
        OrderBook(new).pause(order, RESTORED)
    return len(found)


def _disable_policies(new: Engine, now_ms: int) -> int:
    with new.begin() as connection:
        enabled = select(redrive_policies).where(redrive_policies.c.enabled)
        found = [policy_of(row) for row in connection.execute(enabled).mappings()]
    for policy in found:
        off = policy.request.model_copy(update={"enabled": False})
        PolicyBook(new).change(replace(policy, request=off, changed_by=RESTORE, changed_at_ms=now_ms), None)
    return len(found)


def _put_in_place(new: Path, store: Path) -> Path | None:
    """Rename the new file to the store's name, with the old owner and mode; returns the old file's path."""
    backups.settle(new)
    with file.locked(store):
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
