"""Dead letters by cause: sorted, filtered, in pages."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from api import dead_letters, group_lists
from api.console.pages import UNPROCESSABLE, page
from api.group_filter import GROUP_FIELDS, group_filter
from api.group_lists import Asked, Found, Order, State
from api.service import Serving
from api.times import instant
from streaming.filter import MAX_CHARS
from streaming.filter_errors import FUNCTIONS
from streaming.filter_fields import FIELDS
from streaming.redrive.errors import FilterError

router = APIRouter(prefix="/groups")


class GroupsQuery(BaseModel):
    """What the address of the list may say."""

    model_config = ConfigDict(extra="forbid")

    order: Order = Order.WAITING
    state: State = State.ALL
    filter: str = Field("", max_length=MAX_CHARS)
    after: str | None = Field(None, max_length=2_000)

    def without(self, **changed: str) -> str:
        """The address of the same list with something else, from its beginning."""
        kept = {"order": self.order, "state": self.state, "filter": self.filter}
        default = {"order": Order.WAITING, "state": State.ALL, "filter": ""}
        said = {name: value for name, value in (kept | changed).items() if value != default.get(name)}
        return "/groups" + (f"?{urlencode(said)}" if said else "")


@router.get("")
def groups(request: Request, service: Serving, query: Annotated[GroupsQuery, Query()]) -> HTMLResponse:
    """A filter that cannot be used is shown with what is wrong; the list is then empty."""
    text = query.filter.strip()
    problem, found = "", Found((), None, 0, complete=True)
    waiting = service.waiting.get()
    with service.store.read() as connection:
        known = dead_letters.count_groups(connection)
        try:
            asked = Asked(query.order, query.state, text, query.state.shelf, query.after)
            found = group_lists.find(connection, asked, waiting, service.now_ms())
        except FilterError as error:
            problem = str(error)
    rows = [
        {
            "group": row,
            "waiting": waiting.of(row),
            "state": group_lists.state_of(row, waiting.of(row), service.now_ms()),
            "first": instant(row.first_ms),
            "last": instant(row.last_ms),
        }
        for row in found.rows
    ]
    return page(
        request,
        "groups.html",
        UNPROCESSABLE if problem else 200,
        query=query,
        found=found,
        rows=rows,
        known=known,
        waiting=waiting.total,
        problem=problem,
        fields={name: FIELDS[name].help for name in GROUP_FIELDS},
        functions=FUNCTIONS,
        orders=Order,
        states=State,
    )


@router.get("/check")
def check(request: Request, filter: Annotated[str, Query(max_length=MAX_CHARS)] = "") -> HTMLResponse:  # noqa: A002 -- the address says so
    """What is wrong with a filter while it is written; nothing where nothing is."""
    problem = ""
    try:
        if filter.strip():
            group_filter(filter.strip())
    except FilterError as error:
        problem = str(error)
    return page(request, "_filter_problem.html", problem=problem)
