"""Looks after a store that is a file, beside the query: whether it is damaged, and a backup each day.

A thread of its own, on connections of its own that only read: no batch waits for it. What it finds is one
line of the log, and stands at the source ``store`` until it is over.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sqlalchemy.exc import SQLAlchemyError

from streaming.heartbeat import STORE, Heartbeat
from streaming.settings import StreamingSettings
from streaming.store import backups, check, file
from streaming.store.errors import StoreError
from streaming.store.schema import metadata
from streaming.store.trouble import REMEDY, is_damage, line

LOOK_MS: Final = 10_000
"""How often is looked whether something is due."""
TABLE_MS: Final = 10_000
"""How long a table may be read: the log of the store grows meanwhile."""
AGAIN_MS: Final = 3_600_000
"""How long after a backup that failed the next one is tried."""
NO_ROOM: Final = f"less than {backups.ROOM} times the store's size is free beside it"

logger = logging.getLogger(__name__)


class Upkeep:
    """At work inside ``with``; ``clock_ms`` tells the time, ``monotonic_ms`` how much of it has passed."""

    def __init__(
        self,
        store: Path,
        settings: StreamingSettings,
        heartbeat: Heartbeat,
        clock_ms: Callable[[], int],
        monotonic_ms: Callable[[], int],
    ) -> None:
        self._store, self._settings, self._heartbeat = store, settings, heartbeat
        self._clock_ms, self._monotonic_ms = clock_ms, monotonic_ms
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._next_check_ms = self._next_backup_ms = self._monotonic_ms()
        self._damage = self._no_backup = self._told = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def step(self) -> None:
        """Do what is due, and say how the store is."""
        interval_ms = self._settings.store_check_interval_ms
        if interval_ms and self._monotonic_ms() >= self._next_check_ms:
            self._damage = self._damaged()
            self._next_check_ms = self._monotonic_ms() + interval_ms
        if self._settings.store_backups and not self._damage and self._monotonic_ms() >= self._next_backup_ms:
            self._no_backup = self._back_up()
            self._next_backup_ms = self._monotonic_ms() + (AGAIN_MS if self._no_backup else LOOK_MS)
        self._say(self._damage or self._no_backup)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.step()
            self._stop.wait(LOOK_MS / 1_000)

    def _say(self, trouble: str) -> None:
        if trouble and trouble != self._told:
            logger.error("%s", trouble)
        self._told = trouble
        self._heartbeat.say(STORE, up=not trouble, message=trouble, works=True)

    def _damaged(self) -> str:
        """What is wrong with the store; "" when nothing was found."""
        found = (self._damaged_table(table.name) for table in metadata.sorted_tables)
        return next((one for one in found if one), "")

    def _damaged_table(self, table: str) -> str:
        until_ms = self._monotonic_ms() + TABLE_MS
        engine = file.read_only(self._store, lambda: self._stopped(until_ms))
        try:
            with engine.connect() as connection:
                found = next(check.problems_of(connection, table), "")
        except SQLAlchemyError as error:
            if not is_damage(error):
                logger.info("%s was not looked through: %s", table, line(error))
                return ""
            found = "it cannot be read"
        return f"the store is damaged ({table}: {found}): {REMEDY}" if found else ""

    def _stopped(self, until_ms: int) -> bool:
        return self._stop.is_set() or self._monotonic_ms() > until_ms

    def _back_up(self) -> str:
        """Why there is no backup of the last day; "" when there is one."""
        now_ms = self._clock_ms()
        if any(
            now_ms - backups.DAY_MS < backups.made_ms(one) <= now_ms for one in backups.every(self._store)
        ):
            return ""
        try:
            if not backups.has_room(self._store):
                return f"no backup of the store is made: {NO_ROOM}"
            made = backups.path(self._store, now_ms)
            backups.make(self._store, made, self._stop.is_set)
            backups.forget(self._store, self._settings.store_backups)
        except SQLAlchemyError as error:
            return "" if self._stop.is_set() else f"no backup of the store is made: {line(error)}"
        except (StoreError, OSError) as error:
            return f"no backup of the store is made: {error}"
        logger.info("backup: %s, %d bytes", made.name, made.stat().st_size)
        return ""
