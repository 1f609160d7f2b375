"""What the whole service costs that has nothing to do: ``deadwatch up`` on a broker where nothing comes.

One event and one dead letter are counted first, so that everything is loaded that work needs. Then it is
left alone for ``DEADWATCH_BENCH_QUIET_MINUTES``, and looked at for ``WATCHED_S`` more: processor time and
memory of every process, a line each. Memory is PSS where /proc has it (what they share counts once), else
resident bytes. The broker does not count.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import httpx2
import psutil

from benchmarks import dead_letters, traffic
from benchmarks.row import Row, place
from benchmarks.service import WITHIN_S, up
from lab.processes import until
from lab.topics import Topics

QUIET_S: Final = 60 * float(os.environ.get("DEADWATCH_BENCH_QUIET_MINUTES", "10"))
WATCHED_S: Final = 120.0
CPU_MS: Final = 0.12 * 60_000
"""Of a minute: 0.12 of a core."""
BYTES: Final = 1_100_000_000
COUNTED: Final = ("deadwatch_events_total{", "deadwatch_dead_letter_queue_records_total{")


class Used(NamedTuple):
    """What a process has used since its start, children that have ended included, and holds now."""

    name: str
    cpu_s: float
    bytes: int


def rows() -> Iterator[Row]:
    """Processor time and memory, beside their limits."""
    with place() as (servers, directory):
        Topics(servers).create("deadwatch.events", "dlq.idle", partitions=3)
        command = ("cli", "up", "--bootstrap-servers", servers, f"--data={directory / 'data'}", "--port=0")
        with up(r"Deadwatch is up: (\S+)/docs", directory / "up.log", os.environ, *command) as (process, url):
            traffic.produce(servers, "deadwatch.events", 1)
            dead_letters.produce(servers, "dlq.idle", 1, 1)
            _wait_for(url)
            time.sleep(QUIET_S)
            before = _used(process.pid)
            time.sleep(WATCHED_S)
            after = _used(process.pid)
    yield from _rows(before, after)


def _rows(before: dict[int, Used], after: dict[int, Used]) -> Iterator[Row]:
    spent_ms = {
        pid: (used.cpu_s - (before[pid].cpu_s if pid in before else 0)) * 1_000 * 60 / WATCHED_S
        for pid, used in after.items()
    }
    for pid, used in sorted(after.items(), key=lambda one: one[1].bytes, reverse=True):
        print(f"  {used.name:<30} {spent_ms[pid]:>8,.0f} ms of CPU a minute {used.bytes / 1e6:>8,.1f} MB")
    cpu_ms, memory = sum(spent_ms.values()), sum(used.bytes for used in after.values())
    kind = "PSS" if _has_pss() else "resident"
    yield Row.fewer("deadwatch up at rest: CPU ms a minute, beside the limit", cpu_ms, CPU_MS)
    yield Row.fewer(f"deadwatch up at rest: bytes ({kind}), beside the limit", memory, BYTES)


def _wait_for(url: str) -> None:
    """Until ``/metrics`` tells of an event and of a dead letter."""

    def counted() -> bool:
        text = httpx2.get(f"{url}/metrics", trust_env=False).text
        return all(name in text for name in COUNTED)

    until(counted, "an event and a dead letter are counted", WITHIN_S)


def _used(pid: int) -> dict[int, Used]:
    """By pid: the process and all below it."""
    supervisor = psutil.Process(pid)
    found = {}
    for process in (supervisor, *supervisor.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times, memory = process.cpu_times(), process.memory_full_info()
            cpu_s = times.user + times.system + times.children_user + times.children_system
            found[process.pid] = Used(
                _name(process.cmdline()), cpu_s, memory.pss if _has_pss() else memory.rss
            )
    return found


def _has_pss() -> bool:
    return Path("/proc/self/smaps_rollup").exists()


def _name(command: list[str]) -> str:
    """As people know it: the module of a Python process."""
    if Path(command[0]).name == "java":
        return "Spark's JVM"
    modules = [part for before, part in pairwise(command) if before == "-m"]
    if modules == ["cli.child"]:
        return command[command.index("cli.child") + 2]
    return "the supervisor" if modules == ["cli"] else " ".join(modules) or command[-1]
