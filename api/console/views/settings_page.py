"""The api's settings, to read: what is secret is not shown."""

from collections.abc import Iterator
from enum import Enum

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, SecretStr

from api.console.pages import page
from api.service import Serving

router = APIRouter(prefix="/settings")


@router.get("")
def shown(request: Request, service: Serving) -> HTMLResponse:
    """Name, value, and what it is for."""
    return page(request, "settings.html", rows=list(_rows(service.settings, "")))


def _rows(model: BaseModel, prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _said(value, hidden=not field.repr), field.description or ""


def _said(value: object, *, hidden: bool) -> str:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
        hidden = True
    if value is None or value in ((), ""):
        return ""
    if hidden:
        return "set, not shown"
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value)
    return str(value.value) if isinstance(value, Enum) else str(value)
