"""Records that a real Kafka refuses, among thousands that it takes, at the default delivery timeout.

Counted is how many transactions are undone for them; a wait for what can only expire takes longer than a
test may.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from deadwatch.orders.order import Claim, Order
from deadwatch.runtime.clock import clock_ms
from lab.topics import Topics
from redrive.move.mover import Finished, Idle, Moved
from redrive.move.task import OrderTask, WorkerContext
from redrive.settings import RedriveSettings
from redrive.telemetry import EndedTransaction, Telemetry
from tests.integration.redrive_place import Place, no_client_is_left, outcomes
from tests.kafka_topics import connect_headers, producing

WIDTH = 3
HOUR_MS = 3_600_000
WITHIN_STEPS = 2_000
Value = Callable[[int], bytes]


@dataclass
class Counting(Telemetry):
    """How each transaction ended."""

    undone: list[str] = field(default_factory=list)

    def ended(self, transaction: EndedTransaction) -> None:
        if transaction.error_type:
            self.undone.append(transaction.error_type)


def create(place: Place, name: str, **config: str) -> str:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    Topics(place.servers).create(name, partitions=WIDTH, config=settings)
    return name


def fail(
    place: Place,
    topic: str,
    count: int,
    value: Value = lambda number: b"%d" % number,
    *,
    old: frozenset[int] = frozenset(),
    keyless: frozenset[int] = frozenset(),
    attempts: int = 0,
) -> None:
    """Dead letters of the topic, of which some are what it refuses; the dead letter topic takes all."""
    with producing(place.servers, message_max_bytes=10 << 20, linger_ms=50) as producer:
        for number in range(count):
            at = number % WIDTH
            headers = connect_headers(topic, at, number // WIDTH)
            headers.append(("number", b"%d" % number))
            if attempts:
                headers.append(("deadwatch.redrive.attempts", b"%d" % attempts))
            key = None if number in keyless else b"key-%d" % (number % 30)
            time_ms = clock_ms() - (3 * HOUR_MS if number in old else 60_000)
            producer.produce(place.dlq, value(number), key, at, timestamp=time_ms, headers=headers)
            producer.poll(0)


def redriven(place: Place, order: Order, most_steps: int = WITHIN_STEPS, epoch: int = 1) -> list[str]:
    """Work on it in so many steps at most; what each transaction that came to nothing was undone for."""
    settings = RedriveSettings.model_validate(
        {"kafka": {"bootstrap_servers": place.servers}, "events_topic": place.events}
    )
    counting = Counting()
    context = WorkerContext(settings, telemetry=counting)
    with no_client_is_left(), OrderTask(context, Claim(order, epoch, 0), lambda: None) as work:
        for _ in range(most_steps):
            step = work.step()
            if isinstance(step, Finished):
                return counting.undone
            assert isinstance(step, Moved | Idle), step
    assert most_steps < WITHIN_STEPS, counting.undone
    return counting.undone


def numbers(place: Place, topic: str) -> list[list[int]]:
    """What each partition of a topic holds, in its order."""
    found: list[list[int]] = [[] for _ in range(WIDTH)]
    for record in place.read(topic):
        found[record.partition].append(int(dict(record.headers)["number"]))
    return found


def expected(count: int, without: frozenset[int] = frozenset()) -> list[list[int]]:
    return [[one for one in range(at, count, WIDTH) if one not in without] for at in range(WIDTH)]


@pytest.mark.parametrize(
    ("bad", "most"),
    [
        (frozenset({1_700}), 2),
        (frozenset({0, 2_999}), 4),
        (frozenset(Random(3).sample(range(3_000), 50)), 20),
    ],
    ids=["in the middle", "first and last", "fifty"],
)
def test_what_is_too_large_costs_few_transactions_and_the_others_arrive_in_order(
    place: Place, bad: frozenset[int], most: int
) -> None:
    place.dlq = create(place, f"{place.dlq}.large", max_message_bytes=str(10 << 20))
    sizes = Random(5)
    fail(
        place,
        place.topic,
        3_000,
        lambda number: os.urandom(sizes.randrange(1_050_000, 1_300_000)) if number in bad else b"small",
    )
    order = place.order()
    undone = redriven(place, order)
    assert 1 <= len(undone) <= most, undone
    assert numbers(place, place.topic) == expected(3_000, bad)
    assert outcomes(place, order) == {
        ("failed", "msg_size_too_large", 0): len(bad),
        ("sent", "", 1): 3_000 - len(bad),
    }


def test_a_topic_that_takes_less_than_a_batch_gets_smaller_ones(place: Place) -> None:
    """One record of it is too large as well, in the midst of those that are not."""
    narrow = create(place, f"{place.topic}-narrow", max_message_bytes="20000")
    fail(place, narrow, 3_000, lambda number: b"x" * (30_000 if number == 1_500 else 300))
    order = place.order()
    undone = redriven(place, order)
    assert len(undone) <= 20, undone
    assert numbers(place, narrow) == expected(3_000, frozenset({1_500}))
    assert outcomes(place, order) == {("failed", "msg_size_too_large", 0): 1, ("sent", "", 1): 2_999}


@pytest.mark.parametrize(
    ("bad", "most"), [(frozenset({700, 703, 1_901}), 12), (frozenset(range(3_000)), 12)], ids=["three", "all"]
)
def test_what_is_too_old_for_its_topic_is_found_as_well(place: Place, bad: frozenset[int], most: int) -> None:
    fresh = create(place, f"{place.topic}-fresh", message_timestamp_before_max_ms=str(HOUR_MS))
    fail(place, fresh, 3_000, old=bad)
    order = place.order()
    undone = redriven(place, order)
    assert len(undone) <= most, undone
    assert numbers(place, fresh) == expected(3_000, bad)
    counted: Counter[str] = Counter()
    for (outcome, reason, _), count in outcomes(place, order).items():
        assert (outcome == "sent") == (reason == "")
        assert reason in {"", "invalid_timestamp", "invalid_record"}
        counted[outcome] += count
    assert counted == Counter({"failed": len(bad), "sent": 3_000 - len(bad)})


def test_several_targets_that_each_refuse_something(place: Place) -> None:
    compacted = create(place, f"{place.topic}-compacted", cleanup_policy="compact")
    small = create(place, f"{place.topic}-small", max_message_bytes="700")
    fail(place, compacted, 90, keyless=frozenset({30, 33, 40}))
    fail(place, small, 30, lambda number: b"x" * (800 if number == 15 else 10))
    fail(place, place.topic, 300)
    order = place.order()
    undone = redriven(place, order)
    assert len(undone) <= 20, undone
    assert numbers(place, compacted) == expected(90, frozenset({30, 33, 40}))
    assert numbers(place, small) == expected(30, frozenset({15}))
    assert numbers(place, place.topic) == expected(300)
    assert outcomes(place, order) == {
        ("failed", "invalid_record", 0): 3,
        ("failed", "msg_size_too_large", 0): 1,
        ("sent", "", 1): 416,
    }


def test_a_record_that_the_topic_of_parked_ones_refuses_fails(place: Place) -> None:
    parked = create(place, f"{place.dlq}.parked", max_message_bytes="700")
    fail(place, place.topic, 30, lambda number: b"x" * (800 if number == 7 else 10), attempts=1)
    order = place.order(retry={"max_attempts": 1, "retry_backoff_ms": 0})
    undone = redriven(place, order)
    assert len(undone) <= 20, undone
    assert numbers(place, parked) == expected(30, frozenset({7}))
    assert outcomes(place, order) == {
        ("failed", "msg_size_too_large", 1): 1,
        ("parked", "attempts_used_up", 1): 29,
    }


def test_who_is_stopped_at_any_step_leaves_nothing_out_and_nothing_twice(place: Place) -> None:
    """Each claim takes one step more and is left; the next one fences it and begins to find out anew."""
    small = create(place, f"{place.topic}-small", max_message_bytes="700")
    bad = frozenset({4, 100, 250})
    fail(place, small, 300, lambda number: b"x" * (800 if number in bad else 10))
    order = place.order(limits={"records_per_second": None, "max_in_flight": 100})
    for steps in range(1, 8):
        redriven(place, order, steps, epoch=steps)
    redriven(place, order, epoch=8)
    assert numbers(place, small) == expected(300, bad)
    assert outcomes(place, order) == {("failed", "msg_size_too_large", 0): 3, ("sent", "", 1): 297}
