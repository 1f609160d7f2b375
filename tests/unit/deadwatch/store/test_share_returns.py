"""Which dead letters of a share group are returns, by the offsets that redrives have written."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from deadwatch.contract.events import OffsetRange, RedriveWritten
from deadwatch.store import schema
from deadwatch.store.batch import Origins
from deadwatch.store.returns import Scope, returns
from deadwatch.store.store import Store
from deadwatch.store.write import share_returns
from deadwatch.store.write.orders import OrderBook
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, NOW_MS, Rows, order, origin


def range_event(order: str, *ranges: tuple[int, int, int], at_ms: int = NOW_MS) -> RedriveWritten:
    return RedriveWritten(
        **origin(f"redrive:{order}", at_ms),
        order=order,
        dlq_topic="dlq",
        target_topic="orders",
        written=tuple(OffsetRange(partition=at, first=first, end=end) for at, first, end in ranges),
    )


def origins(*offsets: int, partition: int = 0, fingerprint: str = "f", topic: str = "orders") -> Origins:
    return Origins("c", "dlq", fingerprint, topic, partition, offsets)


class Read:
    """A store, and the batches that it is given."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store, self.engine = store, engine

    def batch(self, *found: RedriveWritten | Origins, now_ms: int = NOW_MS) -> None:
        events = tuple(one for one in found if isinstance(one, RedriveWritten))
        places = tuple(one for one in found if isinstance(one, Origins))
        assert self.store.apply(replace(EMPTY, committed_at_ms=now_ms, events=events, origins=places))

    def bounced(self, order: str = "o1") -> int:
        with self.engine.begin() as connection:
            return returns(connection, Scope.order(order)).bounced


store, engine, rows = suite.store, suite.engine, suite.rows
RANGE = "first_offset end_offset"


@pytest.fixture
def read(store: Store, engine: Engine) -> Read:
    return Read(store, engine)


def test_what_lies_in_a_range_has_come_back_and_what_lies_beside_has_not(read: Read) -> None:
    read.batch(range_event("o1", (0, 10, 20), (1, 0, 5)), range_event("o2", (0, 20, 22)))
    read.batch(origins(9, 10, 19, 20, 21, 22), origins(3, partition=1), origins(10, topic="other"))
    assert (read.bounced("o1"), read.bounced("o2")) == (3, 2)
    read.batch(origins(10, fingerprint="of another group"))
    assert read.bounced("o1") == 4
    with read.engine.begin() as connection:
        assert returns(connection, Scope.group("dlq", "f")).bounced == 5


def test_a_return_counts_once_whether_its_range_comes_with_it_before_or_behind(
    read: Read, rows: Rows
) -> None:
    read.batch(origins(5, 6, 7))
    assert read.bounced() == 0
    read.batch(range_event("o1", (0, 6, 9)))
    assert read.bounced() == 2
    read.batch(range_event("o1", (0, 10, 12)), origins(8, 11))
    assert read.bounced() == 4
    read.batch(range_event("o1", (0, 13, 14)))
    assert (read.bounced(), rows(schema.share_returns, RANGE)) == (4, [(5, 6)])


def test_transactions_one_after_the_other_are_one_range(read: Read, rows: Rows) -> None:
    read.batch(range_event("o1", (0, 0, 10)), range_event("o1", (0, 11, 20)))
    read.batch(range_event("o1", (0, 21, 30), (0, 32, 40)))
    read.batch(range_event("o2", (0, 41, 50)))
    assert rows(schema.redrive_written, RANGE) == [(0, 30), (32, 40), (41, 50)]


def test_of_a_topic_that_was_made_anew_the_newest_writer_counts(read: Read) -> None:
    read.batch(range_event("o1", (0, 0, 10)))
    read.batch(range_event("o2", (0, 3, 5), at_ms=NOW_MS + 1))
    read.batch(origins(2, 3, 4, 5))
    assert (read.bounced("o1"), read.bounced("o2")) == (2, 2)


def test_ranges_and_origins_are_forgotten_in_the_end(read: Read, rows: Rows) -> None:
    read.batch(range_event("o1", (0, 0, 10)), origins(50))
    later_ms = NOW_MS + share_returns.RANGES_KEPT_MS + 1
    read.batch(range_event("o2", (1, 0, 1), at_ms=later_ms), origins(60, partition=1), now_ms=later_ms)
    assert (rows(schema.redrive_written, RANGE), rows(schema.share_returns, RANGE)) == ([(0, 1)], [(60, 61)])


def test_returns_are_awaited_while_a_redrive_runs_or_has_written(read: Read) -> None:
    assert not read.store.awaits_returns()
    book = OrderBook(read.engine)
    book.create(order("a", "dlq"), "{}")
    assert read.store.awaits_returns()
    book.cancel("a", "", NOW_MS)
    assert not read.store.awaits_returns()
    read.batch(range_event("a", (0, 0, 1)))
    assert read.store.awaits_returns()


def test_ranges_are_kept_for_longer_than_what_waits_for_them() -> None:
    assert share_returns.ORIGINS_KEPT_MS < share_returns.RANGES_KEPT_MS
