"""What watching costs a producer: ``send`` and ``produce``, bare and watched in turns against one broker.

Both sides of a pair run right after one another, the first one changing; the ratio is the median over the
pairs, so what else the machine does hits both. What noise is left is told by rows "bare against bare": a
ratio means no more than theirs. A round ends when the broker has everything.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import confluent_kafka
from kafka import KafkaProducer

from benchmarks.row import Row
from collector.clients import (
    ConfluentKafkaTimeoutInstrumentor,
    DeliveryReports,
    KafkaPythonTimeoutInstrumentor,
    Observation,
)
from lab import Lab

GOAL: Final = 0.98
PAIRS: Final = 41
TOPIC: Final = "bench-clients"
SMALL: Final = b"x" * 100
EVENT: Final = {"kind": "order", "customer": "c" * 40, "lines": [{"item": n, "count": 2} for n in range(12)]}

Round = Callable[[], None]


class Silent:
    """A reporter that is never called: nothing goes wrong."""

    def report(self, seen: Observation) -> None:
        raise AssertionError(f"the broker is there, and yet: {seen}")


def compare(work: str, records: int, ours: Round, peer: Round) -> Row:
    """Run the pairs."""
    ours()
    peer()
    times: list[tuple[float, float]] = []
    for pair in range(PAIRS):
        if pair % 2:
            ours_s, peer_s = timed(ours), timed(peer)
        else:
            peer_s, ours_s = timed(peer), timed(ours)
        times.append((ours_s, peer_s))
    ratio = statistics.median(peer_s / ours_s for ours_s, peer_s in times)
    return Row(
        work=work,
        ours=round(records / statistics.median(ours_s for ours_s, _ in times)),
        peer=round(records / statistics.median(peer_s for _, peer_s in times)),
        ratio=round(ratio, 3),
        goal=GOAL,
        holds=ratio >= GOAL,
    )


def timed(work: Round) -> float:
    """Seconds that it takes."""
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def kafka_python(servers: str, records: int = 12_000) -> Iterator[Row]:
    """The same producer, with and without the hooks."""
    instrumentor = KafkaPythonTimeoutInstrumentor()
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)

    def bare() -> None:
        for _ in range(records):
            producer.send(TOPIC, SMALL)
        producer.flush()

    def watched() -> None:
        instrumentor.instrument(reporters=[Silent()])
        bare()
        instrumentor.uninstrument()

    try:
        yield compare("kafka-python send, bare against bare", records, bare, bare)
        yield compare("kafka-python send", records, watched, bare)
    finally:
        producer.close()


def confluent(servers: str) -> Iterator[Row]:
    """A bare producer and a watched one."""
    config = {"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    bare = confluent_kafka.Producer(config)
    again = confluent_kafka.Producer(config)
    work = "confluent-kafka produce, bare against bare"
    yield compare(work, RECORDS, lambda: without_callbacks(again), lambda: without_callbacks(bare))
    instrumentor = ConfluentKafkaTimeoutInstrumentor()
    for reports, how, produce in CONFLUENT:
        instrumentor.instrument(reporters=[Silent()], delivery_reports=reports)
        watched = confluent_kafka.Producer(config)
        instrumentor.uninstrument()
        work = f"confluent-kafka produce, {how}, delivery reports: {reports}"
        yield compare(work, RECORDS, partial(produce, watched), partial(produce, bare))


RECORDS: Final = 20_000


def without_callbacks(producer: confluent_kafka.Producer) -> None:
    for _ in range(RECORDS):
        producer.produce(TOPIC, SMALL)
        producer.poll(0)
    producer.flush()


def with_callback(producer: confluent_kafka.Producer) -> None:
    for _ in range(RECORDS):
        producer.produce(TOPIC, SMALL, on_delivery=acknowledged)
        producer.poll(0)
    producer.flush()


def with_callback_by_position(producer: confluent_kafka.Producer) -> None:
    for _ in range(RECORDS):
        producer.produce(TOPIC, SMALL, None, -1, acknowledged)
        producer.poll(0)
    producer.flush()


def with_a_callback_each(producer: confluent_kafka.Producer) -> None:
    for _ in range(RECORDS):
        producer.produce(TOPIC, SMALL, on_delivery=partial(acknowledged))
        producer.poll(0)
    producer.flush()


def of_an_application(producer: confluent_kafka.Producer) -> None:
    for number in range(RECORDS):
        value = json.dumps(EVENT | {"number": number}).encode()
        producer.produce(TOPIC, value, key=str(number), on_delivery=acknowledged)
        producer.poll(0)
    producer.flush()


def acknowledged(error: confluent_kafka.KafkaError | None, _message: confluent_kafka.Message) -> None:
    if error is not None:
        raise confluent_kafka.KafkaException(error)


CONFLUENT: Final = (
    (DeliveryReports.FAILURES, "no callbacks", without_callbacks),
    (DeliveryReports.ALL, "one callback", with_callback),
    (DeliveryReports.ALL, "one callback, JSON", of_an_application),
    (DeliveryReports.ALL, "one callback, by position", with_callback_by_position),
    (DeliveryReports.ALL, "a callback each", with_a_callback_each),
    (DeliveryReports.ALL, "no callbacks", without_callbacks),
)


def rows() -> Iterator[Row]:
    """Every way to send that applications use."""
    with Lab(sasl=False) as lab:
        yield from kafka_python(lab.bootstrap_servers)
        yield from confluent(lab.bootstrap_servers)
