"""What the publisher promises when Kafka fails: all in order, positions only after the commit."""

import json
from collections.abc import Sequence

import pytest
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from collector.positions import Positions
from collector.publish.dead_letters import ATTEMPTS, DeadLetterCounts, NoQueueError
from collector.publish.producer import Record
from collector.publish.publisher import (
    CHUNKS_PER_SOURCE,
    MOST_EVENTS,
    BoundedChannel,
    ChunkQueue,
    Publisher,
    QueuedChunk,
)
from deadwatch.contract.events import Event, Instance, Position, Quarantined, WorkerSnapshot, encode
from deadwatch.contract.quarantine import Context
from deadwatch.runtime.health import unheard
from tests.unit.collector.publishing import TIMES, Broker, Queue, event, publisher_of


def publish(
    broker: Broker, positions: Positions, *chunks: tuple[Event, ...], queue: Queue | None = None
) -> Publisher:
    """Publish the chunks; the publisher is stopped once the last one is sent."""
    waiting = ChunkQueue()
    publisher = publisher_of(broker, positions, waiting, queue or Queue())
    for events in chunks:
        sent = publisher.stop if events is chunks[-1] else unheard
        waiting.put(QueuedChunk(events, {"log:a": {"offset": len(events)}}, sent))
    publisher.run()
    return publisher


CHUNKS = ((event(1), event(2)), (event(3),))
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
    assert publish(broker, positions, *CHUNKS).failure == ""
    assert (broker.committed, broker.opened) == (committed, opened)
    assert positions.load() == {"log:a": {"offset": 1}}


@pytest.mark.parametrize(
    ("events", "failures", "times"),
    [((event(1),), (), 1), ((), (), 0), ((event(1),), ("fenced",), 0)],
    ids=["events", "a position alone", "a transaction that failed"],
)
def test_only_what_kafka_took_counts_as_published(
    positions: Positions, events: tuple[Event, ...], failures: tuple[str, ...], times: int
) -> None:
    chunks, published, broker = ChunkQueue(), list[int](), Broker(*failures)
    publisher = publisher_of(broker, positions, chunks, Queue(), lambda: published.append(1))
    chunks.put(QueuedChunk(events, {"log:a": {}}, publisher.stop))
    publisher.run()
    assert len(published) == times
    assert broker.opened == len(events), "a position alone needs no Kafka"
    assert ("log:a" in positions.load()) == (not failures)


def test_a_transaction_takes_no_further_chunk_once_it_is_full(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.publish.publisher.MAX_EVENTS", 2)
    chunks, published = ChunkQueue(), list[int]()
    publisher = publisher_of(Broker(), positions, chunks, Queue(), lambda: published.append(1))
    for events in ((event(1),), (event(2), event(3))):
        chunks.put(QueuedChunk(events, {}, lambda: None))
    chunks.put(QueuedChunk((event(4),), {}, publisher.stop))
    publisher.run()
    assert len(published) == 2


class Slow(Broker):
    """Commits no more in time than a few thousand records a second."""

    def transact(self, records: Sequence[Record]) -> None:
        if len(records) > MOST_EVENTS:
            raise KafkaTimeoutError
        super().transact(records)


def test_what_is_too_much_for_one_transaction_is_published_in_several(positions: Positions) -> None:
    """As the receiver's requests may be together, in a chunk of their own."""
    broker, events = Slow(), tuple(map(event, range(2 * MOST_EVENTS + 1)))
    publish(broker, positions, events)
    assert broker.committed == [encode(each) for each in events]
    assert positions.load() == {"log:a": {"offset": len(events)}}


def test_a_fenced_publisher_ends_and_saves_nothing(positions: Positions) -> None:
    publisher = publish(Broker("fenced"), positions, *CHUNKS)
    assert "another collector with the same name" in publisher.failure
    assert publisher.ended.is_set()
    assert positions.load() == {}


def test_a_publisher_stopped_while_kafka_is_away_saves_nothing(positions: Positions) -> None:
    chunks = ChunkQueue()
    broker = Broker(*["unreachable"] * 9)
    publisher = publisher_of(broker, positions, chunks, Queue())
    chunks.put(QueuedChunk((event(1),), {"log:a": {}}, lambda: pytest.fail("it was not sent")))
    publisher.stop()
    publisher.run()
    assert (publisher.failure, broker.opened) == ("", 1)
    assert positions.load() == {}


def test_trouble_is_one_line_at_each_change(positions: Positions, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    publish(Broker("unreachable", "unreachable", "timeout"), positions, *CHUNKS)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "nothing is lost, retrying" in caplog.messages[0]


def test_an_event_no_broker_takes_is_quarantined_in_its_place(positions: Positions) -> None:
    broker = Broker()
    instances = [Instance(connector=f"c{n}", task="0", state="RUNNING", abandoned=0) for n in range(20_000)]
    huge = WorkerSnapshot(
        source="connect:x",
        position=Position(5),
        **TIMES,
        kafka_cluster="c",
        worker="w",
        threads_known=True,
        instances=tuple(instances),
    )
    queue = Queue()
    publish(broker, positions, (huge,), queue=queue)
    ((key, value),) = broker.committed
    (dead_letter,) = queue.dead_letters
    assert "bytes" in dead_letter.context.message
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
    assert [json.loads(dead_letter.value)["position"][1] for dead_letter in queue.dead_letters] == list(bad)
    assert queue.dead_letters[0].context == Context(topic="events", delivery_count=1, message="too large")
    assert publisher.dead_letters.counts == DeadLetterCounts(records=len(bad), produce_requests=1)
    assert positions.load() == {"log:a": {"offset": 9}}


def test_where_nothing_is_taken_all_goes_on(positions: Positions, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()
    publish(Broker(refused=[b""]), positions, (event(1), event(2)), queue=queue)
    assert [json.loads(dead_letter.value)["position"][1] for dead_letter in queue.dead_letters] == [1, 2]
    assert positions.load() == {"log:a": {"offset": 2}}
    assert "An event of log:a is passed over: too large" in caplog.messages


def test_what_a_source_passed_over_is_a_dead_letter_with_its_place(positions: Positions) -> None:
    queue = Queue()
    unread = Quarantined(
        source="log:a",
        position=Position(2, 30),
        **TIMES,
        kafka_cluster="c",
        reason="line_too_long",
        excerpt="aaa",
    )
    publish(Broker(), positions, (unread, event(40)), queue=queue)
    (dead_letter,) = queue.dead_letters
    assert dict(dead_letter.context.headers()) == {
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
        ([KafkaTimeoutError()], DeadLetterCounts(1, 2, 1, 0)),
        ([KafkaTimeoutError()] * ATTEMPTS, DeadLetterCounts(0, ATTEMPTS, ATTEMPTS, 1)),
        ([TopicAuthorizationFailedError()], DeadLetterCounts(0, 1, 1, 1)),
        ([NoQueueError("it does not exist")], DeadLetterCounts(0, 1, 1, 1)),
    ],
    ids=["a retriable error is tried again", "attempts are bounded", "no permission", "no queue"],
)
def test_a_dead_letter_that_cannot_be_written_stops_nothing(
    positions: Positions, caplog: pytest.LogCaptureFixture, errors: list[KafkaError], counts: DeadLetterCounts
) -> None:
    queue = Queue(*errors)
    publisher = publish(Broker(refused=refusing(1)), positions, (event(1),), queue=queue)
    assert (publisher.dead_letters.counts, publisher.failure) == (counts, "")
    assert positions.load() == {"log:a": {"offset": 1}}
    given_up = [line for line in caplog.messages if "dead letters cannot be written to dlq.d" in line]
    assert len(given_up) == counts.lost


def test_a_source_waits_only_for_its_own_share() -> None:
    chunks = ChunkQueue()
    busy, other = BoundedChannel(chunks), BoundedChannel(chunks)
    assert [busy.offer((), {}) for _ in range(CHUNKS_PER_SOURCE + 1)] == [True] * CHUNKS_PER_SOURCE + [False]
    assert other.offer((), {})
    chunks.get().sent()
    assert busy.offer((), {})
