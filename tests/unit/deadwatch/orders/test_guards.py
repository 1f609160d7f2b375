"""What stops an order before it does harm, and how long a target that fails is left alone."""

from random import Random

import pytest
from confluent_kafka import KafkaError

from deadwatch.contract.backoff import Backoff
from deadwatch.orders.guards import Guard, LagRefusedError, Returns, bounce_reason
from deadwatch.orders.order import Guards
from redrive.move.failures import missing_right
from redrive.move.rewrite import BY_KEY
from redrive.move.targets import TargetDeadlines
from redrive.settings import RedriveSettings


@pytest.mark.parametrize(
    ("sent", "bounced", "stops"),
    [(100, 50, False), (100, 51, True), (19, 19, False), (20, 11, True), (0, 0, False)],
)
def test_more_than_half_coming_back_is_a_loop_once_enough_were_sent_unless_that_is_switched_off(
    sent: int, bounced: int, stops: bool
) -> None:
    assert bool(bounce_reason(Guards(), Returns(sent, bounced))) is stops
    assert bounce_reason(Guards(max_bounce_ratio=None), Returns(sent, bounced)) == ""


class Behind:
    """A group whose lag is set by the test; counts how often it was asked."""

    def __init__(self) -> None:
        self.lag, self.asked = 11, 0

    def __call__(self, topics: object) -> int:
        del topics
        self.asked += 1
        if self.lag < 0:
            raise LagRefusedError("grant it, then resume")
        return self.lag


def guarded(lag: int, shared_by: int = 1) -> tuple[Behind, Guard]:
    behind = Behind()
    behind.lag = lag
    watched = Guards(max_target_lag=10, lag_group="g")
    return behind, Guard("1", watched, lambda _: Returns(0, 0), behind, shared_by)


def test_a_group_that_is_behind_holds_the_order_until_it_has_caught_up() -> None:
    behind, guard = guarded(lag=11)
    assert guard.trip(0, frozenset({"t"})) == ("", 0)
    behind.lag = 9
    assert guard.trip(999, frozenset({"t"})) == ("", 0)
    assert behind.asked == 1
    assert guard.trip(1_000, frozenset({"t"})) == ("", 1)
    behind.lag = 8
    assert guard.trip(2_500, frozenset({"t"})) == ("", 2)  # long after it was due


@pytest.mark.parametrize(
    ("lag", "shared_by", "room"), [(1, 2, 4), (0, 16, 1), (9, 16, 1), (10, 16, 0), (11, 16, 0)]
)
def test_tasks_share_what_may_be_sent_and_come_to_their_end(lag: int, shared_by: int, room: int) -> None:
    assert guarded(lag, shared_by)[1].trip(0, frozenset({"t"})) == ("", room)


def test_a_group_that_may_not_be_seen_pauses_the_order() -> None:
    assert guarded(lag=-1)[1].trip(0, frozenset({"t"})) == ("grant it, then resume", 0)


def test_returns_are_looked_up_every_five_seconds() -> None:
    orders: list[str] = []

    def watch(order: str) -> Returns:
        orders.append(order)
        return Returns(100, 51)

    guard = Guard("1", Guards(), watch, None)
    tripped = [guard.trip(now_ms, frozenset()) for now_ms in (0, 4_999, 5_000)]
    assert [bool(reason) for reason, _ in tripped] == [True, False, True]
    assert {room for _, room in tripped} == {None}, "nobody is waited for"
    assert orders == ["1", "1"]


def test_what_is_written_between_two_looks_counts_against_the_lag() -> None:
    behind, guard = guarded(lag=4)
    assert guard.trip(0, frozenset()) == ("", 1)  # where to is not known yet: one record tells
    guard.wrote(1)
    assert guard.trip(1, frozenset({"t"})) == ("", 6)
    guard.wrote(5)
    assert guard.trip(2, frozenset({"t"})) == ("", 1)
    guard.wrote(1)
    assert guard.trip(3, frozenset({"t"})) == ("", 0)
    assert behind.asked == 1
    assert guard.trip(1_001, frozenset({"t"})) == ("", 6)
    assert guard.trip(1_002, frozenset({"t", "u"})) == ("", 6)
    assert behind.asked == 3


@pytest.fixture
def deadlines() -> TargetDeadlines:
    return TargetDeadlines(5_000, Backoff(1_000, 4_000, jitter=0), Random(0))


def test_a_target_that_fails_is_left_alone_and_the_others_are_not(deadlines: TargetDeadlines) -> None:
    deadlines.failed([("t", 1)], 0)
    failed = deadlines.of("t", 1)
    assert failed is not None
    assert failed.retry_at_ms == 1_000
    assert deadlines.of("t", 0) is None
    assert deadlines.of("t", None) == failed  # its key may lead there


def test_the_first_timeout_after_the_deadline_is_the_last(deadlines: TargetDeadlines) -> None:
    for now_ms in (0, 1_000, 5_000):
        deadlines.failed([("t", 1)], now_ms)
        assert deadlines.expired() is None
    deadlines.failed([("t", 1)], 5_001)
    assert deadlines.expired() in {("t", 1), ("t", BY_KEY)}
    assert deadlines.failing(4) is not None
    assert deadlines.failing(5) is None


def test_a_missing_right_is_named_with_whom_it_is_missing_to() -> None:
    away = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS)
    refused = {("orders", 3): KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)}
    assert missing_right(away, "12", "user bob", refused) == (
        "Kafka refuses user bob WRITE on topic orders: grant it, then resume"
    )
    group = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    assert "READ on group deadwatch-redrive-12" in missing_right(group, "12", "user bob")
    assert missing_right(away, "12", "bob") == ""


def test_a_lease_that_cannot_be_renewed_in_time_is_refused() -> None:
    with pytest.raises(ValueError, match="lease_ms must be at least"):
        RedriveSettings(lease_ms=1_000, poll_interval_ms=500)
