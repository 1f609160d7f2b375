"""How fast the collector scans logs and publishes events, beside what does no more than either has to.

A log is made of real excerpts and rarely matches; the peer is a loop that tries every pattern on every line.
Events are published by the collector's publisher on a broker of its own, fed as fast as it takes, saved
positions included; the peer is kafka-python alone, sending the same records in transactions of the same size.
"""

import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from kafka import KafkaProducer

from benchmarks.row import Row, place
from collector.positions import Positions
from collector.publish.publisher import MAX_EVENTS, BoundedChannel, ChunkQueue
from collector.service import publisher
from collector.settings import CollectorSettings
from collector.sources.logs.dialects import brokers, clients, connect, streams
from collector.sources.logs.files import Following, LogSource
from collector.sources.logs.layout import HEADER
from collector.sources.logs.lines import MESSAGES, TRIGGERS
from collector.sources.logs.scan import Scanner
from collector.sources.source import Publishing
from collector.tasks.task import TaskContext
from deadwatch.contract.backoff import Backoff
from deadwatch.contract.events import Event, Position, TaskAbandoned, encode
from deadwatch.runtime.kafka import KafkaConnection

LOGS = Path(__file__).parents[1] / "tests" / "data" / "logs"
SCAN_GOAL = 5.0
COMPARED_BYTES = 32 << 20
QUIET_TO_ONE = 200
EVENTS = 100_000
CHUNK = 500
PUBLISH_GOAL = 0.7
AT_LEAST_PER_SECOND = 10_000


def excerpt() -> bytes:
    """Real lines: those that say nothing many times, the whole log once."""
    whole = (LOGS / "connect.log").read_bytes() + (LOGS / "streams.log").read_bytes()
    quiet = b"".join(
        line
        for line in whole.splitlines(keepends=True)
        if not (MESSAGES.search(line) or any(trigger in line for trigger in TRIGGERS))
    )
    return quiet * QUIET_TO_ONE + whole


def write_log(path: Path, size: int) -> int:
    """A log of about ``size`` bytes; how many lines it has."""
    piece = excerpt()
    times = max(size // len(piece), 1)
    path.write_bytes(piece * times)
    return times * piece.count(b"\n")


def scanned(path: Path) -> int:
    """Events that the source finds."""
    publishing = Publishing(lambda _: None, "bench", 0, lambda: 0)
    source = LogSource(path, Following(publishing, poll_interval_ms=1, scanner=Scanner()))
    found = 0
    while chunk := source.poll():
        found += len(chunk.events)
    source.close()
    return found


def patterns() -> list[re.Pattern[str]]:
    """Every pattern that the dialects look for, and that of an entry's first line."""
    named = [
        value
        for dialect in (connect, streams, clients)
        for name, value in vars(dialect).items()
        if isinstance(value, re.Pattern)
        and isinstance(value.pattern, str)  # the triggers are bytes
        and name not in ("_PREFIX", "_BARE", "_CLIENT_ID", "_CONNECT_TASK", "_INSTANCE")
    ]
    alternatives = [pattern for *_, pattern in vars(clients)["_TIMEOUTS"]]
    return [*named, *alternatives, re.compile(re.escape(brokers.LOST)), re.compile(HEADER.pattern.decode())]


def line_by_line(path: Path) -> int:
    """Lines that any pattern matches."""
    searches = [pattern.search for pattern in patterns()]
    with path.open(errors="replace") as lines:
        return sum(any(search(line) for search in searches) for line in lines)


def cpu_seconds(work: Callable[[Path], int], path: Path) -> float:
    """Processor time; the best of two."""
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        work(path)
        best = min(best, time.process_time() - begin)
    return best


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


def published(settings: CollectorSettings, events: list[Event]) -> float:
    """Events per second from the first hand-over to the last saved position."""
    chunks, stop = ChunkQueue(), threading.Event()
    context = TaskContext(stop, lambda: 0, Random(), Backoff(), 5_000, settings.task_timeout_ms)
    with Positions(settings.data / "positions.sqlite") as positions:
        publishing = publisher(settings, positions, context, chunks)
        channel = BoundedChannel(chunks)
        thread = publishing.start()
        channel.offer((events[0],), {"log": {"offset": 0}}, stop)  # connects
        begin = time.perf_counter()
        for first in range(1, len(events), CHUNK):
            channel.offer(tuple(events[first : first + CHUNK]), {"log": {"offset": first}}, stop)
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
    """Lines of a log, and events."""
    with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        path = Path(name) / "compared.log"
        lines = write_log(path, COMPARED_BYTES)
        mine, theirs = lines / cpu_seconds(scanned, path), lines / cpu_seconds(line_by_line, path)
    yield Row.more("scan a log that rarely matches, lines/s", mine, theirs, SCAN_GOAL)
    events = [event(number) for number in range(EVENTS)]
    with place() as (servers, directory):
        settings = CollectorSettings(kafka=KafkaConnection(bootstrap_servers=servers), data=directory)
        mine, theirs = published(settings, events), bare(settings, events)
    work = f"publish events, positions saved; at least {AT_LEAST_PER_SECOND:,}/s"
    row = Row.more(work, mine, theirs, PUBLISH_GOAL)
    yield replace(row, holds=row.holds and mine >= AT_LEAST_PER_SECOND)
