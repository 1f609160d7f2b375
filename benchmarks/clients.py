"""What watching costs a producer: ``send`` and ``produce``, bare and watched in turns against one broker.

Both sides of a pair run right after one another, the first one changing; the ratio is the median over the
pairs, so what else the machine does hits both. Rows "bare against bare" show what noise is left: a
ratio means no more than theirs. A round ends when the broker has everything.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import confluent_kafka
from kafka import KafkaProducer

from benchmarks.row import Row, in_turns
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
SENT: Final = 12_000
"""By kafka-python in a round."""
RECORDS: Final = 20_000
"""By confluent-kafka."""
SMALL: Final = b"x" * 100
EVENT: Final = {"kind": "order", "customer": "c" * 40, "lines": [{"item": n, "count": 2} for n in range(12)]}


class Silent:
    """A reporter that is never called: nothing goes wrong."""

    def report(self, seen: Observation) -> None:
        raise AssertionError(f"the broker is there, and yet: {seen}")


def kafka_python(servers: str) -> Iterator[Row]:
    """The same producer, with and without the hooks."""
    instrumentor = KafkaPythonTimeoutInstrumentor()
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)

    def bare() -> None:
        for _ in range(SENT):
            producer.send(TOPIC, SMALL)
        producer.flush()

    def watched() -> None:
        instrumentor.instrument(reporters=[Silent()])
        bare()
        instrumentor.uninstrument()

    try:
        yield in_turns("kafka-python send, bare against bare", SENT, bare, bare, rounds=PAIRS, goal=GOAL)
        yield in_turns("kafka-python send", SENT, watched, bare, rounds=PAIRS, goal=GOAL)
    finally:
        producer.close()


def confluent(servers: str) -> Iterator[Row]:
    config = {"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    bare = confluent_kafka.Producer(config)
    again = confluent_kafka.Producer(config)
    work = "confluent-kafka produce, bare against bare"
    yield in_turns(work, RECORDS, partial(produce, again), partial(produce, bare), rounds=PAIRS, goal=GOAL)
    instrumentor = ConfluentKafkaTimeoutInstrumentor()
    for reports, how, way in CONFLUENT:
        instrumentor.instrument(reporters=[Silent()], delivery_reports=reports)
        watched = confluent_kafka.Producer(config)
        instrumentor.uninstrument()
        work = f"confluent-kafka produce, {how}, delivery reports: {reports}"
        yield in_turns(work, RECORDS, partial(way, watched), partial(way, bare), rounds=PAIRS, goal=GOAL)


def produce(producer: confluent_kafka.Producer, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 -- the library's
    for _ in range(RECORDS):
        producer.produce(TOPIC, SMALL, *arguments, **options)
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
    (DeliveryReports.FAILURES, "no callbacks", produce),
    (DeliveryReports.ALL, "one callback", partial(produce, on_delivery=acknowledged)),
    (DeliveryReports.ALL, "one callback, JSON", of_an_application),
    (DeliveryReports.ALL, "one callback, by position", lambda p: produce(p, None, -1, acknowledged)),
    (DeliveryReports.ALL, "a callback each", with_a_callback_each),
    (DeliveryReports.ALL, "no callbacks", produce),
)


def rows() -> Iterator[Row]:
    """Every way to send that applications use."""
    with Lab() as lab:
        yield from kafka_python(lab.bootstrap_servers)
        yield from confluent(lab.bootstrap_servers)
