"""What more of everything costs: ten times the events, a hundred times the groups of dead letters.

``ours`` is the larger load and ``peer`` the smaller, in records per second; linear growth has the ratio 1.
The row of memory has the bytes that the JVM's heap holds after a collection: ``ratio`` is the smaller load's
by the larger's. ``DEADWATCH_BENCH_GROWTH`` is the larger number of events, ``DEADWATCH_BENCH_LETTERS`` that
of dead letters.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import dead_letters, traffic
from benchmarks.backlog import Ours
from benchmarks.row import Row, place
from lab.topics import Topics

EVENTS: Final = int(os.environ.get("DEADWATCH_BENCH_GROWTH", "1000000"))
LETTERS: Final = int(os.environ.get("DEADWATCH_BENCH_LETTERS", "200000"))
GROUPS: Final = (1_000, 100_000)
PARTITIONS: Final = 6
LINEAR: Final = 10 / 10.5
MEMORY: Final = 0.8


def rows() -> Iterator[Row]:
    with place() as (servers, directory):
        yield from _events(servers, directory)
        yield from _groups(servers, directory)


def _events(servers: str, directory: Path) -> Iterator[Row]:
    loads = {}
    for count in (EVENTS // 10, EVENTS):
        topic = f"growth.events-{count}"
        Topics(servers).create(topic, partitions=PARTITIONS)
        loads[topic] = traffic.produce(servers, topic, count)
    (small, few), (large, many) = loads.items()
    with Ours(servers, large, directory / "events") as ours:
        ours.run(many)  # once for the JVM
        slow, held = ours.run(few, small).rate, ours.heap()
        fast, grown = ours.run(many, large).rate, ours.heap()
    yield Row.more("ten times the events, events/s", fast, slow, LINEAR)
    yield Row.fewer("ten times the events, bytes held by the heap", grown, held, MEMORY)


def _groups(servers: str, directory: Path) -> Iterator[Row]:
    topics = [f"dlq.growth-{groups}" for groups in GROUPS]
    for topic, groups in zip(topics, GROUPS, strict=True):
        Topics(servers).create(topic, partitions=PARTITIONS)
        dead_letters.produce(servers, topic, LETTERS, groups)
    truth = {"dead_letters": LETTERS}
    with Ours(servers, "growth.none", directory / "letters") as ours:
        ours.run(truth, dlq_topic=topics[0])  # once for the JVM
        few, many = (ours.run(truth, dlq_topic=topic).rate for topic in topics)
    yield Row.more("100 000 groups beside 1 000, dead letters/s", many, few, 1 / 1.5)
