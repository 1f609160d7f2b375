"""Upkeep of the store: a backup each day, the newest are kept, and damage is reported before it spreads."""

import itertools
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from deadwatch.runtime.clock import DAY_MS, HOUR_MS
from deadwatch.store.heartbeat import Heartbeat
from deadwatch.store.maintenance import backups
from deadwatch.store.store import Store
from deadwatch.store.trouble import REMEDY
from deadwatch.store.write.audit import Entry
from streaming import store as upkeep
from streaming.settings import StreamingSettings
from streaming.store import AGAIN_MS, LOOK_MS, NO_ROOM, NO_UPKEEP, Upkeep
from tests.tables import named
from tests.unit.deadwatch.store.suite import keep_entries
from tests.unit.deadwatch.store.test_restore import entry, overwrite
from tests.waiting import until

BEGIN_MS = 1_800_000_000_000


@dataclass
class Site:
    """A store with its heartbeat, to be kept, and the time that it is."""

    file: Path
    store: Store
    heartbeat: Heartbeat
    now_ms: int = BEGIN_MS

    def upkeep(self, passed: Callable[[], int] | None = None, **settings: int) -> Upkeep:
        made, clock = StreamingSettings.model_validate(settings), lambda: self.now_ms
        return Upkeep(self.file, made, self.heartbeat, clock, passed or clock)

    def reported(self) -> list[tuple[int, str]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute("SELECT up, message FROM sources WHERE name = 'store'").fetchall()

    def backups(self) -> list[str]:
        return [backup.name.rpartition("-")[2] for backup in backups.every(self.file, self.now_ms)]

    def write(self, count: int) -> None:
        with self.store._engine.begin() as connection:
            entries = (
                Entry(at_ms=1, who="ann", action="a", why=entry(number).decode()) for number in range(count)
            )
            keep_entries(connection, entries)


@pytest.fixture
def site(tmp_path: Path, empty_store: Path) -> Iterator[Site]:
    file = shutil.copyfile(empty_store, tmp_path / "deadwatch.db")
    with (
        Store(f"sqlite:///{file}") as store,
        closing(Heartbeat(store, 60_000, lambda: BEGIN_MS)) as heartbeat,
    ):
        yield Site(file, store, heartbeat)


def test_a_backup_is_made_each_day_and_the_newest_are_kept(site: Site) -> None:
    keeping = site.upkeep(store_backups=3, store_check_interval_ms=0)
    for hour in range(0, 5 * 24, 6):
        site.now_ms = BEGIN_MS + hour * HOUR_MS
        keeping.step()
    assert site.backups() == ["20270119T080000Z", "20270118T080000Z", "20270117T080000Z"]
    until(lambda: site.reported() == [(1, "")])
    with closing(sqlite3.connect(backups.every(site.file, site.now_ms)[0])) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("SELECT name FROM sources").fetchall() == [("store",)]
    site.upkeep(store_backups=3).step()  # the process began anew
    assert len(site.backups()) == 3


def test_a_backup_that_is_there_and_files_of_others_are_left_alone(site: Site) -> None:
    file, now_ms = site.file, site.now_ms
    mine = [file.with_name(f"{file.name}{backups.MARK}{name}") for name in ("mine", "20200101")]
    for own in mine:
        own.write_text("mine")
    taken = backups.path(file, now_ms - DAY_MS)
    taken.write_text("yesterday's")
    left = file.with_name(f".{backups.path(file, now_ms - 3 * DAY_MS).name}{backups.PART}")
    left.write_text("a process that was killed has left it")
    site.upkeep(store_backups=2).step()
    assert [kept.read_text() for kept in (*mine, taken)] == ["mine", "mine", "yesterday's"]
    assert site.backups() == ["20270115T080000Z", "20270114T080000Z"]
    assert not left.exists()


def test_backups_from_while_the_clock_was_ahead_go_first(site: Site) -> None:
    for days in (400, 401):
        backups.path(site.file, BEGIN_MS + days * DAY_MS).write_text("of an unknown time")
    keeping = site.upkeep(store_backups=2, store_check_interval_ms=0)
    keeping.step()
    assert site.backups() == ["20270115T080000Z", "20280220T080000Z"]
    site.now_ms += DAY_MS
    keeping.step()
    assert site.backups() == ["20270116T080000Z", "20270115T080000Z"]


def test_backups_are_found_and_forgotten_whatever_the_name_of_their_store(tmp_path: Path) -> None:
    store = tmp_path / "dead[1]*?.db"
    made = [backups.path(store, day * DAY_MS) for day in (9, 8, 7)]
    left = made[2].with_name(f".{made[2].name}{backups.PART}")
    for file in (*made, left):
        file.touch()
    assert backups.every(store, 10 * DAY_MS) == made
    backups.forget(store, made[0], 2, 10 * DAY_MS)
    assert sorted(tmp_path.iterdir()) == sorted(made[:2])


def broken(_size: int) -> int:
    raise RuntimeError("nobody expects it")


TROUBLES = [
    ("an unexpected error", broken, f"{NO_UPKEEP}: RuntimeError('nobody expects it')", 0),
    ("no room", lambda size: 2 * size - 1, f"no backup of the store is made: {NO_ROOM}", AGAIN_MS),
]
"""How much is free beside a store of this size, the line, and how long it is not tried again."""


@pytest.mark.parametrize(("free", "line", "again_ms"), named(TROUBLES))
def test_what_prevents_a_backup_is_one_line_until_it_is_over(
    site: Site, free: Callable[[int], int], line: str, again_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    keeping, size = site.upkeep(), site.file.stat().st_size
    with pytest.MonkeyPatch.context() as patched, caplog.at_level(logging.ERROR, upkeep.__name__):
        patched.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free(size)))
        for _ in range(3):
            keeping.step()
            site.now_ms += LOOK_MS
    assert site.backups() == []
    assert caplog.messages == [line]
    until(lambda: site.reported() == [(0, line)])
    site.now_ms += again_ms
    keeping.step()
    assert len(site.backups()) == 1
    until(lambda: site.reported() == [(1, "")])


def test_no_backup_and_no_look_are_settings(site: Site) -> None:
    site.upkeep(store_backups=0, store_check_interval_ms=0).step()
    assert site.backups() == []


def test_writers_go_on_while_a_backup_is_made(site: Site) -> None:
    """The copy is of one moment: what is written meanwhile is in the store alone."""
    site.write(5_000)

    def writes_meanwhile() -> bool:
        site.store.note_source("store", "log", up=True, message="meanwhile", now_ms=1)
        return False

    made = backups.path(site.file, site.now_ms)
    backups.make(site.file, made, writes_meanwhile)
    assert site.reported() == [(1, "meanwhile")]
    with closing(sqlite3.connect(made)) as copy:
        assert copy.execute("SELECT count(*) FROM audit").fetchone() == (5_000,)
        assert copy.execute("SELECT name FROM sources").fetchall() == []


def test_a_backup_that_is_stopped_leaves_nothing(site: Site) -> None:
    site.write(5_000)
    with pytest.raises(Exception, match="interrupted"):
        backups.make(site.file, backups.path(site.file, site.now_ms), lambda: True)
    assert not [*site.file.parent.glob("*backup*"), *site.file.parent.glob(".*backup*")]


def test_damage_is_reported_in_one_line_with_the_command_that_fixes_it(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.write(3_000)
    keeping = site.upkeep()
    keeping.step()
    until(lambda: site.reported() == [(1, "")])
    site.store._engine.dispose()  # what is in the log goes into the file
    before = site.backups()
    overwrite(site.file, entry(1_500))
    site.now_ms += HOUR_MS
    with caplog.at_level(logging.ERROR, upkeep.__name__):
        keeping.step()
        keeping.step()
    (line,) = caplog.messages
    assert line.startswith("the store is damaged (")
    assert line.endswith(REMEDY)
    until(lambda: site.reported() == [(0, line)])
    site.now_ms += 30 * DAY_MS
    keeping.step()
    assert site.backups() == before  # one that is damaged must not take the place of one that is whole


def test_a_table_that_takes_too_long_is_left_and_holds_nothing_up(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.write(5_000)
    passed = itertools.count(BEGIN_MS, upkeep.TABLE_MS + 1)
    with caplog.at_level(logging.INFO, upkeep.__name__):
        site.upkeep(lambda: next(passed), store_backups=0).step()
    assert [line for line in caplog.messages if line.startswith("audit was not looked through")]
    until(lambda: site.reported() == [(1, "")])


def test_it_works_beside_the_query_and_ends_with_it(site: Site) -> None:
    with site.upkeep():
        until(lambda: len(site.backups()) == 1)
