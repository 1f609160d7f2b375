"""What the publisher promises when Kafka fails: all in order, positions only after the commit."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
)

from collector.contract.backoff import Backoff
from collector.contract.events import (
    Event,
    Instance,
    Position,
    Quarantined,
    WorkerSnapshot,
    WorkerStarted,
    encode,
)
from collector.contract.quarantine import Context
from collector.dead_letters import ATTEMPTS, DeadLetters, LetterCounts
from collector.delivery import Delivery
from collector.health import unheard
from collector.outbox import PARCELS_OF_A_SOURCE, Outlet, Parcel, Parcels
from collector.outgoing import Letter, Record
from collector.own_topics import NoQueueError
from collector.positions import Positions
from collector.producer import FencedError, RecordRefusedError, within
from collector.publisher import Publisher


class Broker:
    """Commits what it is sent, after the failures it is told; a lost answer commits all the same.

    It refuses every transaction with a value that holds one of ``refused``.
    """

    def __init__(self, *failures: str, refused: Sequence[bytes] = ()) -> None:
        self.failures = list(failures)
        self.refused = refused
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
        if any(part in value for part in self.refused for _, value in records):
            raise RecordRefusedError("too large")
        if failure == "fenced":
            raise FencedError
        if failure != "timeout":
            self.committed += records
        if failure:
            raise KafkaTimeoutError(failure)

    def close(self) -> None:
        """Nothing is held."""


class Queue:
    """A dead letter queue that keeps what it is given, after the errors it is told."""

    def __init__(self, *errors: KafkaError) -> None:
        self.errors = list(errors)
        self.letters: list[Letter] = []

    def connect(self) -> "Queue":
        return self

    def write(self, letters: Sequence[Letter]) -> list[tuple[Letter, KafkaError]]:
        if self.errors:
            raise self.errors.pop(0)
        self.letters += letters
        return []

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


def made(
    broker: Broker,
    positions: Positions,
    parcels: Parcels,
    queue: Queue,
    published: Callable[[], None] = unheard,
) -> Publisher:
    stopping, backoff, rng = threading.Event(), Backoff(1, 2), Random(1)
    delivery = Delivery(
        broker.connect, topic="events", kafka="k:9092", backoff=backoff, rng=rng, stopping=stopping
    )
    letters = DeadLetters(queue.connect, topic="dlq.d", backoff=backoff, rng=rng, stopping=stopping)
    return Publisher(parcels, positions, delivery, letters, stopping, published=published)


def publish(
    broker: Broker, positions: Positions, *parcels: tuple[Event, ...], queue: Queue | None = None
) -> Publisher:
    """Publish the parcels; the publisher is stopped once the last one is sent."""
    waiting = Parcels()
    publisher = made(broker, positions, waiting, queue or Queue())
    for events in parcels:
        last = events is parcels[-1]
        waiting.put(Parcel(events, {"log:a": {"offset": len(events)}}, publisher.stop if last else _nothing))
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


@pytest.mark.parametrize(
    ("events", "failures", "told"),
    [((event(1),), (), 1), ((), (), 0), ((event(1),), ("fenced",), 0)],
    ids=["events", "a position alone", "a transaction that failed"],
)
def test_only_what_kafka_took_is_told(
    positions: Positions, events: tuple[Event, ...], failures: tuple[str, ...], told: int
) -> None:
    parcels, published = Parcels(), list[int]()
    publisher = made(Broker(*failures), positions, parcels, Queue(), lambda: published.append(1))
    parcels.put(Parcel(events, {"log:a": {}}, publisher.stop))
    publisher.run()
    assert len(published) == told


def test_a_fenced_publisher_ends_and_saves_nothing(positions: Positions) -> None:
    publisher = publish(Broker("fenced"), positions, *PARCELS)
    assert "another collector with the same name" in publisher.failure
    assert publisher.ended.is_set()
    assert positions.load() == {}


def test_a_publisher_stopped_while_kafka_is_away_saves_nothing(positions: Positions) -> None:
    parcels = Parcels()
    broker = Broker(*["unreachable"] * 9)
    publisher = made(broker, positions, parcels, Queue())
    parcels.put(Parcel((event(1),), {"log:a": {}}, lambda: pytest.fail("it was not sent")))
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
    queue = Queue()
    publish(broker, positions, (snapshot,), queue=queue)
    ((key, value),) = broker.committed
    ((letter),) = queue.letters
    assert "bytes" in letter.context.message
    body = json.loads(value)
    assert (key, body["kind"], body["reason"]) == (b"connect:x", "quarantined", "event_too_large")
    assert body["position"] == [5, 0, 0]


def refusing(*offsets: int) -> tuple[bytes, ...]:
    """What is refused: the events at these offsets, and not what stands in their place."""
    return tuple(b'"worker_started","source":"log:a","position":[0,%d,' % offset for offset in offsets)


@pytest.mark.parametrize("bad", [(1,), (9,), (4, 5), tuple(range(1, 10))], ids=str)
def test_a_refused_event_is_found_and_passed_over_in_its_place(
    positions: Positions, bad: tuple[int, ...]
) -> None:
    broker, queue = Broker(refused=refusing(*bad)), Queue()
    publisher = publish(broker, positions, tuple(event(offset) for offset in range(1, 10)), queue=queue)
    bodies = [json.loads(value) for _, value in broker.committed]
    assert [body["position"][1] for body in bodies] == list(range(1, 10))
    assert [body["position"][1] for body in bodies if body["kind"] == "quarantined"] == list(bad)
    assert [json.loads(letter.value)["position"][1] for letter in queue.letters] == list(bad)
    assert queue.letters[0].context == Context(topic="events", delivery_count=1, message="too large")
    assert publisher.letter_counts == LetterCounts(records=len(bad), produce_requests=1)
    assert positions.load() == {"log:a": {"offset": 9}}


def test_where_nothing_is_taken_all_goes_on(positions: Positions, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()
    publish(Broker(refused=[b""]), positions, (event(1), event(2)), queue=queue)
    assert [json.loads(letter.value)["position"][1] for letter in queue.letters] == [1, 2]
    assert positions.load() == {"log:a": {"offset": 2}}
    assert "An event of log:a is passed over: too large" in caplog.messages


def test_what_a_source_passed_over_is_a_dead_letter_with_its_place(positions: Positions) -> None:
    queue = Queue()
    unread = Quarantined(
        source="log:a",
        position=Position(2, 30),
        happened_at_ms=0,
        observed_at_ms=0,
        kafka_cluster="c",
        reason="line_too_long",
        excerpt="aaa",
    )
    publish(Broker(), positions, (unread, event(40)), queue=queue)
    ((letter),) = queue.letters
    assert dict(letter.context.headers()) == {
        "__dlq.errors.topic": b"log:a",
        "__dlq.errors.partition": b"2",
        "__dlq.errors.offset": b"30",
        "__dlq.errors.delivery.count": b"1",
        "__dlq.errors.group": b"deadwatch",
        "__dlq.errors.message": b"line_too_long",
    }


@pytest.mark.parametrize(
    ("errors", "counts"),
    [
        ([KafkaTimeoutError()], LetterCounts(1, 2, 1, 0)),
        ([KafkaTimeoutError()] * ATTEMPTS, LetterCounts(0, ATTEMPTS, ATTEMPTS, 1)),
        ([TopicAuthorizationFailedError()], LetterCounts(0, 1, 1, 1)),
        ([NoQueueError("it does not exist")], LetterCounts(0, 1, 1, 1)),
    ],
    ids=["a retriable error is tried again", "attempts are bounded", "no permission", "no queue"],
)
def test_a_letter_that_cannot_be_written_stops_nothing(
    positions: Positions,
    caplog: pytest.LogCaptureFixture,
    errors: list[KafkaError],
    counts: LetterCounts,
) -> None:
    queue = Queue(*errors)
    publisher = publish(Broker(refused=refusing(1)), positions, (event(1),), queue=queue)
    assert (publisher.letter_counts, publisher.failure) == (counts, "")
    assert positions.load() == {"log:a": {"offset": 1}}
    given_up = [line for line in caplog.messages if "dead letters cannot be written to dlq.d" in line]
    assert len(given_up) == counts.lost


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
