"""A poison deploy: a flood of dead letters of very many causes, beside other signals as ever.

Held to: the size of the store, the memory of streaming (Python and JVM, at the end beside when the flood was
one third through) and the latency of other events while the flood is worked through, beside that before it.
``DEADWATCH_FLOOD`` and ``DEADWATCH_FLOOD_MESSAGES`` size it; the full size is 5000000 and 200000.
"""

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks import kafka, letters, probe
from benchmarks.row import Row
from benchmarks.service import Service, ServiceError
from lab.lone_broker import LoneBroker

LETTERS: Final = int(os.environ.get("DEADWATCH_FLOOD", "100000"))
MESSAGES: Final = int(os.environ.get("DEADWATCH_FLOOD_MESSAGES", "20000"))
EVENTS: Final = "flood.events"
QUEUE: Final = "dlq.flood"
PER_SECOND: Final = 100
NORMAL_S: Final = 10.0
DRAINED_WITHIN_S: Final = 3_600.0
STORE_LIMIT: Final = 200_000_000
MEMORY: Final = 0.8
LATENCY: Final = 0.5


def rows() -> Iterator[Row]:
    """A row for the store, the memory and the latency."""
    with LoneBroker() as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        servers = broker.bootstrap_servers
        kafka.create_topic(servers, EVENTS, 3)
        kafka.create_topic(servers, QUEUE, 6)
        with Service(servers, EVENTS, Path(name)) as service:
            yield from _flood(servers, service)


def _flood(servers: str, service: Service) -> Iterator[Row]:
    probe.latencies_ms(servers, EVENTS, service.events, per_second=10, seconds=1, name="first")
    normal = probe.latencies_ms(
        servers, EVENTS, service.events, per_second=PER_SECOND, seconds=NORMAL_S, name="normal"
    )
    watch = _Watch(service)
    with ThreadPoolExecutor(1, "watch") as background:
        watching = background.submit(watch.run)
        letters.produce(servers, QUEUE, LETTERS, MESSAGES)
        under = probe.latencies_ms(
            servers, EVENTS, service.events, per_second=PER_SECOND, seconds=NORMAL_S, name="under"
        )
        watching.result()
    size = watch.store_bytes
    before, beside = probe.percentile(normal, 0.5), probe.percentile(under, 0.5)
    what = f"{LETTERS:,} dead letters of {MESSAGES:,} messages"
    yield _row(f"{what}: bytes of the store, beside its limit", size, STORE_LIMIT, STORE_LIMIT / size, 1)
    early, late = watch.early_bytes, watch.late_bytes
    yield _row(f"{what}: resident bytes at the end, beside a third", late, early, early / late, MEMORY)
    yield _row(f"{what}: p50 of other events in ms, beside before", beside, before, before / beside, LATENCY)


class _Watch:
    """Looks at the store until every dead letter is counted."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.early_bytes, self.late_bytes, self.store_bytes = 0, 0, 0

    def run(self) -> None:
        """Until then.

        Raises:
            ServiceError: not within ``DRAINED_WITHIN_S``.
        """
        deadline_s = time.monotonic() + DRAINED_WITHIN_S
        while (counted := self._counted()) < LETTERS:
            if time.monotonic() > deadline_s:
                raise ServiceError(f"{counted} dead letters of {LETTERS} were counted")
            memory = self._service.memory()
            if counted <= LETTERS // 3:
                self.early_bytes = max(self.early_bytes, memory)
            self.late_bytes = max(self.late_bytes, memory)
            time.sleep(0.1)
        store = self._service.store
        self.store_bytes = sum(file.stat().st_size for file in store.parent.glob(f"{store.name}*"))

    def _counted(self) -> int:
        with contextlib.closing(sqlite3.connect(self._service.store, timeout=30)) as connection:
            found = connection.execute("SELECT sum(value) FROM series WHERE name = 'dead_letters'").fetchone()
        return int(found[0] or 0)


def _row(work: str, ours: float, peer: float, ratio: float, goal: float) -> Row:
    return Row(
        work=work, ours=round(ours), peer=round(peer), ratio=round(ratio, 3), goal=goal, holds=ratio >= goal
    )
