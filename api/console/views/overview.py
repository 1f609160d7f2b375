"""The first page: what waits, which causes grow, what is late or abandoned now, and what is new."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from api.answers import instant
from api.console.rendering import render
from api.cursor import PageQuery
from api.routes import overview, redrives, signals
from api.routes.overview import Overview
from api.service import Service, Serving
from api.signals import group_lists
from api.signals.dead_letter_groups import GroupRow
from api.signals.group_choices import GroupOrder
from api.signals.group_lists import GroupListRequest, GroupState
from deadwatch.runtime.clock import HOUR_MS, HOUR_S
from deadwatch.store import series
from deadwatch.store.series import Series
from deadwatch.store.write import buckets
from deadwatch.store.write.buckets import Window
from deadwatch.store.write.dead_letters import HOURS, first_hour_s, read_trend

router = APIRouter()

MAX_CAUSES: Final = 5
MAX_OF_A_KIND: Final = 8
"""How many changes of one kind the page lists at most."""
LINE_WIDTH: Final = 120
LINE_HEIGHT: Final = 32
STEPS: Final = 30
STEP_S: Final = 120


@dataclass(frozen=True, slots=True)
class Trend:
    """How much a counter grew in each two minutes of the last hour, and in the whole hour before."""

    values: tuple[int, ...]
    before: int

    @property
    def last_hour(self) -> int:
        """How much it grew in the last hour."""
        return sum(self.values)

    @property
    def points(self) -> str:
        """The last hour as the points of an SVG polyline."""
        return line(self.values)

    @property
    def words(self) -> str:
        """How the last hour compares with the hour before."""
        now, before = self.last_hour, self.before
        if not now:
            return "quiet for an hour" if before else "quiet"
        if not before:
            return "began within the hour"
        if now > before * 1.1:
            return f"rising: {before:,} in the hour before"
        return f"falling: {before:,} in the hour before" if now < before * 0.9 else "steady"


def trend(connection: Connection, counter: Series, now_ms: int) -> Trend:
    """The counter's last two hours, with the step of two minutes that has only begun."""
    end_s = (now_ms // 1_000 // STEP_S + 1) * STEP_S
    lines = buckets.read(connection, counter, {}, (), Window(end_s - 2 * HOUR_S, end_s, STEP_S))
    grown = dict(lines[0].points) if lines else {}
    steps = [grown.get(end_s - (2 * STEPS - step) * STEP_S, 0) for step in range(2 * STEPS)]
    return Trend(tuple(steps[STEPS:]), sum(steps[:STEPS]))


def line(values: Sequence[int]) -> str:
    """The points of an SVG polyline, ``LINE_WIDTH`` by ``LINE_HEIGHT``, the greatest value at the top.

    The newest of more than two steps has only begun: it is left out while it is lower than the one before.
    """
    shown = values[:-1] if values[-1] < values[-2] else values
    top, across = max(shown) or 1, LINE_WIDTH / (len(shown) - 1)
    return " ".join(
        f"{number * across:.1f},{LINE_HEIGHT - 2 - value / top * (LINE_HEIGHT - 4):.1f}"
        for number, value in enumerate(shown)
    )


@dataclass(frozen=True, slots=True)
class Signal:
    """A card: ``figure`` is what waits or holds now, or happened in the last hour; ``unit`` says which."""

    name: str
    title: str
    href: str
    figure: int
    total: int
    last_seen: datetime | None
    unit: str = "now"
    trend: Trend | None = None

    @property
    def wrong(self) -> bool:
        """Whether it needs attention."""
        return self.figure > 0


@dataclass(frozen=True, slots=True)
class GrowingCause:
    """A cause with its records since ``busy_since_ms``; ``points`` are the last day as an SVG polyline."""

    group: GroupRow
    grown: int
    waiting: int
    points: str


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Something that happened; ``at`` is None where that is not known."""

    at: datetime | None
    kind: str = field(compare=False)
    text: str = field(compare=False)
    href: str = field(compare=False)


@router.get("/")
def first_page(request: Request, service: Serving) -> HTMLResponse:
    """What waits, the causes that grow, every other signal, what happened in the last hour, and Deadwatch."""
    now, since = overview.overview(service), instant(service.now_ms() - HOUR_MS)
    with service.store.read() as connection:
        cards = _signals(connection, service, now)
        growing = list(_growing(connection, service))
        causes = list(_new_causes(connection, service))
    events = (*causes, *_happened(service, now))
    changes = [event for event in events if event.at and since and event.at >= since]
    return render(
        request,
        "overview.html",
        overview=now,
        waiting=cards[0],
        signals=[card for card in cards[1:] if card.wrong],
        quiet=[card for card in cards[1:] if not card.wrong],
        growing=growing,
        busy_since_ms=group_lists.busy_since_ms(service.now_ms()),
        wrong=sum(card.wrong for card in cards),
        changes=sorted(changes, reverse=True)[: 2 * MAX_OF_A_KIND],
    )


def _signals(connection: Connection, service: Service, now: Overview) -> list[Signal]:
    """The cards in the order of the page: what waits, then all others."""

    def grown(counter: Series) -> Trend:
        return trend(connection, counter, service.now_ms())

    dead, found, line = now.dead_letters, now.findings, grown(series.DEAD_LETTERS)
    waiting = (dead.waiting, dead.total, dead.last_seen)
    return [
        Signal("dead-letters", "Dead letters", "/groups", *waiting, "waiting", line),
        *_states(now),
        *_hourly(now, grown),
        Signal("findings", "Findings", "/findings", found.current, found.current, found.newest_since),
    ]


def _states(now: Overview) -> Iterator[Signal]:
    """What holds now: failed, abandoned and stalled tasks."""
    for name, title, count in (
        ("failed-tasks", "Failed tasks", now.failed.tasks),
        ("failed-connectors", "Failed connectors", now.failed.connectors),
    ):
        yield Signal(name, title, "/tasks#failed", count, count, now.failed.latest_since)
    for name, title, found in (
        ("abandoned-tasks", "Abandoned tasks", now.abandoned_tasks),
        ("abandoned-connectors", "Abandoned connectors", now.abandoned_connectors),
    ):
        yield Signal(name, title, "/tasks#abandoned", found.current, found.total, found.last_seen)
    count, since = now.stalled_tasks.current, now.stalled_tasks.longest_since
    yield Signal("stalled", "Stalled tasks", "/tasks#stalled", count, count, since)


def _hourly(now: Overview, grown: Callable[[Series], Trend]) -> Iterator[Signal]:
    """What happened in the last hour: timeouts and losses."""
    tasks, records, lost = now.task_timeouts, now.delivery_timeouts, now.dead_letters.lost
    timeouts, deliveries = "/tasks#timeouts", "/delivery-timeouts"
    expired, gone = series.DELIVERY_TIMEOUT_RECORDS, series.SHARE_DEAD_LETTERS_LOST
    for name, title, href, counter, total, last_seen in (
        ("task-timeouts", "Task timeouts", timeouts, series.TASK_TIMEOUTS, tasks.total, tasks.last_seen),
        ("deliveries", "Records not delivered", deliveries, expired, records.records, records.last_seen),
        ("lost", "Dead letters lost", "/topics", gone, lost.total, lost.last_seen),
    ):
        line = grown(counter)
        yield Signal(name, title, href, line.last_hour, total, last_seen, "in the last hour", line)


def _growing(connection: Connection, service: Service) -> Iterator[GrowingCause]:
    """The causes that grow most."""
    waiting, now_ms = service.waiting.get(), service.now_ms()
    for group, grown in group_lists.busiest(connection, now_ms, MAX_CAUSES):
        hours = dict(read_trend(connection, group.fingerprint, now_ms))
        begin_s = first_hour_s(now_ms)
        values = [hours.get(begin_s + number * HOUR_S, 0) for number in range(HOURS)]
        yield GrowingCause(group, grown, waiting.of(group), line(values))


def _new_causes(connection: Connection, service: Service) -> Iterator[Change]:
    asked = GroupListRequest(GroupOrder.NEWEST, GroupState.NEW, limit=MAX_OF_A_KIND)
    for row in group_lists.find(connection, asked, service.waiting.get(), service.now_ms()).rows:
        text = f"{row.error_class or 'no error class'} on {row.dlq_topic}"
        yield Change(instant(row.first_ms), "new cause", text, f"/groups/{row.fingerprint}")


def _happened(service: Service, now: Overview) -> Iterator[Change]:
    """Tasks abandoned, new findings, redrives made and ended, sources lost."""
    newest = PageQuery(limit=MAX_OF_A_KIND)
    for task in signals.abandoned(service, newest).items:
        name = task.connector if task.task is None else f"{task.connector}-{task.task}"
        yield Change(task.last_seen, "abandoned", f"{task.kind} {name} on {task.worker}", "/tasks#abandoned")
    for finding in signals.findings(service, newest).items:
        yield Change(finding.first_seen, "finding", f"{finding.subject}: {finding.message}", "/findings")
    for order in redrives.page_of(service, newest, dry_runs=False).items:
        text = f"{order.dlq_topic}: {order.status.lower()}, {order.progress.text}"
        yield Change(order.finished_at or order.created_at, "redrive", text, f"/redrives/{order.id}")
    for source in now.sources.down:
        yield Change(source.down_since, "source down", f"{source.name}: {source.message}", "/health")
