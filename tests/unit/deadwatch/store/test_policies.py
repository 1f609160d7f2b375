"""Policies in the store: versions, who may change them, orders that are kept with how far one has looked."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from deadwatch.orders.errors import (
    OrderOverlapError,
    PolicyChangedError,
    RefusedOrderError,
    UnknownPolicyError,
)
from deadwatch.orders.order import Order, Status
from deadwatch.orders.policy import Due, Latest, Policy, PolicyRequest, Position
from deadwatch.orders.selection import Extents
from deadwatch.store.write import orders, policies
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.policies import LONGEST_REST_MS, MAX_POLICIES, PolicyBook
from tests.unit.deadwatch.store import suite

engine = suite.engine
PART = Due("dlq.t", Extents({0: 3}, {0: 9}), "1")


@pytest.fixture
def book(engine: Engine) -> PolicyBook:
    return PolicyBook(engine)


def policy(name: str = "a", **changes: object) -> Policy:
    asked = PolicyRequest.model_validate({"dlq_topics": ["dlq.t"], "reason": "flaky", **changes})
    return Policy(name, 1, asked, "me", 100, 100, {"dlq.t": Position("1", {0: 3})})


def order(name: str, of: str = "a", begin: int = 3, created_at_ms: int = 1) -> Order:
    return suite.order(name, begin={0: begin}, created_at_ms=created_at_ms, policy=of)


def kept(engine: Engine, name: str = "a") -> Policy:
    with engine.begin() as connection:
        return policies.find(connection, name)


def test_a_policy_is_kept_as_it_was_asked_for(book: PolicyBook, engine: Engine) -> None:
    made = book.create(policy(filter='message == "\u00e9"', exclude_error_classes=["a.B"]))
    assert kept(engine) == made
    with engine.begin() as connection, pytest.raises(UnknownPolicyError, match="'b'"):
        policies.find(connection, "b")


def test_a_change_is_a_version_and_keeps_how_far_it_has_looked(book: PolicyBook, engine: Engine) -> None:
    book.create(policy())
    book.carry_out(kept(engine), PART, None, "{}")
    book.rest(kept(engine), "Kafka is away", 3, 9_999)
    changed = replace(
        policy(enabled=False),
        changed_by="ann",
        changed_at_ms=200,
        positions={"dlq.t": Position("9", {0: 50}), "dlq.u": Position("2", {0: 5})},
    )
    after = book.change(changed, 1)
    assert kept(engine) == after
    assert (after.version, after.created_at_ms, after.changed_at_ms) == (2, 100, 200)
    assert after.positions == {"dlq.t": Position("1", {0: 9}), "dlq.u": Position("2", {0: 5})}
    assert (after.status_reason, after.failures, after.next_at_ms) == ("", 0, 0)


def test_a_topic_that_is_new_to_it_begins_anew_whatever_is_changed(book: PolicyBook, engine: Engine) -> None:
    wide = policy(dlq_topics=[r"dlq\..*"])
    book.create(wide)
    book.change(
        replace(wide, positions={"dlq.t": Position("1", {0: 50}), "dlq.made-since": Position("2", {0: 7})}),
        None,
    )
    assert kept(engine).positions == {"dlq.t": Position("1", {0: 3})}


def test_only_the_version_that_was_read_is_changed(book: PolicyBook, engine: Engine) -> None:
    book.create(policy())
    book.change(policy(), 1)
    with pytest.raises(PolicyChangedError, match="is at version 2, not 1"):
        book.change(policy(enabled=False), 1)
    with pytest.raises(PolicyChangedError):
        book.delete("a", "me", 5, 1)
    assert kept(engine).request.enabled
    book.change(policy(), None)
    book.delete("a", "ann", 5, 3)
    for call in (lambda: book.delete("a", "me", 6, None), lambda: book.change(policy(), None)):
        with pytest.raises(UnknownPolicyError):
            call()


def test_its_history_outlives_it(book: PolicyBook, engine: Engine) -> None:
    book.create(policy())
    book.change(replace(policy(), changed_by="ann"), None)
    book.delete("a", "bob", 5, None)
    with engine.begin() as connection:
        found = policies.changes(connection, "a")
        with pytest.raises(UnknownPolicyError):
            policies.changes(connection, "b")
    changes = [(change.version, change.change, change.changed_by) for change in found]
    assert changes == [(3, "deleted", "bob"), (2, "changed", "ann"), (1, "created", "me")]


def test_one_worker_at_a_time_looks_at_a_policy(book: PolicyBook) -> None:
    for name in ("a", "b"):
        book.create(policy(name))
    book.create(policy("c", enabled=False))
    assert [one.id for one in book.take(1_000, 2_000)] == ["a", "b"]
    assert book.take(1_999, 3_000) == []
    assert [one.id for one in book.take(2_000, 3_000 + LONGEST_REST_MS)] == ["a", "b"]
    assert book.take(3_000, 4_000) == []
    assert [one.id for one in book.take(2_999, 4_000)] == ["a", "b"], "the clock was set back"
    longer_ms = 4_000 + 2 * LONGEST_REST_MS
    assert [one.id for one in book.take(4_000, longer_ms)] == ["a", "b"]
    assert book.take(4_001, longer_ms) == [], "they are looked at as seldom as this"


def test_order_and_position_are_kept_together_once(book: PolicyBook, engine: Engine) -> None:
    seen = book.create(policy())
    assert book.latest("a") is None
    made = book.carry_out(seen, PART, order("1", created_at_ms=200), "{}")
    assert made is not None
    assert (made.order.policy, made.status) == ("a", Status.RUNNING)
    assert (kept(engine).positions, kept(engine).last_topic) == ({"dlq.t": Position("1", {0: 9})}, "dlq.t")
    assert book.latest("a") == Latest("1", Status.RUNNING, 200)
    assert book.carry_out(seen, PART, order("2"), "{}") is None, "another worker was faster"
    assert book.latest("a") == Latest("1", Status.RUNNING, 200)
    book.carry_out(kept(engine), Due("dlq.t", Extents({0: 9}, {0: 12}), "1"), order("2", begin=9), "{}")
    assert book.latest("a") == Latest("2", Status.RUNNING, 201), "the clock was set back"


def test_an_order_of_a_policy_that_has_changed_meanwhile_is_not_made(book: PolicyBook) -> None:
    seen = book.create(policy())
    book.change(policy(enabled=False), None)
    assert book.carry_out(seen, PART, order("1"), "{}") is None
    book.delete("a", "me", 5, None)
    assert book.carry_out(seen, PART, order("1"), "{}") is None
    assert book.latest("a") is None


def test_while_others_redrive_the_same_records_nothing_is_kept(book: PolicyBook, engine: Engine) -> None:
    seen = book.create(policy())
    OrderBook(engine).create(order("f", of=""), "{}")
    with pytest.raises(OrderOverlapError):
        book.carry_out(seen, PART, order("1"), "{}")
    assert kept(engine) == seen


def test_what_keeps_it_is_kept_unless_it_was_changed_meanwhile(book: PolicyBook, engine: Engine) -> None:
    seen = book.create(policy())
    book.rest(seen, "Kafka\x00 is away", 2, 5_000)
    found = kept(engine)
    assert (found.failures, found.next_at_ms) == (2, 5_000)
    assert "is away" in found.status_reason
    book.change(policy(), None)
    book.rest(seen, "too late", 3, 6_000)
    assert kept(engine).status_reason == ""


def test_its_orders_are_distinguished_from_others(book: PolicyBook, engine: Engine) -> None:
    book.carry_out(book.create(policy()), PART, order("1", created_at_ms=7), "{}")
    OrderBook(engine).create(order("f", of="", begin=9), "{}")
    with engine.begin() as connection:
        assert [one.order.id for one in orders.page(connection, None, 9, "a")] == ["1"]
        assert len(orders.page(connection, None, 9)) == 2


def test_there_is_an_end_to_policies(book: PolicyBook) -> None:
    for number in range(MAX_POLICIES):
        book.create(policy(f"{number:x}"))
    with pytest.raises(RefusedOrderError, match="delete one"):
        book.create(policy("f-f"))
