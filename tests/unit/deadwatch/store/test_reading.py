"""Who reads the store waits for nobody who writes, and nobody who writes waits for who reads."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, select, text

from deadwatch.orders.guards import Returns
from deadwatch.orders.order import Claim, Status
from deadwatch.store.batch import delta
from deadwatch.store.engine import reading
from deadwatch.store.returns import StoredReturns
from deadwatch.store.schema import offsets
from deadwatch.store.series import REDRIVE_ORDERS
from deadwatch.store.store import Store
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.policies import PolicyBook
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, order

Read = Callable[[Store, Engine], object]
DLQ = "dlq.orders"
ORDER = order("1", DLQ)
CLAIM = Claim(ORDER, epoch=1, expires_at_ms=1_001)
READS: dict[str, tuple[Read, object]] = {
    "what was moved": (lambda _, engine: HandledBook(engine).begun(DLQ), True),
    "how far streaming is": (lambda _, engine: HandledBook(engine).reached(DLQ), {0: 7}),
    "blocks": (lambda _, engine: bool(HandledBook(engine).handled(DLQ, "", [0])), False),
    "what came back": (lambda _, engine: StoredReturns(engine)("1"), Returns(3, 0)),
    "an order": (lambda _, engine: OrderBook(engine).get("1").status, Status.RUNNING),
    "the order of a key": (lambda _, engine: bool(OrderBook(engine).of_key("k", ORDER.request)), True),
    "what users want": (lambda _, engine: OrderClaims(engine).wanted(CLAIM), Status.RUNNING),
    "an order to claim": (lambda _, engine: OrderClaims(engine).claim("other", 2, 1_000), None),
    "a policy's order": (lambda _, engine: PolicyBook(engine).latest("p"), None),
    "marks": (lambda store, _: store.marks(["log:1"]), {}),
    "returns": (lambda store, _: store.awaits_returns(), True),
    "topics": (lambda store, _: (store.redriven_topics(), store.topic_ids()), (set(), {})),
    "offsets": (lambda store, _: store.offsets(), {(DLQ, 0): 7}),
    "the last commit": (lambda store, _: store.last_commit_ms(), 1),
    "its version": (lambda store, _: store.open() is store, True),
}


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        sent = delta(REDRIVE_ORDERS, {"order": "1", "outcome": "sent"}, 3, first_ms=1, last_ms=1)
        opened.apply(replace(EMPTY, offsets={(DLQ, 0): 7}, series=(sent,)))
        yield opened


connections, writer = suite.connections, suite.connections


@pytest.fixture
def engine(connections: Engine, store: Store) -> Engine:
    del store  # it makes the tables
    OrderBook(connections).create(ORDER, "{}", "k")
    assert OrderClaims(connections).claim("w", 1, 1_000) == CLAIM
    return connections


@pytest.mark.parametrize("read", READS)
def test_who_reads_waits_for_no_writer(writer: Engine, store: Store, engine: Engine, read: str) -> None:
    look, seen = READS[read]
    with writer.begin() as connection:
        connection.execute(insert(offsets), {"topic": "other", "partition": 0, "next_offset": 1})
        assert look(store, engine) == seen


def test_who_writes_waits_for_nobody_who_reads_one_moment(store: Store, engine: Engine) -> None:
    def reached() -> int | None:
        return connection.scalar(select(offsets.c.next_offset).where(offsets.c.topic == DLQ))

    with reading(engine) as connection:
        assert reached() == 7
        store.apply(replace(EMPTY, begins={(DLQ, 0): 7}, offsets={(DLQ, 0): 8}))
        assert reached() == 7
    assert store.offsets() == {(DLQ, 0): 8}


def test_a_store_is_copied_while_it_is_written(store: Store, writer: Engine, tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/copy.db") as copy, writer.begin() as connection:
        connection.execute(text("UPDATE offsets SET next_offset = 9"))
        copy.copy_from(store)
        assert copy.offsets() == {(DLQ, 0): 7}


def test_after_a_reading_its_connection_takes_the_lock_again(engine: Engine) -> None:
    with reading(engine) as connection:
        connection.execute(select(offsets))
    with (
        engine.begin(),
        closing(sqlite3.connect(engine.url.database or "", timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")
