"""What the store knows of records that an order has sent: back, settled, or too early to tell."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, event, text

from deadwatch.orders.guards import Returns, bounce_reason
from deadwatch.orders.order import Guards
from deadwatch.store.batch import SeriesDelta, delta
from deadwatch.store.returns import Loop, Scope, StoredReturns, loop, loops
from deadwatch.store.series import REDRIVE_GROUPS, REDRIVE_ORDERS
from deadwatch.store.store import Store
from deadwatch.store.write.orders import OrderBook, longest_settle_window_ms
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, NOW_MS, order

WINDOW_MS = 600_000
engine = suite.engine


class Counted:
    """A store that streaming writes."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store, self.engine = store, engine

    def add(self, outcome: str, records: int, ago_ms: int = 0, order: str = "a") -> None:
        labels = {"order": order, "outcome": outcome}
        at_ms = NOW_MS - ago_ms
        self.count(delta(REDRIVE_ORDERS, labels, records, first_ms=at_ms, last_ms=at_ms))

    def count(self, one: SeriesDelta) -> None:
        self.store.apply(replace(EMPTY, committed_at_ms=NOW_MS, series=(one,)))

    def loop(self, order: str = "a") -> Loop:
        with self.engine.begin() as connection:
            return loop(connection, Scope.order(order), WINDOW_MS, NOW_MS)


@pytest.fixture(params=[200, 0], ids=["with time buckets", "without"])
def counted(url: str, engine: Engine, request: pytest.FixtureRequest) -> Iterator[Counted]:
    with Store(url, max_bucketed_series=request.param) as store:
        yield Counted(store, engine)


def test_of_an_order_that_sent_nothing_nothing_is_known(counted: Counted) -> None:
    assert counted.loop() == Loop(0, 0, 0)
    assert counted.loop().success_rate is None


def test_when_the_window_of_the_last_one_is_over_what_did_not_come_back_has_settled(counted: Counted) -> None:
    counted.add("sent", 30, WINDOW_MS + 20_000)
    counted.add("sent", 70, WINDOW_MS + 11_000)
    counted.add("bounced", 10, 1_000)
    counted.add("sent", 5, order="b")
    assert counted.loop() == Loop(100, 10, 90)
    assert counted.loop().success_rate == 0.9


@pytest.mark.parametrize(
    ("counted", "ago_ms", "settled"),
    [
        (200, 0, 60),
        (200, WINDOW_MS - 10_000, 60),
        (200, WINDOW_MS, 60),
        (200, WINDOW_MS + 10_000, 100),
        (0, WINDOW_MS - 1, 0),  # without time buckets none is settled while one is young
    ],
    indirect=["counted"],
)
def test_while_the_window_runs_no_record_is_settled_too_early(
    counted: Counted, ago_ms: int, settled: int
) -> None:
    counted.add("sent", 60, 10 * WINDOW_MS)
    counted.add("sent", 40, ago_ms)
    assert counted.loop() == Loop(100, 0, settled)


@pytest.mark.parametrize("counted", [200], indirect=True)
def test_what_another_counter_has_under_the_same_labels_is_not_sent(counted: Counted) -> None:
    labels, before_ms = {"order": "a", "outcome": "sent"}, NOW_MS - 10 * WINDOW_MS
    another = replace(REDRIVE_ORDERS, name="another")
    counted.add("sent", 60, 10 * WINDOW_MS)
    counted.add("sent", 40)
    counted.count(delta(another, labels, 7, first_ms=before_ms, last_ms=before_ms))
    assert counted.loop() == Loop(100, 0, 60)


@pytest.mark.parametrize("counted", [200], indirect=True)
def test_many_orders_are_told_apart_with_a_query_and_one_for_each_window(counted: Counted) -> None:
    settled = {WINDOW_MS: 15, 2 * WINDOW_MS: 10, 4 * WINDOW_MS: 0}
    windows_ms = {Scope.order(f"o{number}"): window_ms for number, window_ms in enumerate([*settled] * 3)}
    for number, scope in enumerate(windows_ms):
        name = dict(scope.labels)["order"]
        counted.add("sent", 10 + number, 3 * WINDOW_MS, name)
        counted.add("sent", 5, WINDOW_MS + 20_000, name)
        counted.add("bounced", number, order=name)
    asked: list[str] = []
    event.listen(counted.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    with counted.engine.begin() as connection:
        found = loops(connection, REDRIVE_ORDERS, windows_ms, NOW_MS)
    assert found == {
        scope: Loop(15 + number, number, settled[window_ms])
        for number, (scope, window_ms) in enumerate(windows_ms.items())
    }
    assert len([query for query in asked if query.startswith("SELECT")]) == 3


def test_the_guard_sees_a_loop_and_after_a_resume_only_what_is_new(counted: Counted) -> None:
    book, watch = OrderBook(counted.engine), StoredReturns(counted.engine)
    book.create(order("a"), "{}")
    assert watch("a") == Returns(0, 0)
    counted.add("sent", 30)
    counted.add("bounced", 20)
    assert "20 of 30 records came back" in bounce_reason(Guards(), watch("a"))
    book.pause("a", "too many came back")
    book.resume("a")
    assert watch("a") == Returns(0, 0)
    counted.add("sent", 25)
    counted.add("bounced", 1)
    assert watch("a") == Returns(25, 1)
    book.resume("a")
    assert watch("a") == Returns(25, 1)


def test_without_an_answer_of_the_store_the_guard_hears_what_it_heard_before(counted: Counted) -> None:
    watch = StoredReturns(counted.engine)
    counted.add("sent", 30)
    assert watch("a") == Returns(30, 0)
    with counted.engine.begin() as connection:
        connection.execute(text("ALTER TABLE series RENAME TO away"))
    assert (watch("a"), watch("b")) == (Returns(30, 0), Returns(0, 0))


def test_of_a_group_every_order_counts_and_no_other_topic(counted: Counted) -> None:
    for topic, outcome, records in (("dlq.t", "sent", 10), ("dlq.t", "bounced", 4), ("dlq.u", "sent", 99)):
        labels = {"dlq_topic": topic, "fingerprint": "f1", "outcome": outcome}
        counted.count(delta(REDRIVE_GROUPS, labels, records, first_ms=1, last_ms=1))
    with counted.engine.begin() as connection:
        found = loop(connection, Scope.group("dlq.t", "f1"), WINDOW_MS, NOW_MS)
    assert (found, found.success_rate) == (Loop(10, 4, 6), 0.6)


def test_the_settle_window_of_a_topic_is_the_longest_of_its_orders(counted: Counted) -> None:
    book = OrderBook(counted.engine)
    with counted.engine.begin() as connection:
        assert longest_settle_window_ms(connection, "dlq.t") == 600_000
    for name, window_ms in (("a", 7), ("b", 9), ("c", 8)):
        guards = {"guards": {"settle_window_ms": window_ms}}
        book.create(order(name, selection={"group": name}, request=guards), "{}")
    with counted.engine.begin() as connection:
        assert longest_settle_window_ms(connection, "dlq.t") == 9
