"""What redrives have moved is kept by topic and id, grows with the batches and goes with its topic."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, select

from collector.contract.events import OffsetRange, Position, RedriveHandled
from streaming.redrive.handled import BLOCK
from streaming.redrive.order import Order, OrderRequest
from streaming.store import schema
from streaming.store.batch import Batch, Present
from streaming.store.engine import connect
from streaming.store.handled import MOST, HandledBook
from streaming.store.order_claims import OrderClaims
from streaming.store.orders import OrderBook
from streaming.store.read_topics import Ended
from streaming.store.store import Store

DLQ = "dlq.orders"
EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


@pytest.fixture
def book(url: str, store: Store) -> Iterator[HandledBook]:
    del store  # it makes the tables
    engine = connect(url)
    yield HandledBook(engine)
    engine.dispose()


def told(
    *ranges: tuple[int, int, int], topic_id: str = "one", outcome: str = "sent", topic: str = DLQ
) -> RedriveHandled:
    return RedriveHandled(
        source="redrive:1",
        position=Position(1),
        happened_at_ms=1,
        observed_at_ms=1,
        kafka_cluster="c",
        order="1",
        dlq_topic=topic,
        dlq_topic_id=topic_id,
        outcome=outcome,
        handled=tuple(OffsetRange(partition=at, first=first, end=end) for at, first, end in ranges),
    )


def batch(number: int, *events: RedriveHandled, **present: Present) -> Batch:
    return replace(EMPTY, batch_id=number, events=events, present=present)


def moved(book: HandledBook, topic_id: str = "one", partition: int = 0, upto: int = 30) -> list[int]:
    handled = book.handled(DLQ, topic_id, [partition])
    return [offset for offset in range(upto) if handled.reason(partition, offset)]


def test_batches_add_up_and_one_that_is_told_again_changes_nothing(store: Store, book: HandledBook) -> None:
    store.apply(batch(1, told((0, 0, 3), (0, 7, 9), (1, 5, 6))))
    store.apply(batch(2, told((0, 2, 5)), told((0, 20, 21), outcome="parked")))
    store.apply(batch(3, told((0, 2, 5))))
    assert moved(book) == [0, 1, 2, 3, 4, 7, 8, 20]
    assert book.handled(DLQ, "one", [0]).reason(0, 20) == "already_parked"
    assert moved(book, partition=1) == [5]


def test_a_topic_that_was_made_anew_has_no_history(store: Store, book: HandledBook) -> None:
    store.apply(batch(1, told((0, 0, 3), topic_id="one")))
    assert (moved(book, "one"), moved(book, "two")) == ([0, 1, 2], [])
    store.apply(batch(2, told((0, 0, 1), topic_id="two"), **{DLQ: Present("two", {0: 0})}))
    assert (moved(book, "one"), moved(book, "two")) == ([], [0])


def test_where_topics_have_no_ids_streaming_tells_that_one_was_made_anew(
    store: Store, book: HandledBook
) -> None:
    store.apply(batch(1, told((0, 0, 3), topic_id="")))
    store.end_topics([Ended(DLQ, "topic_recreated", 0)], "c", 1)
    assert moved(book, "") == []


def test_what_kafka_has_no_more_is_forgotten(store: Store, book: HandledBook, connection: Connection) -> None:
    store.apply(
        batch(1, told((0, 0, 3), (0, BLOCK, BLOCK + 1), (1, 0, 1)), told((0, 0, 1), topic="dlq.gone"))
    )
    assert store.redriven_topics() == {DLQ, "dlq.gone"}
    there = {DLQ: Present("one", {0: BLOCK, 1: 0}), "dlq.gone": Present("", {})}
    store.apply(batch(2, told((1, 1, 2)), **there))
    table = schema.redrive_handled.c
    rows = connection.execute(select(table.dlq_topic, table.partition, table.block)).all()
    assert sorted(map(tuple, rows)) == [(DLQ, 0, 1), (DLQ, 1, 0)]
    assert moved(book, partition=1) == [0, 1]


@pytest.mark.parametrize(
    "nonsense",
    [
        told((0, 0, MOST + 1)),
        told((-1, 0, 1)),
        told((0, -5, 3)),
        told((0, 3, 3)),
        told((0, 0, 1), outcome="x"),
    ],
    ids=["wide", "partition", "negative", "empty", "outcome"],
)
def test_what_no_transaction_can_have_done_is_passed_over(
    store: Store, book: HandledBook, nonsense: RedriveHandled
) -> None:
    assert store.apply(batch(1, nonsense, told((0, 9, 10))))
    assert moved(book) == [9]


def test_a_backfill_keeps_what_is_known_and_adds_what_it_has_read(
    store: Store, book: HandledBook, tmp_path: Path
) -> None:
    store.apply(batch(1, told((0, 0, 3))))
    with Store(f"sqlite:///{tmp_path / 'beside.db'}") as beside:
        beside.apply(batch(1, told((0, 2, 5)), told((2, 0, 1))))
        store.replace_with(beside)
    assert (moved(book), moved(book, partition=2)) == ([0, 1, 2, 3, 4], [0])


def test_an_order_has_begun_once_somebody_has_worked_on_it(store: Store, book: HandledBook, url: str) -> None:
    engine: Engine = connect(url)
    request = {"dlq_topic": DLQ, "selection": {"all": True}, "dry_run": False, "reason": "r"}
    order = Order(
        id="1",
        request=OrderRequest.model_validate(request),
        requested_by="me",
        created_at_ms=1,
        begin={0: 0},
        cut_off={0: 9},
    )
    OrderBook(engine).create(order, "{}")
    assert not book.begun(DLQ)
    assert OrderClaims(engine).claim("w", 1, 1_000) is not None
    assert book.begun(DLQ)
    assert not book.begun("dlq.other")
    store.apply(batch(1, told((0, 0, 1), topic="dlq.other")))  # a store that was made anew has no orders
    assert book.begun("dlq.other")
    engine.dispose()
