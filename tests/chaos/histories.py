"""The history of one order, as Kafka tells it when the order has ended, for the checker."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from deadwatch.contract.headers import REDRIVE_ORIGIN
from tests.chaos.checker import Content, History, MovedRecord, Outcome, Place
from tests.kafka_topics import ends, messages, reader

WITHIN_S = 120


def history(servers: str, order: str, dlq: str, target: str, seen: list[MovedRecord]) -> History:
    """Of an order that moves all of ``dlq`` to ``target``."""
    records = messages(servers, dlq, WITHIN_S)
    return History(
        {_place(one): _content(one) for one in records},
        [_moved(one) for one in messages(servers, target, WITHIN_S)],
        list(_outcomes(servers, order)),
        _offsets(servers, order, dlq),
        seen,
        frozenset(_open_partitions(servers, target)),
    )


@contextmanager
def watched(servers: str, topic: str) -> Iterator[list[MovedRecord]]:
    """What a reader of committed records sees inside, added as it comes."""
    seen: list[MovedRecord] = []
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(reader(servers), topic, seen, over))
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def end_of(servers: str, topic: str, isolation: str = "read_committed") -> int:
    """How far such readers see, all partitions together; 0 while Kafka does not say."""
    try:
        return sum(ends(servers, topic, isolation).values())
    except KafkaException:
        return 0


def _watch(consumer: Consumer, topic: str, seen: list[MovedRecord], over: threading.Event) -> None:
    numbers = consumer.list_topics(topic, timeout=WITHIN_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    while not over.is_set():
        seen += [_moved(one) for one in consumer.consume(500, 0.2) if one.error() is None]
    consumer.close()


def _outcomes(servers: str, order: str) -> Iterator[Outcome]:
    """One for each transaction, in the order in which they were committed."""
    written: defaultdict[tuple[int, int], set[Place]] = defaultdict(set)
    handled: defaultdict[tuple[int, int], set[Place]] = defaultdict(set)
    for message in messages(servers, "deadwatch.events", WITHIN_S):
        event: Mapping[str, Any] = json.loads(message.value() or b"")
        if event.get("order") != order:
            continue
        epoch, number, _ = event["position"]
        transaction = epoch, number
        written[transaction] |= _places(event.get("written", ()))
        handled[transaction] |= _places(event.get("handled", ()))
    for transaction, places in written.items():
        yield Outcome(frozenset(handled[transaction]), frozenset(places))


def _places(ranges: list[dict[str, int]]) -> set[Place]:
    return {Place(one["partition"], offset) for one in ranges for offset in range(one["first"], one["end"])}


def _offsets(servers: str, order: str, dlq: str) -> dict[int, int]:
    group = {"bootstrap.servers": servers, "group.id": f"deadwatch-redrive-{order}"}
    with closing(Consumer(group)) as consumer:
        numbers = consumer.list_topics(dlq, timeout=WITHIN_S).topics[dlq].partitions
        places = consumer.committed([TopicPartition(dlq, number) for number in numbers], timeout=WITHIN_S)
    return {place.partition: place.offset for place in places}


def _open_partitions(servers: str, topic: str) -> Iterator[int]:
    stable = ends(servers, topic)
    for number, end in ends(servers, topic, "read_uncommitted").items():
        if stable[number] < end:
            yield number


def _place(message: Message) -> Place:
    return Place(message.partition() or 0, message.offset() or 0)


def _content(message: Message) -> Content:
    return Content(message.key(), message.value())


def _moved(message: Message) -> MovedRecord:
    """The place of the dead letter is the last two parts of its header ``<topic>/<partition>/<offset>``."""
    headers: dict[str, Any] = dict(message.headers() or [])
    _, partition, offset = headers[REDRIVE_ORIGIN].decode().rsplit("/", 2)
    return MovedRecord(_place(message), Place(int(partition), int(offset)), _content(message))
