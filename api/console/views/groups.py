"""Causes: the list, whose search text is checked while it is typed; one cause, its notes and redrives."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from api.answers import Question, instant
from api.audit import Acting
from api.console import rendering
from api.console.forms import etag, validated
from api.console.rendering import UNPROCESSABLE, redirect, render, traces_among
from api.console.views.redrives import command
from api.console.visitor import CSRF_CHECKED, FormError, SubmittedForm
from api.routes import dead_letters, redrives
from api.routes.dead_letters import ArchiveRequest, Fingerprint, GroupNoteRequest
from api.service import Searching, Serving
from api.signals import dead_letter_groups, group_lists
from api.signals.dead_letter_groups import GroupRow, Sample
from api.signals.group_choices import GroupOrder
from api.signals.group_filter import GROUP_FIELDS, matcher, words_in
from api.signals.group_lists import GroupListRequest, GroupPage, GroupState
from api.signals.series import SeriesPoint
from api.signals.waiting import Waiting
from deadwatch.deadletter.filter import MAX_CHARS
from deadwatch.deadletter.filter.errors import FUNCTIONS, FilterError
from deadwatch.deadletter.filter.fields import FIELDS
from deadwatch.deadletter.record import describes_failure
from deadwatch.orders.order import OrderRequest, Selection
from deadwatch.runtime.clock import HOUR_S
from deadwatch.store.write import orders
from deadwatch.store.write.dead_letters import HOURS, first_hour_s

router = APIRouter(prefix="/groups")


class GroupsQuery(Question):
    """The query of the list."""

    order: GroupOrder = GroupOrder.WAITING
    state: GroupState = GroupState.ALL
    filter: str = Field("", max_length=MAX_CHARS)
    after: str | None = Field(None, max_length=2_000)

    def address(self, **changed: str) -> str:
        """The address of the same list with something changed, at its first page; defaults are left out."""
        default = {"order": GroupOrder.WAITING, "state": GroupState.ALL, "filter": ""}
        fields = {"order": self.order, "state": self.state, "filter": self.filter} | changed
        query = {name: value for name, value in fields.items() if value != default.get(name)}
        return "/groups" + (f"?{urlencode(query)}" if query else "")


@router.get("", dependencies=[Searching])
def groups(request: Request, service: Serving, query: Annotated[GroupsQuery, Query()]) -> HTMLResponse:
    """A page of the list; if the filter is not valid, the page says why and lists nothing."""
    problem, found = "", GroupPage((), None, 0, complete=True)
    waiting = service.waiting.get()
    with service.store.read() as connection:
        known = dead_letter_groups.count_groups(connection)
        try:
            asked = GroupListRequest(
                query.order, query.state, query.filter.strip(), query.state.shelf, query.after
            )
            found = group_lists.find(connection, asked, waiting, service.now_ms())
        except FilterError as error:
            problem = str(error)
    return render(
        request,
        "groups.html",
        UNPROCESSABLE if problem else 200,
        query=query,
        found=found,
        rows=[_row(row, waiting, service.now_ms()) for row in found.rows],
        known=known,
        waiting=waiting.total,
        problem=problem,
        words=words_in(query.filter),
        fields={name: FIELDS[name].help for name in GROUP_FIELDS},
        functions=FUNCTIONS,
        states=GroupState,
    )


def _row(row: GroupRow, waiting: Waiting, now_ms: int) -> dict[str, object]:
    return {
        "group": row,
        "waiting": waiting.of(row),
        "state": group_lists.state_of(row, waiting.of(row), now_ms),
    }


@router.get("/check")
def check(request: Request, filter: Annotated[str, Query(max_length=MAX_CHARS)] = "") -> HTMLResponse:  # noqa: A002 -- the parameter's name in the address
    """A fragment of the page: why the search text is not valid; empty if it is."""
    problem = ""
    try:
        matcher(filter)
    except FilterError as error:
        problem = str(error)
    return render(request, "_filter_problem.html", problem=problem)


BAR_HEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour of the last day; ``height`` is at most ``BAR_HEIGHT``, at least 2 unless ``value`` is 0."""

    number: int
    at: datetime | None
    value: int
    height: int


def bars(points: Sequence[SeriesPoint], now_ms: int) -> list[Bar]:
    """Every hour of the last day, the oldest first."""
    known = {point.at: point.value for point in points}
    first_s = first_hour_s(now_ms)
    hours = [instant((first_s + number * HOUR_S) * 1_000) for number in range(HOURS)]
    top = max(known.values(), default=0) or 1
    return [
        Bar(number, at, value, max(2 if value else 0, round(value / top * BAR_HEIGHT)))
        for number, at in enumerate(hours)
        for value in (known.get(at, 0),)
    ]


Values = tuple[str | None, ...]
"""Of a header or a size in each sample, in order; None where a sample lacks the header."""


@router.get("/{fingerprint}")
def group(request: Request, service: Serving, fingerprint: Fingerprint) -> HTMLResponse:
    """Everything that is known about the cause."""
    unmasked = dead_letters.detail(service, fingerprint, unmasked=True)
    found = dead_letter_groups.masked(unmasked)
    with service.store.read() as connection:
        history = orders.naming_group(connection, found.dlq_topic, fingerprint)
    whole = OrderRequest(dlq_topic=found.dlq_topic, selection=Selection(group=fingerprint), reason="say why")
    return render(
        request,
        "group.html",
        group=found,
        note=dead_letters.note(service, fingerprint, Response()),
        trend=bars(found.trend, service.now_ms()),
        samples=[
            (sample, traces_among((header.name, header.value) for header in sample.headers))
            for sample in found.samples
        ],
        differences=_differences(unmasked.samples),
        redrives=redrives.answers(service, reversed(history)),
        command=command(whole),
    )


@router.post("/{fingerprint}/note", name="write_note")
def write_note(action: Acting, fingerprint: Fingerprint, form: SubmittedForm) -> Response:
    """Change owner and note, unless somebody else has changed them since the page was shown."""
    with validated():
        note = GroupNoteRequest(owner=form.get("owner", ""), comment=form.get("comment", ""))
    dead_letters.write_note(action, fingerprint, note, Response(), etag(form))
    return redirect(action.request, f"/groups/{fingerprint}")


@router.post("/{fingerprint}/archive")
def archive(action: Acting, fingerprint: Fingerprint, form: SubmittedForm) -> Response:
    """Take the cause off the list until it grows."""
    if not form.get("reason"):
        raise FormError("give a reason for the archive: it is kept with the cause")
    with validated():
        asked = ArchiveRequest(reason=form["reason"])
    dead_letters.archive(action, fingerprint, asked, Response())
    return redirect(action.request, f"/groups/{fingerprint}")


@router.post("/{fingerprint}/unarchive", dependencies=CSRF_CHECKED)
def unarchive(action: Acting, fingerprint: Fingerprint) -> Response:
    """Put the cause back on the list."""
    dead_letters.unarchive(action, fingerprint, Response())
    return redirect(action.request, f"/groups/{fingerprint}")


def _differences(samples: Sequence[Sample]) -> list[tuple[str, Values]]:
    """The headers and sizes that differ among unmasked samples, sizes first.

    A header that is masked on pages shows only which samples have the same value.
    """
    if len(samples) < 2:  # noqa: PLR2004 -- nothing to compare
        return []
    headers = [{header.name: header.value for header in sample.headers} for sample in samples]
    names = dict.fromkeys(name for sample in headers for name in sample)
    rows = [
        ("key size", tuple(rendering.size(sample.key_bytes) for sample in samples)),
        ("value size", tuple(rendering.size(sample.value_bytes) for sample in samples)),
        *((name, _shown(name, tuple(sample.get(name) for sample in headers))) for name in names),
    ]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def _shown(name: str, values: Values) -> Values:
    if describes_failure(name):
        return values
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values), 1)}
    return tuple(None if value is None else f"masked, value {numbers[value]}" for value in values)
