"""The first page: what waits, is late or abandoned now, how it moves, and what is new."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from api import group_lists
from api.console.pages import page
from api.console.sparklines import Trend, trend
from api.group_lists import Asked, Order, State
from api.routes import abandoned, findings, redrives
from api.routes import overview as now
from api.schemas import Overview
from api.service import PageQuery, Service, Serving
from api.times import instant
from streaming.store import series
from streaming.store.series import Series

router = APIRouter()

HOUR_MS: Final = 3_600_000
OF_EACH: Final = 8
"""Changes of one kind that the page tells at most."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A card: ``figure`` is what waits or holds now, or happened in the last hour; ``of`` says which."""

    name: str
    title: str
    href: str
    figure: int
    of: str
    total: int
    last_seen: datetime | None
    wrong: bool
    trend: Trend | None = None


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Something that happened within the hour."""

    at: datetime
    what: str = field(compare=False)
    text: str = field(compare=False)
    href: str = field(compare=False)


@router.get("/")
def overview(request: Request, service: Serving) -> HTMLResponse:
    """What is wrong now comes first, then every signal, the last hour, and Deadwatch itself."""
    told = now.overview(service)
    with service.store.read() as connection:
        signals = list(_signals(connection, service, told))
        fresh = list(_groups(connection, service))
    changes = sorted([*fresh, *_changes(service, told)], reverse=True)[: 2 * OF_EACH]
    wrong = [signal for signal in signals if signal.wrong]
    return page(request, "overview.html", told=told, signals=signals, wrong=wrong, changes=changes)


def _signals(connection: Connection, service: Service, told: Overview) -> Iterator[Signal]:
    def grown(counted: Series) -> Trend:
        return trend(connection, counted, {}, service.now_ms())

    letters, lost = told.dead_letters, told.dead_letters.lost
    yield Signal(
        "dead-letters",
        "Dead letters",
        "/groups",
        letters.waiting,
        "waiting",
        letters.total,
        letters.last_seen,
        letters.waiting > 0,
        grown(series.DEAD_LETTERS),
    )
    for name, title, abandoned_now in (
        ("abandoned-tasks", "Abandoned tasks", told.abandoned_tasks),
        ("abandoned-connectors", "Abandoned connectors", told.abandoned_connectors),
    ):
        yield Signal(
            name,
            title,
            "/tasks#abandoned",
            abandoned_now.current,
            "now",
            abandoned_now.total,
            abandoned_now.last_seen,
            abandoned_now.current > 0,
        )
    stalled = told.stalled_tasks
    yield Signal(
        "stalled",
        "Stalled tasks",
        "/tasks#stalled",
        stalled.current,
        "now",
        stalled.current,
        stalled.longest_since,
        stalled.current > 0,
    )
    timeouts, deliveries = told.task_timeouts, told.delivery_timeouts
    tasks = grown(series.TASK_TIMEOUTS)
    yield _counted(
        "task-timeouts", "Task timeouts", "/tasks#timeouts", tasks, timeouts.total, timeouts.last_seen
    )
    records = grown(series.DELIVERY_TIMEOUT_RECORDS)
    yield _counted(
        "deliveries",
        "Records not delivered",
        "/delivery-timeouts",
        records,
        deliveries.records,
        deliveries.last_seen,
    )
    gone = grown(series.SHARE_DEAD_LETTERS_LOST)
    yield _counted("lost", "Dead letters lost", "/topics", gone, lost.total, lost.last_seen)
    held = told.findings
    yield Signal(
        "findings",
        "Findings",
        "/findings",
        held.current,
        "now",
        held.current,
        held.newest_since,
        held.current > 0,
    )


def _counted(  # noqa: PLR0917 -- a row of the table above
    name: str, title: str, href: str, grown: Trend, total: int, last_seen: datetime | None
) -> Signal:
    hour = grown.last_hour
    return Signal(name, title, href, hour, "in the last hour", total, last_seen, hour > 0, grown)


def _groups(connection: Connection, service: Service) -> Iterator[Change]:
    asked = Asked(Order.NEWEST, State.NEW, limit=OF_EACH)
    for row in group_lists.find(connection, asked, service.waiting.get(), service.now_ms()).rows:
        at = instant(row.first_ms)
        if at is not None:
            text = f"{row.error_class or 'no error class'} on {row.dlq_topic}"
            yield Change(at, "new cause", text, f"/groups/{row.fingerprint}")


def _changes(service: Service, told: Overview) -> Iterator[Change]:
    """Instances abandoned, findings that began, redrives made and ended, sources lost; within the hour."""
    since = instant(service.now_ms() - HOUR_MS)
    found = (*_abandoned(service), *_findings(service), *_redrives(service), *_sources(told))
    return (one for one in found if since is not None and one.at >= since)


def _abandoned(service: Service) -> Iterator[Change]:
    for one in abandoned.abandoned(service, PageQuery(limit=OF_EACH)).items:
        name = one.connector if one.task is None else f"{one.connector}-{one.task}"
        if one.last_seen is not None:
            yield Change(one.last_seen, "abandoned", f"{one.kind} {name} on {one.worker}", "/tasks#abandoned")


def _findings(service: Service) -> Iterator[Change]:
    for one in findings.findings(service, PageQuery(limit=OF_EACH)).items:
        if one.first_seen is not None:
            yield Change(one.first_seen, "finding", f"{one.subject}: {one.message}", "/findings")


def _redrives(service: Service) -> Iterator[Change]:
    for one in redrives.listed(service, PageQuery(limit=OF_EACH)).items:
        if one.dry_run:
            continue
        at = one.finished_at or one.created_at
        if at is not None:
            text = f"{one.dlq_topic}: {one.status.lower()}, {one.progress.text}"
            yield Change(at, "redrive", text, f"/redrives/{one.id}")


def _sources(told: Overview) -> Iterator[Change]:
    for one in told.sources.down:
        if one.down_since is not None:
            yield Change(one.down_since, "source down", f"{one.name}: {one.message}", "/health")
