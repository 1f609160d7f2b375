"""How fast events are published, transactions and saved positions included, beside a bare producer.

Ours is the collector's publisher on a broker of its own, fed as fast as it takes; the peer is kafka-python
alone, sending the same records in transactions of the same size.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from kafka import KafkaProducer

from benchmarks.row import Row
from collector.positions import Positions
from collector.publish.publisher import MAX_EVENTS, BoundedChannel, ChunkQueue
from collector.service import publisher
from collector.settings import CollectorSettings
from collector.tasks.task import TaskContext
from deadwatch.contract.backoff import Backoff
from deadwatch.contract.events import Event, Position, TaskAbandoned, encode
from deadwatch.runtime.kafka import KafkaConnection
from lab.broker import LoneBroker

EVENTS = 100_000
CHUNK = 500
GOAL = 0.7
AT_LEAST_PER_SECOND = 10_000


def event(number: int) -> Event:
    return TaskAbandoned(
        source="log:connect.log",
        position=Position(0, number),
        happened_at_ms=1_795_300_000_000 + number,
        observed_at_ms=1_795_300_000_100 + number,
        kafka_cluster="bench",
        worker="127.0.0.1:8083",
        connector="orders-sink",
        task=str(number % 100),
        message=f"Graceful stop of task orders-sink-{number % 100} failed.",
    )


def ours(settings: CollectorSettings, events: list[Event]) -> float:
    """Events per second from the first hand-over to the last saved position."""
    parcels, stop = ChunkQueue(), threading.Event()
    around = TaskContext(stop, lambda: 0, Random(), Backoff(), 5_000, settings.task_timeout_ms)
    with Positions(settings.data / "positions.sqlite") as positions:
        publishing = publisher(settings, positions, around, parcels)
        outlet = BoundedChannel(parcels)
        thread = publishing.start()
        outlet.offer((events[0],), {"log": {"offset": 0}}, stop)  # connects
        begin = time.perf_counter()
        for first in range(1, len(events), CHUNK):
            outlet.offer(tuple(events[first : first + CHUNK]), {"log": {"offset": first}}, stop)
        publishing.stop()
        thread.join()
        return len(events) / (time.perf_counter() - begin)


def bare(settings: CollectorSettings, events: list[Event]) -> float:
    """Events per second of kafka-python alone, encoding included."""
    producer = KafkaProducer(
        bootstrap_servers=settings.kafka.bootstrap_servers, transactional_id="bare", acks="all", linger_ms=5
    )
    producer.init_transactions()
    begin = time.perf_counter()
    for first in range(0, len(events), MAX_EVENTS):
        producer.begin_transaction()
        for one in events[first : first + MAX_EVENTS]:
            key, value = encode(one)
            producer.send("bare", key=key, value=value)
        producer.commit_transaction()
    rate = len(events) / (time.perf_counter() - begin)
    producer.close()
    return rate


def rows() -> Iterator[Row]:
    events = [event(number) for number in range(EVENTS)]
    with LoneBroker() as broker, tempfile.TemporaryDirectory() as directory:
        settings = CollectorSettings(
            kafka=KafkaConnection(bootstrap_servers=broker.bootstrap_servers), data=Path(directory)
        )
        mine, theirs = ours(settings, events), bare(settings, events)
    row = Row.more(f"publish events, positions saved; at least {AT_LEAST_PER_SECOND:,}/s", mine, theirs, GOAL)
    yield replace(row, holds=row.holds and mine >= AT_LEAST_PER_SECOND)
