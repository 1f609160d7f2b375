"""Whoever looks after the store: a backup each day, the newest kept, and damage is said before it spreads."""

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from streaming import upkeep
from streaming.heartbeat import Heartbeat
from streaming.settings import StreamingSettings
from streaming.store import audit, backups
from streaming.store.audit import Entry
from streaming.store.store import Store
from streaming.store.trouble import REMEDY
from streaming.upkeep import AGAIN_MS, LOOK_MS, NO_ROOM, Upkeep
from tests.unit.test_store_restore import entry, overwrite
from tests.waiting import until

DAY_MS = backups.DAY_MS
BEGIN_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


@dataclass
class Clock:
    now_ms: int = BEGIN_MS

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deadwatch.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{file}") as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heartbeat(store: Store, clock: Clock) -> Iterator[Heartbeat]:
    opened = Heartbeat(store, 60_000, clock)
    yield opened
    opened.close()


def keeper(file: Path, heartbeat: Heartbeat, clock: Clock, **settings: int) -> Upkeep:
    made = StreamingSettings.model_validate({"store_url": f"sqlite:///{file}", **settings})
    return Upkeep(file, made, heartbeat, clock, clock)


def said(file: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT up, message FROM sources WHERE name = 'store'").fetchall()


def names(file: Path) -> list[str]:
    return [one.name.rpartition("-")[2] for one in backups.every(file)]


def write(store: Store, count: int) -> None:
    with store.transaction() as connection:
        for number in range(count):
            audit.write(connection, Entry(at_ms=1, who="ann", action="a", why=entry(number).decode()))


def test_a_backup_is_made_each_day_and_the_newest_are_kept(
    file: Path, heartbeat: Heartbeat, clock: Clock
) -> None:
    one = keeper(file, heartbeat, clock, store_backups=3)
    for hour in range(5 * 24):
        clock.now_ms = BEGIN_MS + hour * HOUR_MS
        one.step()
    assert names(file) == ["20270119T080000Z", "20270118T080000Z", "20270117T080000Z"]
    until(lambda: said(file) == [(1, "")])
    with closing(sqlite3.connect(backups.every(file)[0])) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("SELECT name FROM sources").fetchall() == [("store",)]
    again = keeper(file, heartbeat, clock, store_backups=3)  # the process began anew
    again.step()
    assert len(names(file)) == 3


def test_a_backup_that_is_there_and_files_of_others_are_left_alone(
    file: Path, heartbeat: Heartbeat, clock: Clock
) -> None:
    mine = [file.with_name(f"{file.name}{backups.MARK}{name}") for name in ("mine", "20200101")]
    for one in mine:
        one.write_text("mine")
    taken = backups.path(file, clock.now_ms - DAY_MS)
    taken.write_text("yesterday's")
    left = file.with_name(f".{backups.path(file, clock.now_ms - 3 * DAY_MS).name}{backups.PART}")
    left.write_text("a process that was killed has left it")
    keeper(file, heartbeat, clock, store_backups=2).step()
    assert [one.read_text() for one in (*mine, taken)] == ["mine", "mine", "yesterday's"]
    assert names(file) == ["20270115T080000Z", "20270114T080000Z"]
    assert not left.exists()


def test_no_backup_and_no_look_are_settings(file: Path, heartbeat: Heartbeat, clock: Clock) -> None:
    one = keeper(file, heartbeat, clock, store_backups=0, store_check_interval_ms=0)
    one.step()
    assert names(file) == []


def test_writers_go_on_while_a_backup_is_made(file: Path, store: Store, clock: Clock) -> None:
    """It is of one moment; what is written meanwhile is in the store, not in the copy."""
    write(store, 5_000)
    asked: list[int] = []

    def writes_meanwhile() -> bool:
        if not asked:
            asked.append(1)
            store.note_source("meanwhile", "log", up=True, message="", now_ms=1)
        return False

    made = backups.path(file, clock.now_ms)
    backups.make(file, made, writes_meanwhile)
    assert asked
    with closing(sqlite3.connect(made)) as copy:
        assert copy.execute("SELECT count(*) FROM audit").fetchone() == (5_000,)
        assert copy.execute("SELECT name FROM sources WHERE name = 'meanwhile'").fetchall() == []


def test_a_backup_that_is_stopped_leaves_nothing(file: Path, store: Store, clock: Clock) -> None:
    write(store, 5_000)
    with pytest.raises(Exception, match="interrupted"):
        backups.make(file, backups.path(file, clock.now_ms), lambda: True)
    assert not [*file.parent.glob("*backup*"), *file.parent.glob(".*backup*")]


def test_a_backup_does_not_take_the_room_that_the_store_needs(
    file: Path,
    heartbeat: Heartbeat,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    free = [2 * file.stat().st_size - 1]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    one = keeper(file, heartbeat, clock)
    with caplog.at_level(logging.ERROR, upkeep.__name__):
        for _ in range(3):
            one.step()
            clock.now_ms += LOOK_MS
    assert names(file) == []
    line = f"no backup of the store is made: {NO_ROOM}"
    assert caplog.messages == [line]
    until(lambda: said(file) == [(0, line)])
    free[0] = 1 << 40
    clock.now_ms += AGAIN_MS
    one.step()
    assert len(names(file)) == 1
    until(lambda: said(file) == [(1, "")])


def test_damage_is_said_in_one_line_with_the_command_that_mends_it(
    file: Path, store: Store, heartbeat: Heartbeat, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, 3_000)
    one = keeper(file, heartbeat, clock)
    one.step()
    until(lambda: said(file) == [(1, "")])
    store._engine.dispose()  # what is in the log goes into the file
    before = names(file)
    overwrite(file, entry(1_500))
    clock.now_ms += HOUR_MS
    with caplog.at_level(logging.ERROR, upkeep.__name__):
        one.step()
        one.step()
    (line,) = caplog.messages
    assert line.startswith("the store is damaged (")
    assert line.endswith(REMEDY)
    until(lambda: said(file) == [(0, line)])
    clock.now_ms += 30 * DAY_MS
    one.step()
    assert names(file) == before  # one that is damaged must not take the place of one that is whole


def test_a_table_that_takes_too_long_is_left_and_holds_nothing_up(
    file: Path, store: Store, heartbeat: Heartbeat, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, 5_000)
    now_ms = iter(range(BEGIN_MS, BEGIN_MS + 10**12, upkeep.TABLE_MS + 1))
    made = StreamingSettings(store_url=f"sqlite:///{file}", store_backups=0)
    one = Upkeep(file, made, heartbeat, Clock(), lambda: next(now_ms))
    with caplog.at_level(logging.INFO, upkeep.__name__):
        one.step()
    assert [line for line in caplog.messages if line.startswith("audit was not looked through")]
    until(lambda: said(file) == [(1, "")])


def test_it_works_beside_the_query_and_ends_with_it(file: Path, heartbeat: Heartbeat, clock: Clock) -> None:
    with keeper(file, heartbeat, clock):
        until(lambda: len(names(file)) == 1)
