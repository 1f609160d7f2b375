"""What is read of a store is one moment of the file that is there; nothing but SQLite opens that file."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, insert, select

from api.errors import StoreUnavailableError
from api.signals import dead_letter_groups
from api.store import ABSENT, Store, Writer
from deadwatch.store import schema
from deadwatch.store import store as written_by_streaming
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry
from tests.conftest import opened_stores
from tests.store_guard.processes import guarded

INTRUDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM audit")
    connection.execute("COMMIT")
except sqlite3.OperationalError as error:
    print(error.sqlite_errorname)
else:
    print("committed")
"""

OPENING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM audit").fetchall()
open(sys.argv[1] + sys.argv[2], "rb").close()
"""
ENTRY = Entry(at_ms=1, who="ann", action="tokens.create")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def streaming(file: Path) -> Iterator[written_by_streaming.Store]:
    with written_by_streaming.Store(f"sqlite:///{file}") as store:
        yield store


@pytest.fixture
def reader(file: Path, streaming: written_by_streaming.Store) -> Iterator[Store]:
    del streaming
    with closing(Store(f"sqlite:///{file}")) as store:
        yield store


def from_another_process(file: Path) -> str:
    command = [sys.executable, "-c", INTRUDER, str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def note(streaming: written_by_streaming.Store, name: str) -> None:
    streaming.note_source(name, "log", up=True, message="", now_ms=1)


def test_who_asks_for_the_state_does_not_let_another_process_into_a_transaction(
    file: Path, reader: Store
) -> None:
    reader.state()
    with closing(Writer(f"sqlite:///{file}", reader)) as writer:
        with writer.writing() as connection:
            audit.write(connection, ENTRY)
            reader.state()
            assert from_another_process(file) == "SQLITE_BUSY"
        assert from_another_process(file) == "committed"  # so the lock was what kept it out


def test_the_state_is_another_one_after_every_commit_and_only_then(
    file: Path, reader: Store, streaming: written_by_streaming.Store
) -> None:
    def commit_as_the_api() -> None:
        with closing(Writer(f"sqlite:///{file}", reader)) as writer, writer.writing() as connection:
            audit.write(connection, ENTRY)

    seen: list[Hashable] = [reader.state()]
    for commit in (lambda: note(streaming, "a"), commit_as_the_api, lambda: from_another_process(file)):
        commit()
        assert reader.state() not in seen
        seen.append(reader.state())
        assert reader.state() == seen[-1]


def test_a_store_that_is_removed_within_a_change_is_absent_and_not_made_anew(
    file: Path, streaming: written_by_streaming.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    streaming.close()
    reader = Store(f"sqlite:///{file}")
    monkeypatch.setattr(reader, "check", file.unlink)  # the last moment at which somebody may remove it
    with closing(reader), closing(Writer(f"sqlite:///{file}", reader)) as writer:
        with pytest.raises(StoreUnavailableError, match=ABSENT), writer.writing():
            pass
        assert not file.exists()


def test_many_threads_ask_for_the_state_at_once(reader: Store, streaming: written_by_streaming.Store) -> None:
    before = reader.state()
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: reader.state(), range(200))) == {before}
        note(streaming, "a")
        assert before not in set(threads.map(lambda _: reader.state(), range(200)))


def test_a_file_in_the_place_of_another_has_another_state_and_takes_what_is_written(
    tmp_path: Path, file: Path
) -> None:
    """Both stores have been through the same commits."""
    copy = tmp_path / "copy.db"
    with written_by_streaming.Store(f"sqlite:///{file}") as store:
        note(store, "a")
    shutil.copy(file, copy)
    assert opened_stores == [], "a file that is not open may be opened"
    reader = Store(f"sqlite:///{file}")
    with closing(reader), closing(Writer(f"sqlite:///{file}", reader)) as writer:
        with writer.writing() as connection:
            audit.write(connection, ENTRY)
        reader.check()
        before = reader.state()
        for moved in [*tmp_path.glob("store.db*")]:
            moved.rename(tmp_path / f"aside-{moved.name}")
        copy.replace(file)
        assert reader.state() != before
        with writer.writing() as connection:
            audit.write(connection, replace(ENTRY, action="after"))
        with reader.read() as connection:
            assert connection.scalars(select(schema.audit.c.action)).all() == ["after"]
        file.unlink()
        for read in (reader.state, reader.check):
            with pytest.raises(StoreUnavailableError, match=ABSENT):
                read()


def test_a_store_that_is_opened_and_closed_by_others_during_a_call_can_be_read(
    file: Path, streaming: written_by_streaming.Store
) -> None:
    """Its index is there while somebody has it open: here it comes or goes with each connection."""
    streaming.close()
    with closing(Store(f"sqlite:///{file}")) as reader, ExitStack() as others:

        @event.listens_for(reader._engine, "connect")
        def _come_or_go(*_: object) -> None:
            if file.with_name("store.db-shm").exists():
                others.close()
            else:
                others.enter_context(written_by_streaming.Store(f"sqlite:///{file}"))

        for _ in range(3):
            reader.check()
            reader.state()


@pytest.mark.parametrize("ending", ["", "-shm", "-wal"])
def test_a_file_of_a_store_that_is_open_is_opened_by_nothing_else(
    file: Path, reader: Store, ending: str
) -> None:
    """In this process and in those that ``guarded`` starts."""
    reader.state()
    command = [sys.executable, "-c", OPENING, str(file), ending]
    opened = pytest.raises(AssertionError, match=f"store.db{ending}: ")
    with opened, guarded(file.parent) as environment:
        subprocess.run(command, check=True, env=environment)
    opening = compile(f"open({str(file) + ending!r}).close()", "somewhere.py", "exec")
    exec(opening)  # noqa: S102 -- as code that is none of a test
    assert opened_stores == [f"{file}{ending}: opened by somewhere.py"]
    opened_stores.clear()  # so that it fails this test no more


def test_one_reading_sees_one_moment(store_file: Path, add_row: Callable[..., None]) -> None:
    add_row(schema.groups, fingerprint="f1")
    with Store(f"sqlite:///{store_file}").read() as connection:
        assert dead_letter_groups.count_groups(connection) == 1
        add_row(schema.groups, fingerprint="f2")
        assert dead_letter_groups.count_groups(connection) == 1


@pytest.mark.usefixtures("store")
def test_the_api_cannot_write(store_file: Path) -> None:
    with (
        pytest.raises(StoreUnavailableError, match="cannot be written"),
        Store(f"sqlite:///{store_file}").read() as connection,
    ):
        connection.execute(insert(schema.marks).values(source="s", epoch=0, offset=0, ordinal=0))


@pytest.mark.parametrize("name", ["no/such/place.db", "x" * 300 + ".db"], ids=["no directory", "too long"])
def test_a_store_that_cannot_be_opened_is_absent_and_is_not_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreUnavailableError, match=ABSENT), Store(f"sqlite:///{tmp_path / name}").read():
        pass
    assert not [*tmp_path.iterdir()]


def test_a_file_of_any_name_is_the_one_that_streaming_writes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a b%41#ü.db'}"
    with written_by_streaming.Store(url), Store(url).read() as connection:
        assert dead_letter_groups.count_groups(connection) == 0
