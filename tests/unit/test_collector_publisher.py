"""What the publisher promises when Kafka fails: all in order, positions only after the commit."""

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError

from collector.contract.backoff import Backoff
from collector.contract.events import Event, Instance, Position, WorkerSnapshot, WorkerStarted, encode
from collector.outbox import PARCELS_OF_A_SOURCE, Outlet, Parcel, Parcels
from collector.positions import Positions
from collector.producer import FencedError, Record, within
from collector.publisher import Publisher


class Broker:
    """Commits what it is sent, after the failures it is told; a lost answer commits all the same."""

    def __init__(self, *failures: str) -> None:
        self.failures = list(failures)
        self.committed: list[Record] = []
        self.opened = 0

    def connect(self) -> "Broker":
        self.opened += 1
        if self.failures and self.failures[0] == "unreachable":
            self.failures.pop(0)
            raise KafkaConnectionError
        return self

    def transact(self, records: Sequence[Record]) -> None:
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "fenced":
            raise FencedError
        if failure != "timeout":
            self.committed += records
        if failure:
            raise KafkaTimeoutError(failure)

    def close(self) -> None:
        """Nothing is held."""


def event(offset: int, source: str = "log:a") -> Event:
    return WorkerStarted(
        source=source,
        position=Position(0, offset),
        happened_at_ms=0,
        observed_at_ms=0,
        kafka_cluster="c",
        worker="w",
    )


def publish(broker: Broker, positions: Positions, *parcels: tuple[Event, ...]) -> Publisher:
    """Publish the parcels; the publisher is stopped once the last one is sent."""
    queue = Parcels()
    publisher = Publisher(
        queue, positions, broker.connect, kafka="k:9092", backoff=Backoff(1, 2), rng=Random(1)
    )
    for events in parcels:
        last = events is parcels[-1]
        queue.put(Parcel(events, {"log:a": {"offset": len(events)}}, publisher.stop if last else _nothing))
    publisher.run()
    return publisher


def _nothing() -> None:
    """Nobody waits."""


@pytest.fixture
def positions(tmp_path: Path) -> Iterator[Positions]:
    with Positions(tmp_path / "positions.sqlite") as opened:
        yield opened


PARCELS = ((event(1), event(2)), (event(3),))
IN_ORDER = [encode(event(offset)) for offset in (1, 2, 3)]


@pytest.mark.parametrize(
    ("failures", "committed", "opened"),
    [
        ((), IN_ORDER, 1),
        (("unreachable", "unreachable"), IN_ORDER, 3),
        (("timeout", "timeout", "timeout"), IN_ORDER, 4),
        (("lost answer",), IN_ORDER * 2, 2),
    ],
    ids=["Kafka is well", "Kafka is away at the start", "transactions fail", "an outcome is unknown"],
)
def test_everything_arrives_in_order(
    positions: Positions, failures: tuple[str, ...], committed: list[Record], opened: int
) -> None:
    broker = Broker(*failures)
    assert publish(broker, positions, *PARCELS).failure == ""
    assert (broker.committed, broker.opened) == (committed, opened)
    assert positions.load() == {"log:a": {"offset": 1}}


def test_a_position_without_events_needs_no_kafka(positions: Positions) -> None:
    broker = Broker()
    publish(broker, positions, ())
    assert broker.opened == 0
    assert positions.load() == {"log:a": {"offset": 0}}


def test_a_fenced_publisher_ends_and_saves_nothing(positions: Positions) -> None:
    publisher = publish(Broker("fenced"), positions, *PARCELS)
    assert "another collector with the same name" in publisher.failure
    assert publisher.ended.is_set()
    assert positions.load() == {}


def test_a_publisher_stopped_while_kafka_is_away_saves_nothing(positions: Positions) -> None:
    queue = Parcels()
    broker = Broker(*["unreachable"] * 9)
    publisher = Publisher(queue, positions, broker.connect, kafka="k", backoff=Backoff(1, 2), rng=Random(1))
    queue.put(Parcel((event(1),), {"log:a": {}}, lambda: pytest.fail("it was not sent")))
    publisher.stop()
    publisher.run()
    assert (publisher.failure, broker.opened) == ("", 1)
    assert positions.load() == {}


def test_trouble_is_one_line_at_each_change(positions: Positions, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    publish(Broker("unreachable", "unreachable", "timeout"), positions, *PARCELS)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "nothing is lost, retrying" in caplog.messages[0]


def test_an_event_no_broker_takes_is_quarantined_in_its_place(positions: Positions) -> None:
    broker = Broker()
    huge = tuple(
        Instance(connector=f"c{number}", task="0", state="RUNNING", abandoned=0) for number in range(20_000)
    )
    snapshot = WorkerSnapshot(
        source="connect:x",
        position=Position(5),
        happened_at_ms=0,
        observed_at_ms=0,
        kafka_cluster="c",
        worker="w",
        threads_known=True,
        instances=huge,
    )
    publish(broker, positions, (snapshot,))
    ((key, value),) = broker.committed
    body = json.loads(value)
    assert (key, body["kind"], body["reason"]) == (b"connect:x", "quarantined", "event_too_large")
    assert body["position"] == [5, 0, 0]


def test_a_source_waits_only_for_its_own_share() -> None:
    parcels = Parcels()
    busy, other = Outlet(parcels), Outlet(parcels)
    assert [busy.offer((), {}) for _ in range(PARCELS_OF_A_SOURCE + 1)] == [True] * PARCELS_OF_A_SOURCE + [
        False
    ]
    assert other.offer((), {})
    parcels.get().sent()
    assert busy.offer((), {})


def test_an_outcome_is_not_waited_for_for_ever() -> None:
    never = threading.Event()
    with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms"):
        within(20, lambda: _wait(never))
    never.set()


def _wait(event: threading.Event) -> None:
    event.wait(5)


def test_a_failure_within_the_time_is_the_callers() -> None:
    def fail() -> None:
        raise KafkaConnectionError

    with pytest.raises(KafkaConnectionError):
        within(5_000, fail)
