"""From an event's send until ``/metrics`` counts it, at a steady rate; beside a sketch without exactness.

A row's ``ours`` and ``peer`` are milliseconds, the fewer the better, and ``ratio`` is the peer's by ours. The
sketch is looked at in its own table, without an api. The last row has ten times the events, beside our own
figure without them. ``DEADWATCH_BENCH_RATE`` and ``DEADWATCH_BENCH_SECONDS`` size it.
"""

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import probe, sketch
from benchmarks.row import Row
from benchmarks.service import Service
from lab.broker import LoneBroker
from lab.topics import Topics

PER_SECOND: Final = int(os.environ.get("DEADWATCH_BENCH_RATE", "5000"))
SECONDS: Final = float(os.environ.get("DEADWATCH_BENCH_SECONDS", "30"))
WARM_UP_S: Final = 20.0
TIMES: Final = 10
LATER: Final = 1 / 3
"""With so many times the events, the slowest may take three times as long."""
PARTITIONS: Final = 3


def rows() -> Iterator[Row]:
    """A row a percentile, and one for ten times the rate."""
    with LoneBroker() as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        servers = broker.bootstrap_servers
        (ours, many), theirs = _ours(servers, Path(name)), _sketch(servers)
    until = "an event until /metrics at"
    for part in (0.5, 0.95):
        mine, peer = probe.percentile(ours, part), probe.percentile(theirs, part)
        yield Row.fewer(f"{until} {PER_SECOND:,}/s, p{part * 100:.0f} in ms, beside a sketch", mine, peer, 1)
    slow, quick = probe.percentile(many, 0.95), probe.percentile(ours, 0.95)
    work = f"{until} {TIMES * PER_SECOND:,}/s, p95 in ms, beside {PER_SECOND:,}/s"
    yield Row.fewer(work, slow, quick, LATER)


def _ours(servers: str, directory: Path) -> tuple[list[float], list[float]]:
    """At the rate, and at ``TIMES`` the rate."""
    topic = "latency.ours"
    Topics(servers).create(topic, partitions=PARTITIONS)
    with Service(servers, topic, directory) as service:
        latencies_ms = partial(probe.latencies_ms, servers, topic, service.events)
        latencies_ms("first", 10, 1)
        latencies_ms("warm", PER_SECOND, WARM_UP_S)
        ours = latencies_ms("probe", PER_SECOND, SECONDS)
        latencies_ms("warm-many", TIMES * PER_SECOND, WARM_UP_S)
        return ours, latencies_ms("many", TIMES * PER_SECOND, SECONDS)


def _sketch(servers: str) -> list[float]:
    topic = "latency.sketch"
    Topics(servers).create(topic, partitions=PARTITIONS)
    with sketch.running(servers, topic) as running:
        probe.latencies_ms(servers, topic, running.events, "warm", PER_SECOND, WARM_UP_S)
        return probe.latencies_ms(servers, topic, running.events, "probe", PER_SECOND, SECONDS)
