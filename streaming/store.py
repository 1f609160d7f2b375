"""The store of the query: calls wait while it is away, a file is looked after, and a command for operators.

A batch is read once and merged when the store is back; nothing is read in the meantime, but one more
after a large one. ``Upkeep`` of a store that is a file searches for damage and makes a backup each day, in a
thread and with read-only connections of its own: no batch waits for it. A problem is one line of the log, and
the status of the source ``store`` until it is over.

``python -m streaming.store status|upgrade|check|backup|restore`` ends with exit code 0, 1 or 2. An upgrade is
safe to run again and from two places at once: the second finds nothing to do.
"""

import argparse
import logging
import shutil
import sys
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from random import Random
from typing import Concatenate, Final, ParamSpec, Self, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.clock import DAY_MS, clock_ms
from deadwatch.runtime.health import unheard
from deadwatch.runtime.process import REFUSED, SettingsError, configure_logging, written
from deadwatch.runtime.settings_file import load
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.heartbeat import STORE, Heartbeat
from deadwatch.store.maintenance import Work, backups, check, file
from deadwatch.store.schema import metadata
from deadwatch.store.store import Store
from deadwatch.store.trouble import REMEDY, UNREADABLE, is_damage, line, retry_while_away
from streaming.settings import StreamingSettings

LOOK_MS: Final = 10_000
"""How often the thread looks whether something is due."""
TABLE_MS: Final = 10_000
"""How long a table may be read: the write-ahead log of the store grows meanwhile."""
AGAIN_MS: Final = 3_600_000
"""How long after a backup that failed the next one is tried."""
NO_ROOM: Final = f"less than {backups.ROOM} times the store's size is free beside it"
NO_BACKUP: Final = "no backup of the store is made"
NO_UPKEEP: Final = "the store is not looked after"
DAMAGED: Final = 1
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("streaming.store")


def _retried(method: Callable[Concatenate[Store, P], T]) -> Callable[Concatenate["RetryingStore", P], T]:
    """The method of ``Store``, called again with the same arguments until the store is back.

    A call whose answer was lost may have been committed: each of the methods below then changes nothing more.
    """

    @wraps(method)
    def call(self: "RetryingStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.retry(lambda: method(self, *args, **kwargs))

    return call


class RetryingStore(Store):
    """A store that waits for its database until ``stop`` is set; then the error is raised.

    The methods that are not listed here do not wait.
    """

    def __init__(
        self,
        settings: StreamingSettings,
        stop: threading.Event,
        rng: Random,
        *,
        beat: Callable[[], None] = unheard,
    ) -> None:
        super().__init__(settings.store_url, **settings.store_limits)
        self._stopping, self._rng, self._beat = stop, rng, beat
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)

    def open(self) -> Self:
        """As ``Store.open``, when there is a database to open."""
        return self.retry(super().open)

    hold = _retried(Store.hold)
    apply = _retried(Store.apply)
    marks = _retried(Store.marks)
    awaits_returns = _retried(Store.awaits_returns)
    redriven_topics = _retried(Store.redriven_topics)
    offsets = _retried(Store.offsets)
    topic_ids = _retried(Store.topic_ids)
    figures = _retried(Store.figures)
    end_topics = _retried(Store.end_topics)
    last_commit_ms = _retried(Store.last_commit_ms)
    replace_with = _retried(Store.replace_with)

    def retry(self, call: Callable[[], T]) -> T:
        """What ``call`` returns once the store works."""
        return retry_while_away(call, "the query", self._backoff, self._stopping, self._rng, beat=self._beat)


class Upkeep:
    """At work inside ``with``; ``clock_ms`` is the time of day, ``monotonic_ms`` measures what has passed."""

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
        self._damage = self._no_backup = self._reported = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def step(self) -> None:
        """Do what is due, and report how the store is; what failed is tried again at the next step."""
        failure: Exception | None = None
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 -- a process loop: nobody else looks after the store
            failure = error
        trouble = f"{NO_UPKEEP}: {failure!r}" if failure else self._damage or self._no_backup
        if trouble and trouble != self._reported:
            log.error("%s", trouble, exc_info=failure)
        self._reported = trouble
        self._heartbeat.say(STORE, up=not trouble, message=trouble, works=True)

    def _work(self) -> None:
        interval_ms = self._settings.store_check_interval_ms
        if interval_ms and self._monotonic_ms() >= self._next_check_ms:
            found = (self._damaged_table(table.name) for table in metadata.sorted_tables)
            self._damage = next(filter(None, found), "")
            self._next_check_ms = self._monotonic_ms() + interval_ms
        if self._settings.store_backups and not self._damage and self._monotonic_ms() >= self._next_backup_ms:
            self._no_backup = self._back_up()
            self._next_backup_ms = self._monotonic_ms() + (AGAIN_MS if self._no_backup else LOOK_MS)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.step()
            self._stop.wait(LOOK_MS / 1_000)

    def _damaged_table(self, table: str) -> str:
        until_ms = self._monotonic_ms() + TABLE_MS
        engine = file.read_only(self._store, lambda: self._stop.is_set() or self._monotonic_ms() > until_ms)
        try:
            with engine.connect() as connection:
                found = next(check.contradictions(connection, f"PRAGMA quick_check({table})"), "")
        except UNREADABLE as error:
            if not is_damage(error):
                log.info("%s was not looked through: %s", table, line(error))
                return ""
            found = "it cannot be read"
        return f"the store is damaged ({table}: {found}): {REMEDY}" if found else ""

    def _back_up(self) -> str:
        """Why there is no backup of the last day; "" when there is one."""
        now_ms = self._clock_ms()
        made_ms = (backups.made_ms(backup) for backup in backups.every(self._store, now_ms))
        if any(now_ms - DAY_MS < backup_ms <= now_ms for backup_ms in made_ms):
            return ""
        try:
            if shutil.disk_usage(self._store.parent).free < backups.ROOM * self._store.stat().st_size:
                return f"{NO_BACKUP}: {NO_ROOM}"
            made = backups.path(self._store, now_ms)
            backups.make(self._store, made, self._stop.is_set)
            log.info("backup: %s, %d bytes", made.name, made.stat().st_size)
            backups.forget(self._store, made, self._settings.store_backups, self._clock_ms())
        except SQLAlchemyError as error:
            return "" if self._stop.is_set() else f"{NO_BACKUP}: {line(error)}"
        except (StoreError, OSError) as error:
            return f"{NO_BACKUP}: {error}"
        return ""


def main() -> None:
    """Run the command of the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m streaming.store",
        description="The store: its version, whether it is whole, copies of it.",
    )
    parser.add_argument("work", type=Work, choices=list(Work), help="what to do")
    parser.add_argument("file", nargs="?", default="", help="of a backup; restore also takes `newest`")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    from deadwatch.store.maintenance import commands  # noqa: PLC0415 -- brings Alembic, which the query does not need

    configure_logging("store")
    try:
        settings = load(StreamingSettings, arguments.config)
        with written("store"):
            print(commands.run(arguments.work, settings.store_url, arguments.file, clock_ms()))
    except DamagedError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(DAMAGED)
    except (SettingsError, StoreError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
