"""What is kept of the store is never older than its newest commit, and is made once for all who ask."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import Connection, func, select

from api.cache import CommitCache
from api.errors import StoreUnavailableError
from api.signals.series import series_rows_of
from api.store import Store
from deadwatch.store import schema
from deadwatch.store import store as written_by_streaming
from deadwatch.store.batch import delta
from deadwatch.store.series import REDRIVE_ORDERS
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


def test_it_is_made_anew_once_for_every_commit_and_at_every_call_where_it_may_not_be_cached(
    reader: Store, note: Callable[[str], None]
) -> None:
    made = Made()
    cache = CommitCache(reader, made)
    for number in range(3):
        assert [cache.get() for _ in range(3)] == [number] * 3
        assert made.times == number + 1
        note(f"s{number}")
    assert cache.get() == 3
    made.times = 0
    never = CommitCache(reader, made, cacheable=lambda _: False)
    assert [never.get(), never.get(), made.times] == [3, 3, 2]


def waiting() -> int:
    """How many threads are inside ``get``, have noted what was there before, and wait."""
    inside = [one for one in sys._current_frames().values() if one.f_code is CommitCache.get.__code__]
    return sum("begun" in frame.f_locals for frame in inside)


@pytest.mark.parametrize(("commits", "times", "values"), [(False, 1, {0}), (True, 2, {0, 1})])
def test_who_asks_while_it_is_made_waits_and_all_who_wait_share_the_next(
    reader: Store, note: Callable[[str], None], *, commits: bool, times: int, values: set[int]
) -> None:
    """Also while something is committed during every reading, as by a stream that is faster than it."""
    begun, may_end = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> int:
        begun.set()
        assert may_end.wait(60)
        value = made(connection)
        if commits:
            note(f"s{made.times}")
        return value

    made = Made()
    cache = CommitCache(reader, slowly)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(cache.get)
        assert begun.wait(60)
        others = [threads.submit(cache.get) for _ in range(7)]
        until(lambda: waiting() == 7, "threads that wait for the first")
        may_end.set()
        assert {caller.result() for caller in (first, *others)} == values
    assert made.times == times


def test_who_waits_shares_a_failure_and_who_asks_later_does_not(reader: Store) -> None:
    begun, may_fail = threading.Event(), threading.Event()
    made = Made()

    def fails_once(connection: Connection) -> int:
        if made(connection) == made.times - 1:
            begun.set()
            assert may_fail.wait(60)
            raise StoreUnavailableError("it hung")
        return 7

    cache = CommitCache(reader, fails_once)

    with ThreadPoolExecutor(3) as threads:
        callers = [threads.submit(cache.get)]
        assert begun.wait(60)
        callers += [threads.submit(cache.get) for _ in range(2)]
        until(lambda: waiting() == 2, "threads that wait for the first")
        may_fail.set()
        assert [type(caller.exception()) for caller in callers] == [StoreUnavailableError] * 3
    assert made.times == 1
    assert cache.get() == 7


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
            assert (row.labels[0], row.value) == (name, number)
        assert len(series_rows_of(connection, REDRIVE_ORDERS, ["a", "ab", "c"])) == 2
        assert series_rows_of(connection, REDRIVE_ORDERS, []) == []
