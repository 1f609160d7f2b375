"""Deadwatch itself: health, the doctor's checks, the settings of the api, tokens and the audit."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field, SecretStr, ValidationError

from api.audit import Acting
from api.auth.role import Role
from api.auth.roles import ADMIN, OPERATOR
from api.checks import Level
from api.console.rendering import UNPROCESSABLE, redirect, render, validation_text
from api.console.views.lists import ListQuery, Paging
from api.console.visitor import CSRF_CHECKED, SubmittedForm
from api.cursor import PageQuery
from api.routes import overview, tokens
from api.routes.tokens import AuditQuery, NewToken, TokenId, TokenRequest
from api.service import Service, Serving
from api.signals.pipeline import source_rows
from deadwatch.runtime.logs import LINE

router = APIRouter()

WORST_FIRST: Final = (Level.FAIL, Level.WARN, Level.OK)


@router.get("/health")
def health(request: Request, service: Serving) -> HTMLResponse:
    """The health of every part; sources that are down come first."""
    now = overview.overview(service)
    moment = service.moment
    with service.store.read() as connection:
        rows = source_rows(connection)
    sources = [(moment.is_up(row), row) for row in rows]
    sources.sort(key=lambda source: source[0])
    return render(request, "health.html", overview=now, sources=sources)


@router.get("/health/checks", dependencies=[OPERATOR])
def checks(request: Request) -> HTMLResponse:
    """The checks of ``deadwatch doctor`` that the api can make, with advice; those that fail come first."""
    at_ms, found = request.app.state.console_doctor.look()
    return render(
        request,
        "checks.html",
        at=at_ms,
        checks=sorted(found, key=lambda check: WORST_FIRST.index(check.level)),
        failing=sum(check.level is Level.FAIL for check in found),
    )


@router.get("/settings")
def settings(request: Request, service: Serving) -> HTMLResponse:
    """The settings of the api by name, with values and descriptions; secrets are not shown."""
    return render(request, "settings.html", rows=list(_rows(service.settings, "")))


def _rows(model: BaseModel, prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value, hidden=not field.repr), field.description or ""


def _text(value: object, *, hidden: bool = False) -> str:
    """A setting's value as people write it; a secret is only told to be set."""
    if isinstance(value, SecretStr):
        value, hidden = value.get_secret_value(), True
    if value is None or value in ((), "", {}):
        return ""
    if hidden:
        return "set, not shown"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return str(value.value) if isinstance(value, Enum) else str(value)


MOST_TOKENS = 100


@router.get("/tokens", dependencies=[ADMIN])
def token_list(request: Request, service: Serving, query: Paging) -> HTMLResponse:
    """A page of the tokens, the newest first."""
    return _tokens(request, service, after=query.after)


@router.post("/tokens", dependencies=[ADMIN])
def create(action: Acting, form: SubmittedForm) -> Response:
    """Make a token; its text is shown on this page and never again."""
    days = form.get("days", "")
    fields = {
        "name": form.get("name", ""),
        "role": form.get("role", ""),
        "expires_in_days": None if days == "never" else days,
    }
    try:
        asked = TokenRequest.model_validate(fields)
    except ValidationError as error:
        problem = validation_text(error.errors(), "field")
        return _tokens(action.request, action.service, problem=problem)
    made = tokens.create(action, asked)
    return _tokens(action.request, action.service, made=made)


@router.post("/tokens/{token}/revoke", dependencies=[ADMIN, *CSRF_CHECKED])
def revoke(action: Acting, token: TokenId) -> Response:
    """Revoke a token; it is not accepted any more."""
    tokens.revoke(action, token)
    return redirect(action.request, "/tokens")


def _tokens(
    request: Request,
    service: Service,
    *,
    after: str | None = None,
    made: NewToken | None = None,
    problem: str = "",
) -> HTMLResponse:
    return render(
        request,
        "tokens.html",
        UNPROCESSABLE if problem else 200,
        found=tokens.listed(service, PageQuery(limit=MOST_TOKENS, after=after)),
        made=made,
        problem=problem,
        roles=list(Role),
    )


class EntriesQuery(ListQuery):
    """The query of the audit; an empty ``who`` or ``action`` selects all."""

    who: str = Field("", max_length=200, pattern=LINE)
    action: str = Field("", max_length=100, pattern=LINE)


@router.get("/audit", dependencies=[OPERATOR])
def audit_entries(
    request: Request, service: Serving, query: Annotated[EntriesQuery, Query()]
) -> HTMLResponse:
    """Who did what, when, why and with which outcome; the newest first."""
    asked = AuditQuery(who=query.who or None, action=query.action or None, after=query.after)
    address = "/audit?" + urlencode({"who": query.who, "action": query.action})
    return render(request, "audit.html", found=tokens.entries(service, asked), query=query, address=address)
