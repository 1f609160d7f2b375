"""The batch waits while the store is away; a disk that is full is one line of the log."""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from deadwatch.store.batch import GroupDelta
from deadwatch.store.heartbeat import STREAMING, Heartbeat
from deadwatch.store.trouble import REMEDY, line
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore
from tests.unit.deadwatch.store.suite import EMPTY
from tests.waiting import until

NO_PLACE = "the store does not work, its file cannot be opened: look at the directory's existence and rights"
FULL = "the store does not work, its disk is full: make room there"


def group(number: int) -> GroupDelta:
    text = "x" * 1_000
    return GroupDelta(f"f{number}", "c", "dlq", "connect", "t", "sink", "E", text, text, 1, 1, 1)


LARGE = replace(EMPTY, offsets={("t", 0): 1}, groups=tuple(group(number) for number in range(200)))


class Disk:
    """What SQLite may fill of it, in pages of 4 KiB: no more than there are, until it has ``room``."""

    def __init__(self, store: RetryingStore) -> None:
        self._store, self._pages = store, 1
        event.listen(store._engine, "connect", self._limit)
        store._engine.dispose()

    def room(self) -> None:
        self._pages = 1 << 30
        self._store._engine.dispose()

    def _limit(self, connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={self._pages}")  # type: ignore[attr-defined]  # sqlite3's


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def beats() -> list[int]:
    return []


@pytest.fixture
def store(url: str, stop: threading.Event, beats: list[int]) -> Iterator[RetryingStore]:
    settings = StreamingSettings(store_url=url, retry_backoff_ms=1, retry_backoff_max_ms=2)
    with RetryingStore(settings, stop, Random(1), beat=lambda: beats.append(1)) as opened:
        yield opened


@pytest.fixture
def disk(store: RetryingStore) -> Disk:
    return Disk(store)


def test_a_batch_waits_for_room_on_the_disk_and_is_merged_once_and_who_waits_lives(
    store: RetryingStore, disk: Disk, beats: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    merged, before = list[bool](), len(beats)
    applying = threading.Thread(target=lambda: merged.append(store.apply(LARGE)))
    applying.start()
    try:
        until(lambda: FULL in caplog.text and len(beats) > before + 3)
    finally:
        disk.room()
        applying.join(10)
    assert merged == [True]
    assert not store.apply(LARGE)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0] == f"{FULL}; the query waits for it"
    assert messages[1].startswith("the store works again, after ")
    assert len(messages) == 2


def test_a_stream_that_is_asked_to_stop_waits_no_longer(
    store: RetryingStore, disk: Disk, stop: threading.Event
) -> None:
    stop.set()
    with pytest.raises(OperationalError) as caught:
        store.apply(LARGE)
    assert line(caught.value) == FULL
    disk.room()
    assert store.apply(LARGE)


@pytest.mark.parametrize("reading", ["offsets", "topic_ids", "figures"])
def test_what_a_query_begins_with_is_waited_for(reading: str, store: RetryingStore, beats: list[int]) -> None:
    def away(*_: object) -> None:
        if len(beats) < before + 3:
            raise OperationalError("", {}, sqlite3.OperationalError("database is locked"))

    before = len(beats)
    event.listen(store._engine, "before_cursor_execute", away)
    assert getattr(store, reading)() == {}
    assert len(beats) == before + 3


def test_what_does_not_pass_by_itself_is_raised(tmp_path: Path, stop: threading.Event) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(b"no database at all" * 100)
    settings = StreamingSettings(store_url=f"sqlite:///{file}")
    with pytest.raises(SQLAlchemyError) as caught, RetryingStore(settings, stop, Random(1)):
        pass
    assert line(caught.value).startswith("the store does not work, its file is no database. Unless store_url")
    assert line(caught.value).endswith(REMEDY)


def test_a_heartbeat_that_is_not_taken_is_logged_once(
    store: RetryingStore, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(store, 1, lambda: 7)
    for number in range(50):
        heartbeat.say(f"{STREAMING} {number}", up=True, message="x" * 1_000)
    try:
        until(lambda: FULL in caplog.text)
    finally:
        disk.room()
        heartbeat.close()
    assert caplog.text.count(FULL) == 1


def test_a_directory_that_cannot_be_made_is_one_line_and_waited_for(
    tmp_path: Path, stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    def stop_after_a_line() -> None:
        if caplog.messages:
            stop.set()

    (tmp_path / "file").touch()
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path}/file/store.db", retry_backoff_ms=1)
    store = RetryingStore(settings, stop, Random(), beat=stop_after_a_line)
    with pytest.raises(OperationalError):
        store.open()
    assert caplog.messages == [f"{NO_PLACE}; the query waits for it"]
