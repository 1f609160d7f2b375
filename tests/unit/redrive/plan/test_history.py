"""An order is made when the store knows what earlier ones have moved; else the error says what is missing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.handled import NOTHING, Handled
from deadwatch.orders.selection import Extents
from redrive.cluster import WRITTEN
from redrive.plan.history import LOOK_MS, WITHIN_MS, History, Notes

if TYPE_CHECKING:
    from deadwatch.store.write.handled import HandledBook
    from redrive.cluster import Cluster

DLQ, EVENTS = "dlq.orders", "deadwatch.events"
PARTITIONS = {DLQ: 2, EVENTS: 1}


@dataclass
class Place:
    """Kafka, whose events end at 10, and a store that streaming has brought so far, and so much a look."""

    reached_at: int
    pace: int = 0
    worked: bool = True
    now_ms: int = 0
    end: int = 10
    noted: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)

    def extents(self, topic: str, partitions: int, isolation: object) -> Extents:
        assert (topic, partitions, isolation) == (EVENTS, 1, WRITTEN)
        return Extents({0: 0}, {0: self.end})

    def partitions(self) -> dict[str, int]:
        return PARTITIONS

    def ends(self, topic: str) -> Mapping[int, int]:
        assert topic == DLQ
        return self.noted

    def note_ends(self, topic: str, ends: Mapping[int, int]) -> None:
        assert topic == DLQ
        self.noted = dict(ends)

    def begun(self, topic: str) -> bool:
        assert topic == DLQ
        return self.worked

    def reached(self, topic: str) -> Mapping[int, int]:
        assert topic == EVENTS
        return {0: self.reached_at}

    def handled(self, topic: str, topic_id: str, partitions: Collection[int]) -> Handled:
        assert (topic, topic_id, list(partitions)) == (DLQ, "its id", [0, 1])
        return NOTHING

    def wait_ms(self, pause_ms: int) -> None:
        self.now_ms += pause_ms
        self.reached_at += self.pace

    def unread(self, partitions: Mapping[str, int] = PARTITIONS) -> str:
        history = History(cast("HandledBook", self), EVENTS, lambda: self.now_ms, self.wait_ms, self.first)
        return history.of(DLQ, "its id", cast("Cluster", self), partitions).unread


@pytest.mark.parametrize(
    ("place", "partitions", "unread"),
    [
        (Place(reached_at=10), PARTITIONS, ""),
        (Place(reached_at=0, worked=False), PARTITIONS, ""),
        (Place(reached_at=10, noted={0: 5_000}, first={0: 5_000}), PARTITIONS, ""),
        (Place(reached_at=10), {DLQ: 2}, f"topic {EVENTS} does not exist, or we may not see it (DESCRIBE)"),
    ],
    ids=["read to the end", "the first order of a topic", "events were made anew", "events may not be seen"],
)
def test_what_has_come_to_its_end_is_not_waited_for(
    place: Place, partitions: Mapping[str, int], unread: str
) -> None:
    assert (place.unread(partitions), place.now_ms) == (unread, 0)


def test_streaming_is_waited_for_while_it_comes() -> None:
    place = Place(reached_at=0, pace=3)
    assert place.unread() == ""
    assert 0 < place.now_ms < WITHIN_MS


def test_streaming_that_is_down_is_waited_for_no_longer_than_a_few_seconds() -> None:
    place = Place(reached_at=7)
    assert place.unread() == "streaming has not read 3 offsets of deadwatch.events"
    assert place.now_ms == pytest.approx(WITHIN_MS, abs=LOOK_MS)


def test_what_others_write_after_an_order_is_not_waited_for() -> None:
    place = Place(reached_at=10)
    assert place.unread() == "", "the first look of a process"
    place.end = 12
    note(place)
    place.end = 1_000
    assert place.unread() == "streaming has not read 2 offsets of deadwatch.events"
    place.reached_at, place.now_ms = 12, 0
    assert (place.unread(), place.now_ms) == ("", 0)


def test_a_store_that_was_restored_knows_less_than_kafka() -> None:
    """Its notes are as old as what it says of streaming."""
    place = Place(reached_at=4, noted={0: 4})
    assert place.unread() == "streaming has not read 6 offsets of deadwatch.events"


@pytest.mark.parametrize("over", [True, False], ids=["Kafka is away", "executors may go on"])
def test_an_end_that_nobody_knows_is_the_end_there_is(*, over: bool) -> None:
    place = Place(reached_at=10, noted={0: 10}, first={0: 10}, end=15)
    note(place, over=over, away=over)
    assert place.unread() == "streaming has not read 5 offsets of deadwatch.events"


def note(place: Place, *, over: bool = True, away: bool = False) -> None:
    """As a worker does, before it lets go of an order."""

    class Away(Place):
        def partitions(self) -> dict[str, int]:
            raise KafkaUnavailableError("away")

    Notes(cast("HandledBook", place), EVENTS, cast("Cluster", Away(0) if away else place)).note(
        DLQ, over=over
    )
