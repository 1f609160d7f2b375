"""An order is made when streaming has told what earlier ones have moved; else that is said."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from streaming.redrive.cluster import Extents
from streaming.redrive.handled import NOTHING, Handled
from streaming.redrive.history import WITHIN_MS, History

if TYPE_CHECKING:
    from streaming.redrive.cluster import Cluster

DLQ, EVENTS = "dlq.orders", "deadwatch.events"
PARTITIONS = {DLQ: 2, EVENTS: 1}


@dataclass
class Place:
    """Kafka, whose events end at 10, and a store that streaming has brought so far, and so much a look."""

    reached_at: int
    pace: int = 0
    worked: bool = True
    now_ms: int = 0

    def written(self, topic: str, partitions: int) -> Extents:
        assert (topic, partitions) == (EVENTS, 1)
        return Extents({0: 0}, {0: 10})

    def topic_id(self, topic: str) -> str:
        return f"id of {topic}"

    def begun(self, topic: str) -> bool:
        assert topic == DLQ
        return self.worked

    def reached(self, topic: str) -> Mapping[int, int]:
        assert topic == EVENTS
        return {0: self.reached_at}

    def handled(self, topic: str, topic_id: str, partitions: Collection[int]) -> Handled:
        assert (topic, topic_id, list(partitions)) == (DLQ, "id of dlq.orders", [0, 1])
        return NOTHING

    def wait_ms(self, pause_ms: int) -> None:
        self.now_ms += pause_ms
        self.reached_at += self.pace

    def unread(self, partitions: Mapping[str, int] = PARTITIONS) -> str:
        history = History(self, EVENTS, lambda: self.now_ms, self.wait_ms)
        return history.of(DLQ, cast("Cluster", self), partitions).unread


def test_who_is_read_to_the_end_is_not_waited_for() -> None:
    place = Place(reached_at=10)
    assert (place.unread(), place.now_ms) == ("", 0)


def test_streaming_is_waited_for_while_it_comes() -> None:
    place = Place(reached_at=0, pace=3)
    assert place.unread() == ""
    assert 0 < place.now_ms < WITHIN_MS


def test_streaming_that_is_down_is_waited_for_no_longer_than_a_few_seconds() -> None:
    place = Place(reached_at=7)
    assert place.unread() == "streaming has not read 3 offsets of deadwatch.events"
    assert place.now_ms == pytest.approx(WITHIN_MS, abs=100)


def test_the_first_order_of_a_topic_waits_for_nobody() -> None:
    place = Place(reached_at=0, worked=False)
    assert (place.unread(), place.now_ms) == ("", 0)


def test_events_that_may_not_be_seen_are_not_read() -> None:
    place = Place(reached_at=10)
    assert place.unread({DLQ: 2}) == f"topic {EVENTS} does not exist, or we may not see it (DESCRIBE)"
