"""The demo's eyes: ``/metrics`` and nothing else, read ten times a second.

A figure is the sum of a metric's samples whose labels match; it remembers when it changed. A scrape that
fails or was incomplete leaves everything as it was. Beside it stands when the broker was stopped: no other
process of ours is ever in the state "stopped".
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

import httpx2
import psutil
from prometheus_client.parser import text_string_to_metric_families

from api.metrics import catalog
from deadwatch.demo_latency import Change, Stall

POLL_S = 0.1

Samples = list[tuple[str, Mapping[str, str], float]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's samples with these labels, summed."""

    metric: catalog.Metric
    labels: tuple[tuple[str, str], ...] = ()

    def of(self, samples: Samples) -> int:
        """Its value in one scrape; 0 where it has no sample."""
        return int(
            sum(
                value
                for name, labels, value in samples
                if name == self.metric.name and set(self.labels) <= labels.items()
            )
        )


class Signal(Enum):
    """The figures that the demo follows."""

    LOGS_UP = Figure(catalog.SOURCE_UP, (("kind", "log"),))
    CONNECT_UP = Figure(catalog.SOURCE_UP, (("kind", "connect"),))
    WORKERS_UP = Figure(catalog.SOURCE_UP, (("kind", "redrive"),))
    ABANDONED_NOW = Figure(catalog.ABANDONED_TASKS)
    ABANDONED_TOTAL = Figure(catalog.ABANDONED_TASKS_TOTAL)
    SHARE_DEAD_LETTERS = Figure(catalog.DEAD_LETTERS, (("dialect", "share_group"),))
    SHARE_METERS = Figure(catalog.SHARE_RECORDS)
    CONNECT_DEAD_LETTERS = Figure(catalog.DEAD_LETTERS, (("dialect", "connect"),))
    ALL_DEAD_LETTERS = Figure(catalog.DEAD_LETTERS)
    TASK_TIMEOUTS = Figure(catalog.TASK_TIMEOUTS)
    EXPIRED_BATCHES = Figure(catalog.DELIVERY_TIMEOUT_BATCHES)
    EXPIRED_RECORDS = Figure(catalog.DELIVERY_TIMEOUT_RECORDS)
    QUARANTINED = Figure(catalog.QUARANTINED)
    REDRIVES = Figure(catalog.REDRIVE_JOBS, (("status", "COMPLETED"),))
    SENT = Figure(catalog.REDRIVE_RECORDS, (("outcome", "sent"),))
    BOUNCED = Figure(catalog.REDRIVE_RECORDS, (("outcome", "bounced"),))
    PARKED = Figure(catalog.REDRIVE_RECORDS, (("outcome", "parked"),))


def parse(text: str) -> Samples:
    """The samples of one scrape."""
    families = text_string_to_metric_families(text)
    return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Watch:
    """Follows every signal from a thread of its own while it is open."""

    url: str
    changes: dict[Signal, list[Change]] = field(default_factory=lambda: {signal: [] for signal in Signal})
    stalls: list[Stall] = field(default_factory=list)
    _stopped: bool = False
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def value(self, signal: Signal) -> int:
        """The figure as it was seen last; 0 before the first scrape."""
        return self.changes[signal][-1][1] if self.changes[signal] else 0

    def note(self, samples: Samples, at_ms: int) -> None:
        """Remember what one scrape says, if it was complete."""
        if (catalog.STORE_UP.name, {}, 1.0) not in samples:
            return
        for signal in Signal:
            value = signal.value.of(samples)
            if value != self.value(signal):
                self.changes[signal].append((at_ms, value))

    def note_broker(self, at_ms: int, *, stopped: bool) -> None:
        """Remember whether the broker is stopped: a stall reaches to where it was last seen so."""
        if stopped:
            from_ms = self.stalls.pop().from_ms if self._stopped else at_ms
            self.stalls.append(Stall(from_ms, at_ms))
        self._stopped = stopped

    def _follow(self) -> None:
        with httpx2.Client(timeout=5, trust_env=False) as client:
            while not self._end.wait(POLL_S):
                self.note_broker(now_ms(), stopped=_a_child_is_stopped())
                try:
                    scrape = client.get(f"{self.url}/metrics").raise_for_status()
                except httpx2.HTTPError:
                    continue
                self.note(parse(scrape.text), now_ms())


def _a_child_is_stopped() -> bool:
    for child in psutil.Process().children():
        try:
            if child.status() == psutil.STATUS_STOPPED:
                return True
        except psutil.NoSuchProcess:
            continue
    return False
