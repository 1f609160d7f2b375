"""Very many dead letter topics and partitions beside one: does it start, count exactly, and stay as quick?

Every partition has some dead letters when the service starts. Then more come at a steady rate, to the
partitions in turns, and each is timed until the store counts it (without an api, which has as many series to
tell as there are topics). ``ours`` and ``peer`` are milliseconds, the fewer the better, ``ratio`` is the one
topic's by those of many. ``DEADWATCH_BENCH_TOPICS`` is the number of topics of one partition,
``DEADWATCH_BENCH_SECONDS`` how long is measured.
"""

import os
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks import dead_letters, probe
from benchmarks.probe import Lane, Record
from benchmarks.row import Row, place, require
from benchmarks.service import Service
from lab.topics import Topics

TOPICS: Final = int(os.environ.get("DEADWATCH_BENCH_TOPICS", "2000"))
SECONDS: Final = float(os.environ.get("DEADWATCH_BENCH_SECONDS", "30"))
WARM_UP_S: Final = 20.0
PER_SECOND: Final = 100
BACKLOG: Final = 5
"""Dead letters of every partition when the service starts."""
CAUSES: Final = 100
STARTED_WITHIN_S: Final = 900.0
LATER: Final = 0.5


class Shape(NamedTuple):
    """So many topics of so many partitions."""

    topics: int
    partitions: int

    def names(self) -> list[str]:
        return [f"dlq.scale-{number}" for number in range(self.topics)]

    def __str__(self) -> str:
        return f"{self.topics:,} topics of {self.partitions}"


ONE: Final = Shape(1, 1)
MANY: Final = (Shape(TOPICS, 1), Shape(20, 50))


def rows() -> Iterator[Row]:
    """Two rows for each shape; what it takes to start, and to hold them, is printed."""
    one = _measured(ONE)
    for shape in MANY:
        many = _measured(shape)
        for part in (0.5, 0.95):
            mine, theirs = probe.percentile(many, part), probe.percentile(one, part)
            work = f"{shape}: a dead letter until counted, p{part * 100:.0f} in ms, beside one topic"
            yield Row.fewer(work, mine, theirs, LATER)


def _measured(shape: Shape) -> list[float]:
    """The latencies, once all has been counted exactly."""
    with place() as (servers, directory):
        Topics(servers).create("scale.events", partitions=3)
        sent = _fill(servers, shape)
        began_s = time.monotonic()
        with Service(servers, "scale.events", directory) as service:
            service.wait_for_dead_letters(sent, STARTED_WITHIN_S)
            started_s, at_start = time.monotonic() - began_s, service.memory()
            sent += len(_latencies_ms(servers, shape, service, sent, WARM_UP_S))
            latencies = _latencies_ms(servers, shape, service, sent, SECONDS)
            sent += len(latencies)
            counted, memory = service.dead_letters(), service.memory()
    require(counted, sent)
    print(
        f"  {shape}: {sent:,} dead letters counted exactly; the first {started_s:.0f} s after the start;"
        f" streaming holds {memory / 1e6:,.0f} MB ({at_start / 1e6:,.0f} then)"
    )
    return latencies


def _fill(servers: str, shape: Shape) -> int:
    """Make the topics and put ``BACKLOG`` dead letters into every partition; how many."""
    admin = AdminClient({"bootstrap.servers": servers})
    topics = [NewTopic(name, shape.partitions, 1) for name in shape.names()]
    for created in admin.create_topics(topics, operation_timeout=300).values():
        created.result()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    places = [(name, at) for name in shape.names() for at in range(shape.partitions)] * BACKLOG
    for number, (topic, partition) in enumerate(places):
        value, headers = dead_letters.record(number, CAUSES)
        producer.produce(topic, value, b"%d" % number, partition, headers=headers)
        producer.poll(0)
    producer.flush()
    return len(places)


def _latencies_ms(servers: str, shape: Shape, service: Service, before: int, seconds: float) -> list[float]:
    names = shape.names()

    def record(number: int) -> Record:
        value, headers = dead_letters.record(number, CAUSES)
        return Record(names[number % len(names)], f"{number}", value, headers)

    def seen() -> dict[str, int]:
        return {"dead letters": service.dead_letters() - before}

    return probe.of_lanes(servers, [Lane("dead letters", record)], seen, PER_SECOND, seconds)
