"""Backoff on a real Kafka: waits that grow, fresh records behind, who resumes."""

import time
from collections import Counter
from itertools import pairwise

import pytest

from streaming.redrive.fetch import Absence, Fetcher
from streaming.redrive.order import Status
from tests.integration.redrive_place import Orders, Place, now_header, ours, outcomes, until
from tests.integration.redrive_place import place as place  # noqa: PLC0414 -- a fixture

pytestmark = pytest.mark.integration


def test_a_record_that_fails_again_waits_longer_each_time_and_is_parked_at_last(place: Place) -> None:
    """A consumer that never succeeds: what comes back to the source is a dead letter again."""
    place.letters(1)
    retry = {"max_attempts": 3, "retry_backoff_ms": 150, "retry_backoff_max_ms": 10_000}
    moved_ms: list[int] = []
    order = None
    for attempt in range(1, 4):
        order = place.order(behind=order, retry=retry)
        assert place.redriven(order) == (Status.COMPLETED, "")
        assert outcomes(place, order) == {("sent", "", attempt): 1}
        returned = next(one for one in place.read() if ours(one)["attempts"] == str(attempt))
        assert ours(returned)["attempts"] == str(attempt)
        moved_ms.append(int(ours(returned)["moved-at-ms"]))
        place.fail(returned)
    waits = [later - before for before, later in pairwise(moved_ms)]
    assert waits[0] >= 0.8 * 300
    assert waits[1] >= 0.8 * 600
    order = place.order(behind=order, retry=retry)
    assert place.redriven(order) == (Status.COMPLETED, "")
    assert outcomes(place, order) == {("parked", "attempts_used_up", 3): 1}
    assert len(place.read()) == 3
    (parked,) = place.read(f"{place.dlq}.parked")
    assert ours(parked)["parked-reason"] == "attempts_used_up"
    assert ours(parked)["attempts"] == "3"
    assert parked.value == b"value-0"


def test_fresh_records_behind_one_that_waits_move_at_once(place: Place) -> None:
    place.letters(1, partition=0, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(9, partition=0)
    order = place.order(retry={"retry_backoff_ms": 3_600_000, "retry_backoff_max_ms": 7_200_000})
    orders = Orders()
    orders.add(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 9)
        began_s = time.monotonic()
        orders.status[order.id] = Status.CANCELLING
        until(lambda: orders.status[order.id] is Status.CANCELLED)
        assert time.monotonic() - began_s < 1
    assert len(place.read()) == 9


def test_who_resumes_moves_what_waited_and_nothing_twice(place: Place) -> None:
    place.letters(1, partition=0, headers=[("deadwatch.redrive.attempts", b"1"), now_header()])
    place.letters(9, partition=0)
    order = place.order(retry={"retry_backoff_ms": 2_000, "retry_backoff_max_ms": 60_000})
    orders = Orders()
    orders.add(order)
    with place.worker(orders):
        until(lambda: len(place.read()) == 9)
    with place.worker(orders):
        until(lambda: order.id in orders.reason)
    assert Counter(record.headers[0][1] for record in place.read()).most_common(1)[0][1] == 2
    assert sorted(ours(record)["attempts"] for record in place.read()) == ["1"] * 9 + ["2"]


def test_a_partition_is_read_again_as_often_as_need_be(place: Place) -> None:
    """One record of it each time, as when they become due one after the other."""
    place.letters(60)
    fetcher = Fetcher({"bootstrap.servers": place.servers})
    for offset in range(20):
        wanted = {(place.dlq, partition): [offset] for partition in range(3) if (offset + partition) % 3}
        found = fetcher.fetch(wanted)
        assert found.keys() == {(*partition, offset) for partition in wanted}
        assert not any(isinstance(record, Absence) for record in found.values())
    fetcher.close()
