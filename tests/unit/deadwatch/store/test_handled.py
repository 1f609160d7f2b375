"""What redrives have moved is kept by topic and id, grows with the batches and goes with its topic."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from deadwatch.contract.events import OffsetRange, RedriveHandled
from deadwatch.orders.handled import BLOCK
from deadwatch.store import schema
from deadwatch.store.batch import Batch, Present
from deadwatch.store.store import Store
from deadwatch.store.write.handled import MOST, HandledBook
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.progress import Ended
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, Rows, order, origin

DLQ = "dlq.orders"
store, engine, rows = suite.store, suite.engine, suite.rows


@pytest.fixture
def book(engine: Engine) -> HandledBook:
    return HandledBook(engine)


def handled_event(
    *ranges: tuple[int, int, int], topic_id: str = "one", outcome: str = "sent", topic: str = DLQ
) -> RedriveHandled:
    return RedriveHandled(
        **origin("redrive:1"),
        order="1",
        dlq_topic=topic,
        dlq_topic_id=topic_id,
        outcome=outcome,
        handled=tuple(OffsetRange(partition=at, first=first, end=end) for at, first, end in ranges),
    )


def batch(*events: RedriveHandled, **present: Present) -> Batch:
    return replace(EMPTY, events=events, present=present)


def moved(book: HandledBook, topic_id: str = "one", partition: int = 0, upto: int = 30) -> list[int]:
    handled = book.handled(DLQ, topic_id, [partition])
    return [offset for offset in range(upto) if handled.reason(partition, offset)]


def test_batches_add_up_and_one_that_is_sent_again_changes_nothing(store: Store, book: HandledBook) -> None:
    store.apply(batch(handled_event((0, 0, 3), (0, 7, 9), (1, 5, 6))))
    store.apply(batch(handled_event((0, 2, 5)), handled_event((0, 20, 21), outcome="parked")))
    store.apply(batch(handled_event((0, 2, 5))))
    assert moved(book) == [0, 1, 2, 3, 4, 7, 8, 20]
    assert book.handled(DLQ, "one", [0]).reason(0, 20) == "already_parked"
    assert moved(book, partition=1) == [5]


def test_a_topic_that_was_made_anew_has_no_history(store: Store, book: HandledBook) -> None:
    store.apply(batch(handled_event((0, 0, 3), topic_id="one")))
    assert (moved(book, "one"), moved(book, "two")) == ([0, 1, 2], [])
    store.apply(batch(handled_event((0, 0, 1), topic_id="two"), **{DLQ: Present("two", {0: 0})}))
    assert (moved(book, "one"), moved(book, "two")) == ([], [0])


def test_where_topics_have_no_ids_streaming_reports_that_one_was_recreated(
    store: Store, book: HandledBook
) -> None:
    store.apply(batch(handled_event((0, 0, 3), topic_id="")))
    store.end_topics([Ended(DLQ, "topic_recreated", 0)], "c", 1)
    assert moved(book, "") == []


@pytest.mark.parametrize("end", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_what_a_partition_has_lost_of_its_end_is_forgotten_once(
    store: Store, book: HandledBook, rows: Rows, end: int
) -> None:
    other = handled_event((0, 0, 3), topic="dlq.other")
    every = batch(handled_event((0, 0, 2 * BLOCK + 3), (1, 0, 3)), other)
    store.apply(replace(every, offsets={(DLQ, 0): 200_000}))
    store.apply(batch(handled_event((0, BLOCK, BLOCK + 3), outcome="parked")))
    ended = Ended(DLQ, "topic_truncated", 0, {0: end}, {0: end})
    store.end_topics([ended], "c", 1)
    assert moved(book, upto=2 * BLOCK + 9) == list(range(end))
    assert moved(book, partition=1) == [0, 1, 2]
    left = [(DLQ, 0, block) for block in range(3) for _ in range(1 + (block == 1)) if block * BLOCK < end]
    assert rows(schema.redrive_handled, "dlq_topic partition block") == [
        *left,
        (DLQ, 1, 0),
        ("dlq.other", 0, 0),
    ]
    assert book.handled("dlq.other", "one", [0]).reason(0, 2)
    store.apply(batch(handled_event((0, end, end + 1))))  # of a record that came since
    store.end_topics([ended], "c", 1)
    assert moved(book, upto=2 * BLOCK + 9) == list(range(end + 1))


def test_what_kafka_has_no_more_is_forgotten(store: Store, book: HandledBook, rows: Rows) -> None:
    store.apply(
        batch(
            handled_event((0, 0, 3), (0, BLOCK, BLOCK + 1), (1, 0, 1)),
            handled_event((0, 0, 1), topic="dlq.gone"),
        )
    )
    assert store.redriven_topics() == {DLQ, "dlq.gone"}
    there = {DLQ: Present("one", {0: BLOCK, 1: 0}), "dlq.gone": Present("", {})}
    store.apply(batch(handled_event((1, 1, 2)), **there))
    assert rows(schema.redrive_handled, "dlq_topic partition block") == [(DLQ, 0, 1), (DLQ, 1, 0)]
    assert moved(book, partition=1) == [0, 1]


@pytest.mark.parametrize(
    "nonsense",
    [
        handled_event((0, 0, MOST + 1)),
        handled_event((-1, 0, 1)),
        handled_event((0, -5, 3)),
        handled_event((0, 3, 3)),
        handled_event((0, 0, 1), outcome="x"),
    ],
    ids=["wide", "partition", "negative", "empty", "outcome"],
)
def test_what_no_transaction_can_have_done_is_passed_over(
    store: Store, book: HandledBook, nonsense: RedriveHandled
) -> None:
    assert store.apply(batch(nonsense, handled_event((0, 9, 10))))
    assert moved(book) == [9]


def test_a_backfill_keeps_what_is_known_and_adds_what_it_has_read(
    store: Store, book: HandledBook, tmp_path: Path
) -> None:
    store.apply(batch(handled_event((0, 0, 3))))
    with Store(f"sqlite:///{tmp_path / 'beside.db'}") as beside:
        beside.apply(batch(handled_event((0, 2, 5)), handled_event((2, 0, 1))))
        store.replace_with(beside)
    assert (moved(book), moved(book, partition=2)) == ([0, 1, 2, 3, 4], [0])


def test_an_order_has_begun_once_somebody_has_worked_on_it(
    store: Store, book: HandledBook, engine: Engine
) -> None:
    OrderBook(engine).create(order("1", DLQ), "{}")
    assert not book.begun(DLQ)
    assert OrderClaims(engine).claim("w", 1, 1_000) is not None
    assert book.begun(DLQ)
    assert not book.begun("dlq.other")
    store.apply(
        batch(handled_event((0, 0, 1), topic="dlq.other"))
    )  # a store that was made anew has no orders
    assert book.begun("dlq.other")


def test_what_is_noted_last_takes_nothing_back_unless_nobody_knows(book: HandledBook) -> None:
    book.note_ends(DLQ, {0: 10, 1: 3})
    book.note_ends("dlq.other", {0: 1})
    book.note_ends(DLQ, {0: 7, 1: 4, 2: 0})
    assert book.ends(DLQ) == {0: 10, 1: 4, 2: 0}
    book.note_ends(DLQ, {})
    assert (book.ends(DLQ), book.ends("dlq.other")) == ({}, {0: 1})
