"""What is kept of the store is never older than its newest commit, and is made once for all who ask."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import Connection, func, select

from api.errors import StoreUnavailableError
from api.kept import Kept
from api.rows import series_rows_of
from api.store import Store
from streaming.store import schema
from streaming.store import store as written_by_streaming
from streaming.store.batch import delta
from streaming.store.series import REDRIVE_ORDERS
from tests.waiting import until


@pytest.fixture
def written(url: str) -> Iterator[written_by_streaming.Store]:
    with written_by_streaming.Store(url) as store:
        yield store


@pytest.fixture
def reader(url: str, written: written_by_streaming.Store) -> Iterator[Store]:
    del written
    with closing(Store(url)) as store:
        yield store


@pytest.fixture
def note(written: written_by_streaming.Store) -> Callable[[str], None]:
    """Commit something."""
    return lambda name: written.note_source(name, "log", up=True, message="", now_ms=1)


class Made:
    """How many sources there are; counts how often it was made."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, connection: Connection) -> int:
        self.times += 1
        return connection.execute(select(func.count()).select_from(schema.sources)).scalar_one()


def test_it_is_made_anew_once_for_every_commit(reader: Store, note: Callable[[str], None]) -> None:
    made = Made()
    kept = Kept(reader, made)
    for number in range(3):
        assert [kept.get() for _ in range(3)] == [number] * 3
        assert made.times == number + 1
        note(f"s{number}")
    assert kept.get() == 3


def test_what_may_not_last_is_made_at_every_call(reader: Store) -> None:
    made = Made()
    kept = Kept(reader, made, lambda _: False)
    kept.get()
    kept.get()
    assert made.times == 2


def test_who_asks_while_it_is_made_waits_for_it(reader: Store) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> int:
        begun.set()
        assert may_end.wait(60)
        return made(connection)

    made = Made()
    kept = Kept(reader, slowly)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(kept.get)
        assert begun.wait(60)
        others = [threads.submit(kept.get) for _ in range(7)]
        may_end.set()
        assert {one.result() for one in (first, *others)} == {0}
    assert made.times == 1


def test_who_waits_shares_a_failure_and_who_asks_later_does_not(reader: Store) -> None:
    begun, may_fail = threading.Event(), threading.Event()
    made = Made()

    def fails_once(connection: Connection) -> int:
        if made(connection) == made.times - 1:
            begun.set()
            assert may_fail.wait(60)
            raise StoreUnavailableError("it hung")
        return 7

    kept = Kept(reader, fails_once)
    errors: list[StoreUnavailableError] = []

    def ask() -> None:
        try:
            kept.get()
        except StoreUnavailableError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    until(lambda: all(waits(thread) for thread in threads[1:]), "threads that wait for the first")
    may_fail.set()
    for thread in threads:
        thread.join()
    assert (len(errors), made.times) == (3, 1)
    assert kept.get() == 7


def waits(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is Kept.get.__code__


def test_rows_of_some_orders_are_those_of_no_other(
    reader: Store, written: written_by_streaming.Store
) -> None:
    names = ["a", "ab", "a,", "a-", 'a"', "A", "ä", "b"]
    for number, name in enumerate(names, 1):
        labels = {"order": name, "outcome": "sent"}
        written.count(delta(REDRIVE_ORDERS, labels, number, first_ms=1, last_ms=2))
    with reader.read() as connection:
        for number, name in enumerate(names, 1):
            (row,) = series_rows_of(connection, REDRIVE_ORDERS, [name])
            assert (row.labels["order"], row.value) == (name, number)
        assert len(series_rows_of(connection, REDRIVE_ORDERS, ["a", "ab", "c"])) == 2
        assert series_rows_of(connection, REDRIVE_ORDERS, []) == []
