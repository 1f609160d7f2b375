"""What people write instead: one Python process, a consumer and a JSON parser, counting into SQLite."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from benchmarks.loop import COMMIT_EVERY, Loop, Records
from benchmarks.row import BenchmarkError, require
from benchmarks.traffic import Totals

QUIX: Final = Path(__file__).parents[1] / ".venv" / "quix" / "bin" / "python"
"""An interpreter with ``quix.lock``; ``make bench`` makes it."""


def confluent(servers: str, topic: str, truth: Totals, file: Path) -> float:
    """Events per second of confluent-kafka's consumer."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"bench-{file.stem}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.min.bytes": 1_000_000,
            "queued.min.messages": 500_000,
        }
    )
    consumer.subscribe([topic])

    def poll() -> Records:
        return [(one.partition(), one.offset(), one.value()) for one in consumer.consume(10_000, 1.0)]

    with closing(consumer):
        return _run(file, poll, truth)


def kafka_python(servers: str, topic: str, truth: Totals, file: Path) -> float:
    """Events per second of kafka-python's consumer."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=5_000,
        fetch_max_bytes=52_428_800,
        max_partition_fetch_bytes=8_388_608,
        check_crcs=False,
    )

    def poll() -> Records:
        found = consumer.poll(1_000)
        return [(at.partition, one.offset, one.value) for at, ones in found.items() for one in ones]

    with closing(consumer):
        return _run(file, poll, truth)


def quix(how: str, servers: str, topic: str, truth: Totals, file: Path) -> float:
    """Events per second of Quix Streams, in a process of its own, with its own interpreter.

    ``how``: it counts in its ``state``, or beside it, in a ``sink``.
    """
    if not QUIX.exists():
        raise BenchmarkError(f"{QUIX} does not exist: run make bench")
    command = [str(QUIX), "-m", "benchmarks.quix_peer", how, servers, topic, str(truth["events"]), str(file)]
    done = subprocess.run(command, cwd=QUIX.parents[3], stdout=subprocess.PIPE, check=True, timeout=900)
    found = json.loads(done.stdout)
    require(found["totals"], truth)
    return truth["events"] / float(found["seconds"])


def _run(file: Path, poll: Callable[[], Records], truth: Totals) -> float:
    loop = Loop(file, orjson.loads)
    took_s = seconds(poll, loop.add, loop.commit, truth["events"])
    require(loop.close(), truth)
    return truth["events"] / took_s


T = TypeVar("T", bound=Sequence[Any])


def seconds(
    poll: Callable[[], T], add: Callable[[T], object], commit: Callable[[], object], records: int
) -> float:
    """From the first of the records to the last commit."""
    start_s, seen, committed = 0.0, 0, 0
    while seen < records:
        found = poll()
        start_s = start_s or (time.perf_counter() if found else 0.0)
        add(found)
        seen += len(found)
        if seen - committed >= COMMIT_EVERY or seen >= records:
            commit()
            committed = seen
    return time.perf_counter() - start_s
