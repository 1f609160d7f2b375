"""A poison deploy: a flood of dead letters of very many causes, beside other signals as ever.

They are there all at once, in one transaction. Held to: the time until all are counted, beside Spark's source
that only adds up the lengths of the same records; the size of the store; the memory of streaming (Python and
JVM, at the end beside when the flood was one third through); the latency of other events from the flood's
begin to its end, beside that before it. ``DEADWATCH_FLOOD`` and ``DEADWATCH_FLOOD_MESSAGES`` size it.
"""

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import dead_letters, letters, probe
from benchmarks.dead_letters import Written
from benchmarks.row import Row, place, require
from benchmarks.service import Service
from lab.topics import Topics
from streaming import session
from streaming.settings import StreamingSettings

LETTERS: Final = int(os.environ.get("DEADWATCH_FLOOD", "5000000"))
MESSAGES: Final = int(os.environ.get("DEADWATCH_FLOOD_MESSAGES", "200000"))
EVENTS: Final = "flood.events"
QUEUE: Final = "dlq.flood"
PER_SECOND: Final = 100
PROBED_S: Final = 10.0
DRAINED_WITHIN_S: Final = 3_600.0
DRAINED: Final = letters.LENGTHS[100_000]
"""As the benchmark ``letters`` promises for that many causes."""
STORE_LIMIT: Final = 200_000_000
MEMORY: Final = 0.8
LATENCY: Final = 1 / 1.5


def rows() -> Iterator[Row]:
    """A row for the time, the store, the memory and the latency."""
    with place() as (servers, directory):
        Topics(servers).create(EVENTS, partitions=3)
        Topics(servers).create(QUEUE, partitions=6)
        with Service(servers, EVENTS, directory) as service:
            latencies_ms = partial(
                probe.latencies_ms, servers, EVENTS, service.events, per_second=PER_SECOND, seconds=PROBED_S
            )
            latencies_ms("warm")
            normal = latencies_ms("normal")
            written = dead_letters.produce(servers, QUEUE, LETTERS, MESSAGES)
            watch = _Watch(service)
            watch.start()
            under: list[float] = []
            while watch.is_alive():
                under += latencies_ms(f"under-{len(under)}")
            watch.join()
            require(service.dead_letters(), LETTERS)
        source = _source(servers, written, directory)
    yield from _rows(watch, sorted(under), normal, source)


def _rows(watch: "_Watch", under: list[float], normal: list[float], source: float) -> Iterator[Row]:
    what = f"{LETTERS:,} dead letters of {MESSAGES:,} messages"
    drained, size = LETTERS / watch.seconds, watch.store_bytes
    yield Row.more(f"{what}: drained, beside Spark's source", drained, source, DRAINED)
    yield Row.fewer(f"{what}: bytes of the store, beside its limit", size, STORE_LIMIT)
    early, late = watch.early_bytes, watch.late_bytes
    yield Row.fewer(f"{what}: resident bytes at the end, beside a third", late, early, MEMORY)
    before, beside = probe.percentile(normal, 0.5), probe.percentile(under, 0.5)
    yield Row.fewer(f"{what}: p50 of other events in ms, beside before", beside, before, LATENCY)


def _source(servers: str, written: Written, directory: Path) -> float:
    """Records per second of Spark's source on the flood, once warm."""
    settings = {"checkpoint": directory / "source"}
    spark = session.start(StreamingSettings.model_validate(settings))
    try:
        letters.rate_of_spark(spark, servers, QUEUE, written)
        return letters.rate_of_spark(spark, servers, QUEUE, written)
    finally:
        spark.stop()


class _Watch(threading.Thread):
    """Looks at the store until every dead letter is counted, or it has lasted ``DRAINED_WITHIN_S``."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self.seconds = 0.0
        self.early_bytes, self.late_bytes, self.store_bytes = 0, 0, 0

    def run(self) -> None:
        began_s = time.monotonic()
        while (counted := self._service.dead_letters()) < LETTERS:
            memory = self._service.memory()
            if counted <= LETTERS // 3:
                self.early_bytes = max(self.early_bytes, memory)
            self.late_bytes = max(self.late_bytes, memory)
            if time.monotonic() > began_s + DRAINED_WITHIN_S:
                break
            time.sleep(0.1)
        self.seconds = time.monotonic() - began_s
        store = self._service.store
        self.store_bytes = sum(file.stat().st_size for file in store.parent.glob(f"{store.name}*"))
