"""The demo's table: what | expected | seen | after how long. A row holds only when both are equal.

It has the figures that ``/metrics`` shows, and nothing else, beside what the lab has provoked. A terminal
shows it in place, a file gets a line for every row that changes, and it can be saved as a picture.

A figure is the sum of a metric's samples that have its label; it remembers when it changed. A scrape that
fails or was incomplete leaves everything as it was.

When something happened comes from other witnesses than ours: the lab's logs, and the dead letters' own times.
A dead letter of Connect keeps the time at which its record was produced, so its delay includes Connect's own
work; one that was put back and failed again begins anew then. One of a share group carries the time at which
the broker wrote it. While the broker is stopped nothing can pass through it, so what happens during a stall
counts from the moment the broker went on; the summary says how many those were.
"""

import io
import math
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import httpx2
from kafka import KafkaConsumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from api.metrics import catalog
from deadwatch.contract.headers import REDRIVE_MOVED_AT_MS
from deadwatch.runtime.clock import clock_ms
from lab import Lab, share
from lab.connect import FILESINK_DLQ
from lab.processes import read
from lab.truth import abandonments, expired_batches, task_timeouts

HEADINGS: Final = ("what", "expected", "seen", "after (median)")
PICTURE_WIDTH: Final = 76
SCRAPE_EVERY_S: Final = 0.1
POLL_MS: Final = 1_000
POLLS: Final = 10

Span = tuple[int, int]
"""From when until when, in milliseconds since the epoch."""
Change = tuple[int, int]
"""When a figure was first seen at a value, in milliseconds since the epoch, and the value."""


class Delay(NamedTuple):
    """How long one occurrence took to arrive, and whether it happened during a stall."""

    ms: int
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table: the sum of a metric's samples, of those only that have ``value`` as a label's.

    ``expected`` are the counts of what was provoked whose sum it must be; ``happened_ms`` tells when.
    """

    title: str
    metric: catalog.Metric
    expected: tuple[str, ...] = ()
    value: str = ""
    happened_ms: Callable[[Lab], list[int]] = lambda _: []

    def of(self, samples: Sequence[Sample]) -> int:
        """Its value in one scrape; 0 where it has no sample."""
        mine = (sample for sample in samples if sample.name == self.metric.name)
        return int(sum(sample.value for sample in mine if self.value in {"", *sample.labels.values()}))


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, or the trail of its values; ``expected`` is None until it was provoked."""

    what: str
    expected: str | None
    seen: str
    delays: Sequence[Delay] = ()

    @property
    def holds(self) -> bool:
        """Exactly as many as there are: one too many is as wrong as one too few."""
        return self.seen == self.expected

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Its texts, by column; the last says within which time half have arrived."""
        return self.what, self.expected or "…", self.seen, median(self.delays)


class Watch(threading.Thread):
    """Reads every figure ten times a second, until the process ends."""

    def __init__(self, url: str) -> None:
        super().__init__(name="watch", daemon=True)
        self.changes: dict[Figure, list[Change]] = {figure: [] for figure in FIGURES}
        self._url = url

    def run(self) -> None:
        """Scrape again and again."""
        with httpx2.Client(timeout=5, trust_env=False) as client:
            while True:
                time.sleep(SCRAPE_EVERY_S)
                with suppress(httpx2.HTTPError):
                    self.note(client.get(f"{self._url}/metrics").raise_for_status().text, clock_ms())

    def note(self, scrape: str, at_ms: int) -> None:
        """Remember what one scrape shows, if it was complete."""
        families = text_string_to_metric_families(scrape)
        samples = [sample for family in families for sample in family.samples]
        if not any(sample.name == catalog.STORE_UP.name and sample.value == 1 for sample in samples):
            return
        for figure, changes in self.changes.items():
            value = figure.of(samples)
            if value != (changes[-1][1] if changes else 0):
                changes.append((at_ms, value))

    def rows(self, provoked: Mapping[str, int], ended: Lab | None = None) -> list[Row]:
        """The table; with the lab that has done everything, it shows how long each took to arrive."""
        return [
            Row(
                figure.title,
                _expected(figure, provoked),
                _seen(figure, [value for _, value in changes]),
                delays(figure.happened_ms(ended), changes, ended.stalls) if ended else (),
            )
            for figure, changes in self.changes.items()
        ]


def _expected(figure: Figure, provoked: Mapping[str, int]) -> str | None:
    """What has to be seen; None for what has not happened although it will."""
    count = sum(provoked[name] for name in figure.expected)
    if figure is ABANDONED_NOW and count and not provoked["abandoned_tasks_current"]:
        return f"{count}, then 0"
    return str(count) if count or not figure.expected else None


def _seen(figure: Figure, values: Sequence[int]) -> str:
    shown = values if figure is ABANDONED_NOW else values[-1:]
    return ", then ".join(map(str, shown)) or "0"


def delays(happened_ms: Sequence[int], changes: Sequence[Change], stalls: Sequence[Span]) -> list[Delay]:
    """The delays of all that have arrived; the k-th has arrived when the figure first was k or more."""
    found = []
    for count, at_ms in enumerate(sorted(happened_ms), start=1):
        seen_ms = next((seen_ms for seen_ms, value in changes if value >= count), None)
        if seen_ms is None:
            break
        passable_ms = next((to_ms for from_ms, to_ms in stalls if from_ms <= at_ms < to_ms), at_ms)
        found.append(Delay(max(seen_ms - passable_ms, 0), stalled=passable_ms > at_ms))
    return found


def median(found: Sequence[Delay]) -> str:
    """Half arrived within; "" when nothing has arrived."""
    return _seconds(statistics.median(delay.ms for delay in found)) if found else ""


def summary(found: Sequence[Delay]) -> str:
    """The one line about all delays; 95 of a hundred arrived within the p95 (nearest rank)."""
    ordered = sorted(delay.ms for delay in found)
    p95 = _seconds(ordered[math.ceil(0.95 * len(ordered)) - 1]) if ordered else ""
    line = f"event to /metrics: median {median(found)}, p95 {p95} over {len(found)} events"
    if stalled := sum(delay.stalled for delay in found):
        line += f" ({stalled} of them while the broker was stopped, counted from its return)"
    return line


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1_000:.2f} s"


def record_times(bootstrap_servers: str, topic: str) -> list[int]:
    """When each record of a topic was produced, or moved by the last redrive."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest")
    with closing(consumer):
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        times: list[int] = []
        for _ in range(POLLS):
            if all(consumer.position(partition) >= end for partition, end in ends.items()):
                break
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                moved = (dict(record.headers).get(REDRIVE_MOVED_AT_MS) for record in records)
                times += [int(at or record.timestamp) for at, record in zip(moved, records, strict=True)]
        return times


def _died(topic: str) -> Callable[[Lab], list[int]]:
    return lambda lab: record_times(lab.bootstrap_servers, topic)


def _abandoned(lab: Lab) -> list[int]:
    return abandonments(read(lab.logs.connect))


def _timed_out(lab: Lab) -> list[int]:
    return task_timeouts(read(lab.logs.streams))


def _expired(lab: Lab) -> list[int]:
    return [at_ms for at_ms, records in expired_batches(read(lab.logs.streams)) for _ in range(records)]


SHARE, CONNECT, ABANDONED = ("share_dead_letters",), ("connect_dead_letters",), ("abandoned_tasks_total",)
RETURNED, BATCHES, RECORDS = ("connect_returned",), ("expired_batches",), ("expired_records",)
ABANDONED_NOW: Final = Figure("abandoned tasks, now", catalog.ABANDONED_TASKS, ABANDONED, "", _abandoned)
"""The tasks are released again: every value that it has had is shown."""
FIGURES: Final = (
    ABANDONED_NOW,
    Figure("abandoned tasks, in all", catalog.ABANDONED_TASKS_TOTAL, ABANDONED, "", _abandoned),
    Figure("dead letters of a share group", catalog.DEAD_LETTERS, SHARE, "share_group", _died(share.DLQ)),
    Figure("the same by the broker's own bean", catalog.SHARE_RECORDS, SHARE),
    Figure("dead letters of Connect", catalog.DEAD_LETTERS, CONNECT, "connect", _died(FILESINK_DLQ)),
    Figure("dead letters of every dialect", catalog.DEAD_LETTERS, SHARE + CONNECT),
    Figure("task timeouts", catalog.TASK_TIMEOUTS, ("task_timeouts",), "", _timed_out),
    Figure("expired batches", catalog.DELIVERY_TIMEOUT_BATCHES, BATCHES),
    Figure("expired records", catalog.DELIVERY_TIMEOUT_RECORDS, RECORDS, "", _expired),
    Figure("input that was not understood", catalog.QUARANTINED),
    Figure("redrives completed", catalog.REDRIVE_JOBS, ("orders",), "COMPLETED"),
    Figure("dead letters put back", catalog.REDRIVE_RECORDS, ("share_accepted", *RETURNED), "sent"),
    Figure("of these, dead again", catalog.REDRIVE_RECORDS, RETURNED, "bounced"),
    Figure("of these, parked", catalog.REDRIVE_RECORDS, ("parked",), "parked"),
)


def plain(rows: Sequence[Row]) -> str:
    """The table in plain text, figures to the right."""
    lines = [HEADINGS, *(row.cells for row in rows)]
    what, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join(
        "  ".join([line[0].ljust(what), *map(str.rjust, line[1:], widths)]).rstrip() for line in lines
    )


def rich_table(rows: Sequence[Row], caption: str) -> Table:
    """The table for a terminal; what holds is green."""
    grid = Table(caption=caption, caption_justify="left")
    for heading in HEADINGS:
        grid.add_column(heading, justify="left" if heading == HEADINGS[0] else "right")
    for row in rows:
        grid.add_row(*(Text(cell, style="green" if row.holds else "") for cell in row.cells))
    return grid


def save_picture(file: Path, rows: Sequence[Row], caption: str) -> None:
    """Write the table as SVG, for a README or a ticket; it asks no other host for a font."""
    console = Console(record=True, width=PICTURE_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(rich_table(rows, caption))
    svg = console.export_svg(title="make demo")
    file.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))


class Screen:
    """Where the table is shown; ``live`` is its place on a terminal, None: there is no terminal."""

    def __init__(self) -> None:
        self.console = Console()
        self.live = Live(console=self.console, auto_refresh=False) if sys.stdout.isatty() else None
        self._shown: dict[str, Row] = {}
        self._began_s = time.monotonic()
        self._caption = ""

    def say(self, line: str) -> None:
        """Show what happens now."""
        self._caption = line
        if self.live is None:
            print(f"{time.monotonic() - self._began_s:6.1f} s  {line}", flush=True)

    def show(self, rows: Sequence[Row]) -> None:
        """Show the table as it is now."""
        if self.live is not None:
            self.live.update(rich_table(rows, self._caption), refresh=True)
            return
        for row in rows:
            if row != self._shown.get(row.what, row):
                self.say(f"  {row.what}: expected {row.expected or '…'}, seen {row.seen}")
            self._shown[row.what] = row
