"""The batch waits while the store is away; a disk that is full is said in one line."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from streaming.heartbeat import STREAMING, Heartbeat
from streaming.patience import PatientStore
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch, GroupDelta
from streaming.store.trouble import REMEDY, line

EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})
FULL = "the store does not work, its disk is full: make room there"


def group(number: int) -> GroupDelta:
    text = "x" * 1_000
    return GroupDelta(f"f{number}", "c", "dlq", "connect", "t", "sink", "E", text, text, 1, 1, 1)


LARGE = replace(EMPTY, groups=tuple(group(number) for number in range(200)))


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 10
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


class Disk:
    """What SQLite may fill of it, in pages of 4 KiB."""

    def __init__(self, store: PatientStore) -> None:
        self._store = store
        self._pages = 1 << 30
        event.listen(store._engine, "connect", self._limit)

    def allow(self, pages: int) -> None:
        self._pages = pages
        self._store._engine.dispose()

    def _limit(self, connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={self._pages}")  # type: ignore[attr-defined]  # sqlite3's


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def store(tmp_path: Path, stop: threading.Event) -> Iterator[PatientStore]:
    settings = StreamingSettings(
        store_url=f"sqlite:///{tmp_path / 'store.db'}", retry_backoff_ms=1, retry_backoff_max_ms=20
    )
    with PatientStore(settings, stop, Random(1)) as opened:
        yield opened


@pytest.fixture
def disk(store: PatientStore) -> Disk:
    limited = Disk(store)
    limited.allow(1)  # no more pages than there are
    return limited


def test_a_batch_waits_for_room_on_the_disk_and_is_merged_once(
    store: PatientStore, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    merged: list[bool] = []
    applying = threading.Thread(target=lambda: merged.append(store.apply(LARGE)))
    applying.start()
    try:
        assert eventually(lambda: FULL in caplog.text)
    finally:
        disk.allow(1 << 30)
        applying.join(10)
    assert merged == [True]
    assert not store.apply(LARGE)
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == f"{FULL}; the query waits for it"
    assert said[1].startswith("the store works again, after ")
    assert len(said) == 2


def test_a_stream_that_is_asked_to_stop_waits_no_longer(
    store: PatientStore, disk: Disk, stop: threading.Event
) -> None:
    stop.set()
    with pytest.raises(OperationalError) as caught:
        store.apply(LARGE)
    assert line(caught.value) == FULL
    disk.allow(1 << 30)
    assert store.apply(LARGE)


def test_one_that_waits_lives(tmp_path: Path, stop: threading.Event) -> None:
    beats: list[int] = []
    settings = StreamingSettings(
        store_url=f"sqlite:///{tmp_path / 'store.db'}", retry_backoff_ms=1, retry_backoff_max_ms=2
    )
    with PatientStore(settings, stop, Random(1), beat=lambda: beats.append(1)) as opened:
        disk = Disk(opened)
        disk.allow(1)
        before = len(beats)
        applying = threading.Thread(target=lambda: opened.apply(LARGE))
        applying.start()
        try:
            assert eventually(lambda: len(beats) > before + 3)
        finally:
            disk.allow(1 << 30)
            applying.join(10)


def test_what_does_not_pass_by_itself_is_raised(tmp_path: Path, stop: threading.Event) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(b"no database at all" * 100)
    settings = StreamingSettings(store_url=f"sqlite:///{file}")
    with pytest.raises(SQLAlchemyError) as caught, PatientStore(settings, stop, Random(1)):
        pass
    assert line(caught.value).startswith("the store does not work, its file is no database. Unless store_url")
    assert line(caught.value).endswith(REMEDY)


def test_a_heartbeat_that_is_not_taken_is_said_once(
    store: PatientStore, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(store, 1, lambda: 7)
    for number in range(50):
        heartbeat.say(f"{STREAMING} {number}", up=True, message="x" * 1_000)
    try:
        assert eventually(lambda: FULL in caplog.text)
    finally:
        disk.allow(1 << 30)
        heartbeat.close()
    assert caplog.text.count(FULL) == 1
