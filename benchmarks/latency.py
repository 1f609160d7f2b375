"""From an event's send until ``/metrics`` counts it, at a steady rate; beside a sketch without exactness.

A row's ``ours`` and ``peer`` are milliseconds, the fewer the better, and ``ratio`` is the limit by ours: 1 is
the limit itself. The sketch is looked at in its own table, without an api. ``DEADWATCH_BENCH_SECONDS`` sizes
it.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import kafka, probe, sketch
from benchmarks.row import Row
from benchmarks.service import Service
from lab.lone_broker import LoneBroker

PER_SECOND: Final = int(os.environ.get("DEADWATCH_BENCH_RATE", "5000"))
SECONDS: Final = float(os.environ.get("DEADWATCH_BENCH_SECONDS", "30"))
WARM_UP_S: Final = 20.0
LIMITS_MS: Final = {0.5: 300, 0.95: 450}
PARTITIONS: Final = 3


def rows() -> Iterator[Row]:
    """A row a percentile."""
    with LoneBroker() as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        servers = broker.bootstrap_servers
        ours, peer = _ours(servers, Path(name)), _sketch(servers)
    for part, limit_ms in LIMITS_MS.items():
        mine, theirs = probe.percentile(ours, part), probe.percentile(peer, part)
        yield Row(
            work=f"an event until /metrics at {PER_SECOND:,}/s, p{part * 100:.0f} in ms, beside a sketch",
            ours=round(mine),
            peer=round(theirs),
            ratio=round(limit_ms / mine, 3),
            goal=1,
            holds=mine <= limit_ms,
        )


def _ours(servers: str, directory: Path) -> list[float]:
    topic = "latency.ours"
    kafka.create_topic(servers, topic, PARTITIONS)
    with Service(servers, topic, directory) as service:
        probe.latencies_ms(servers, topic, service.events, per_second=10, seconds=1, name="first")
        probe.latencies_ms(
            servers, topic, service.events, per_second=PER_SECOND, seconds=WARM_UP_S, name="warm"
        )
        return probe.latencies_ms(servers, topic, service.events, per_second=PER_SECOND, seconds=SECONDS)


def _sketch(servers: str) -> list[float]:
    topic = "latency.sketch"
    kafka.create_topic(servers, topic, PARTITIONS)
    with sketch.running(servers, topic) as running:
        seen = running.events
        probe.latencies_ms(servers, topic, seen, per_second=PER_SECOND, seconds=WARM_UP_S, name="warm")
        return probe.latencies_ms(servers, topic, seen, per_second=PER_SECOND, seconds=SECONDS)
