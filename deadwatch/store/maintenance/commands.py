"""Commands of an operator on a store: status, upgrade, check, backup, restore."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.store import upgrades, versions
from deadwatch.store.engine import connect, parse_url, reading, shown
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.maintenance import Work, backups, check, file, restore
from deadwatch.store.trouble import REMEDY, line
from deadwatch.store.versions import Kind, State

MEANINGS: Final[Mapping[Kind, str]] = {
    Kind.EMPTY: "empty: streaming or `upgrade` makes the tables",
    Kind.OLDER: "older than this program: run `upgrade`",
    Kind.CURRENT: "up to date",
    Kind.NEWER: "newer than this program: install a newer one",
    Kind.FOREIGN: "holds tables that are not ours: give the store a database of its own",
}
ON_A_SERVER: Final[Mapping[str, str]] = {
    "backup": "pg_dump makes backups of PostgreSQL (docs/store.md)",
    "restore": "pg_restore restores PostgreSQL (docs/store.md)",
}


def run(work: Work, address: str, name: str = "", now_ms: int = 0) -> str:
    """Run a command; returns the lines to print. ``name``: the file to back up to or restore from.

    Raises:
        DamagedError: the store is damaged; the text says what to do.
        StoreError: the command cannot be run; the text says why.
    """
    if name and work not in {Work.BACKUP, Work.RESTORE}:
        raise StoreError(f"`{work}` takes no file")
    try:
        return _run(work, address, name, now_ms)
    except SQLAlchemyError as error:
        raise StoreError(line(error)) from error
    except OSError as error:
        raise StoreError(f"{error.filename or shown(parse_url(address))}: {error.strerror}") from error


def _run(work: Work, address: str, name: str, now_ms: int) -> str:
    match work:
        case Work.STATUS:
            return _status(address)
        case Work.UPGRADE:
            return _upgrade(address)
        case Work.CHECK:
            return _check(address)
        case Work.BACKUP:
            return _backup(_file(work, address), name, now_ms)
        case Work.RESTORE:
            store = _file(work, address)
            done = restore.from_backup(store, name, now_ms) if name else restore.from_damaged(store, now_ms)
            return "\n".join(done)


def _status(address: str) -> str:
    store = file.path_of(address)
    if store is not None and not store.exists():  # a look must not make it: its owner would be who looked
        return _described(address, State(Kind.EMPTY))
    engine = connect(address)
    try:
        with reading(engine) as connection:
            return _described(address, versions.state(connection))
    finally:
        engine.dispose()


def _upgrade(address: str) -> str:
    engine = connect(address)
    try:
        before = upgrades.upgrade(engine)
    finally:
        engine.dispose()
    done = "was up to date" if before.kind is Kind.CURRENT else "is up to date now"
    return f"{shown(parse_url(address))} {done}: version {versions.known()[0]}"


def _check(address: str) -> str:
    store = file.path_of(address)
    if store is not None:
        _require_there(store)
    engine = connect(address) if store is None else file.read_only(store)
    try:
        return f"whole: {_described(address, check.whole(engine))}"
    except DamagedError as error:
        raise DamagedError(f"{shown(parse_url(address))} is damaged ({error}): {REMEDY}") from error
    finally:
        engine.dispose()


def _backup(store: Path, name: str, now_ms: int) -> str:
    _require_there(store)
    target = Path(name) if name else backups.path(store, now_ms)
    backups.make(store, target)
    return f"{target}: {target.stat().st_size} bytes"


def _file(work: Work, address: str) -> Path:
    store = file.path_of(address)
    if store is None:
        raise StoreError(ON_A_SERVER[work])
    return store


def _require_there(store: Path) -> None:
    if not store.exists():
        raise StoreError(f"there is no {store} yet: streaming makes it at its first start")


def _described(address: str, found: State) -> str:
    return f"{shown(parse_url(address))}: version {found.version or 'none'}, {MEANINGS[found.kind]}"
