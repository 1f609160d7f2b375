"""Which dead letters of a share group are returns, by the offsets that redrives have written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, select

from collector.contract.events import OffsetRange, Position, RedriveWritten
from streaming.redrive.order import Order, OrderRequest, Selection
from streaming.store import schema, share_returns, written
from streaming.store.batch import Batch, Origins
from streaming.store.caps import MAX_ROWS
from streaming.store.engine import connect
from streaming.store.offset_runs import common, rest, runs
from streaming.store.orders import OrderBook
from streaming.store.returns import Of, returns
from streaming.store.store import Store

NOW_MS = 1_800_000_000_000
EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=NOW_MS, offsets={}, marks={})


def range_event(order: str, *ranges: tuple[int, int, int], at_ms: int = NOW_MS) -> RedriveWritten:
    return RedriveWritten(
        source=f"redrive:{order}",
        position=Position(1),
        happened_at_ms=at_ms,
        observed_at_ms=at_ms,
        kafka_cluster="c",
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
        self.store, self.engine, self.batches = store, engine, 0

    def batch(self, *told: RedriveWritten | Origins, now_ms: int = NOW_MS) -> None:
        events = tuple(one for one in told if isinstance(one, RedriveWritten))
        places = tuple(one for one in told if isinstance(one, Origins))
        self.batches += 1
        one = replace(EMPTY, batch_id=self.batches, committed_at_ms=now_ms, events=events, origins=places)
        assert self.store.apply(one)

    def bounced(self, order: str = "o1") -> int:
        with self.engine.begin() as connection:
            return returns(connection, Of.order(order)).bounced

    def rows(self, name: str) -> list[tuple[int, int]]:
        table = schema.metadata.tables[name]
        with self.engine.begin() as connection:
            query = select(table.c.first_offset, table.c.end_offset).order_by(table.c.first_offset)
            return [(row.first_offset, row.end_offset) for row in connection.execute(query)]


@pytest.fixture
def read(url: str) -> Iterator[Read]:
    engine = connect(url)
    with Store(url) as store:
        yield Read(store, engine)
    engine.dispose()


def test_what_lies_in_a_range_has_come_back_and_what_lies_beside_has_not(read: Read) -> None:
    read.batch(range_event("o1", (0, 10, 20), (1, 0, 5)), range_event("o2", (0, 20, 22)))
    read.batch(origins(9, 10, 19, 20, 21, 22), origins(3, partition=1), origins(10, topic="other"))
    assert (read.bounced("o1"), read.bounced("o2")) == (3, 2)
    with read.engine.begin() as connection:
        assert returns(connection, Of.group("dlq", "f")).bounced == 5


def test_a_return_counts_once_whether_its_range_comes_with_it_before_or_behind(read: Read) -> None:
    read.batch(origins(5, 6, 7))
    assert read.bounced() == 0
    read.batch(range_event("o1", (0, 6, 9)))
    assert read.bounced() == 2
    read.batch(range_event("o1", (0, 10, 12)), origins(8, 11))
    assert read.bounced() == 4
    read.batch(range_event("o1", (0, 13, 14)))
    assert (read.bounced(), read.rows("share_returns")) == (4, [(5, 6)])


def test_two_groups_that_reject_one_record_are_two_returns(read: Read) -> None:
    read.batch(range_event("o1", (0, 6, 9)))
    read.batch(origins(6), origins(6, fingerprint="g"))
    assert read.bounced() == 2


def test_transactions_one_after_the_other_are_one_range(read: Read) -> None:
    read.batch(range_event("o1", (0, 0, 10)), range_event("o1", (0, 11, 20)))
    read.batch(range_event("o1", (0, 21, 30), (0, 32, 40)))
    read.batch(range_event("o2", (0, 41, 50)))
    assert read.rows("redrive_written") == [(0, 30), (32, 40), (41, 50)]


def test_of_a_topic_that_was_made_anew_the_newest_writer_counts(read: Read) -> None:
    read.batch(range_event("o1", (0, 0, 10)))
    read.batch(range_event("o2", (0, 3, 5), at_ms=NOW_MS + 1))
    read.batch(origins(2, 3, 4, 5))
    assert (read.bounced("o1"), read.bounced("o2")) == (2, 2)


def test_ranges_and_origins_are_forgotten_in_the_end(read: Read) -> None:
    read.batch(range_event("o1", (0, 0, 10)), origins(50))
    later_ms = NOW_MS + written.KEPT_MS + 1
    read.batch(range_event("o2", (1, 0, 1), at_ms=later_ms), origins(60, partition=1), now_ms=later_ms)
    assert (read.rows("redrive_written"), read.rows("share_returns")) == ([(0, 1)], [(60, 61)])


def test_returns_are_awaited_while_a_redrive_runs_or_has_written(read: Read) -> None:
    assert not read.store.awaits_returns()
    request = OrderRequest(dlq_topic="dlq", selection=Selection(all=True), dry_run=False, reason="mended")
    book = OrderBook(read.engine)
    book.create(
        Order(id="a", request=request, requested_by="me", created_at_ms=1, begin={0: 0}, cut_off={0: 9}), "{}"
    )
    assert read.store.awaits_returns()
    book.cancel("a", "", NOW_MS)
    assert not read.store.awaits_returns()
    read.batch(range_event("a", (0, 0, 1)))
    assert read.store.awaits_returns()


def test_tables_that_are_full_say_so(url: str) -> None:
    engine = connect(url)
    with Store(url, max_rows={**MAX_ROWS, "redrive_written": 2, "share_returns": 1}) as store:
        read = Read(store, engine)
        read.batch(range_event("o1", (0, 0, 1), (0, 5, 6), (0, 9, 10)), origins(20, 30))
        assert (len(read.rows("redrive_written")), len(read.rows("share_returns"))) == (2, 1)
        with engine.begin() as connection:
            found = connection.execute(
                select(schema.series).where(schema.series.c.name == "cardinality_limited")
            )
            assert Counter({row.labels: row.value for row in found}) == {
                '{"series":"redrive_written"}': 1,
                '{"series":"share_returns"}': 1,
            }
    engine.dispose()


def test_runs_are_cut_where_others_overlap() -> None:
    assert runs([5, 1, 2, 5, 3, 9]) == [(1, 4), (5, 6), (9, 10)]
    assert list(common((1, 10), [(0, 2), (4, 6), (10, 12)])) == [(1, 2), (4, 6)]
    assert rest((1, 10), [(4, 6), (0, 2)]) == [(2, 4), (6, 10)]
    assert rest((1, 10), [(0, 20)]) == []
    assert rest((1, 10), [(12, 20), (0, 1)]) == [(1, 10)]
    assert share_returns.KEPT_MS < written.KEPT_MS
