"""The redrive sheet's fields, and the order that they ask for."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from api.console import sheet_fields
from api.console.sheet_fields import SHEET, TARGETS, Control, Controls, FieldsError, Form, refused
from streaming.redrive.errors import FilterError, RedriveError
from streaming.redrive.order import OrderRequest, Selection
from streaming.redrive.order_texts import INTERVALS, NUMBER, PLACES, SECONDS, TIME, WHOLE, choice

CONTROLS: Final[Controls] = (
    Control("dlq_topic", "dlq_topic", needed="choose a dead letter topic"),
    Control("select", "selection.all", choice({"all": True}), "select=all"),
    Control("group", "selection.group", when="select=group", needed="name the group's fingerprint"),
    Control(
        "filter",
        "selection.filter",
        when="select=filter",
        needed='write a filter, such as attempts < 3; "all" selects everything',
    ),
    Control("from", "selection.from", TIME, "select=time"),
    Control("to", "selection.to", TIME, "select=time"),
    Control("offsets", "selection.offsets", INTERVALS, "select=offsets", needed="write 0:10-20, one a line"),
    Control("records", "selection.records", PLACES, "select=records", needed="write 0:42, one a line"),
    Control("again", "again", choice({"yes": True})),
    *TARGETS,
    Control("records_per_second", "limits.records_per_second", NUMBER, blank="none"),
    Control("max_records", "limits.max_records", WHOLE),
    Control("max_attempts", "retry.max_attempts", WHOLE),
    Control("settle_window_s", "guards.settle_window_ms", SECONDS, needed="say it in seconds, as 600"),
    Control("reason", "reason", needed="say why: it is kept with the order"),
)
"""What an order may say beside these is an ``also``."""

DEFAULTS: Final[Mapping[str, str]] = {
    **{control.name: "" for control in CONTROLS},
    **sheet_fields.DEFAULTS,
    "select": "all",
    "records_per_second": "50",
    "max_attempts": "5",
    "settle_window_s": "600",
}
"""Every field, and what stands in it at first."""


def blank(dlq_topic: str, group: str, expression: str, **more: str) -> dict[str, str]:
    """The sheet as a link opens it."""
    select = "group" if group else "filter" if expression else "all"
    return {
        **DEFAULTS,
        "dlq_topic": dlq_topic,
        "group": group,
        "filter": expression,
        "select": select,
        **{name: value for name, value in more.items() if value},
    }


def filled(request: OrderRequest) -> dict[str, str]:
    """The sheet as it asks for an order that there is, by its dry run."""
    choices = {"select": _way(request.selection), "target": request.target.kind}
    return sheet_fields.filled(CONTROLS, request, choices)


def complete(form: Form) -> dict[str, str]:
    """The form with every field there is."""
    return {name: form.get(name, default) for name, default in DEFAULTS.items()}


def request(form: Form) -> OrderRequest:
    """The dry run that the sheet asks for. Raises ``FieldsError`` and ``ValidationError``."""
    said = complete(form)
    document = sheet_fields.document(CONTROLS, said)
    if "selection" not in document:
        raise FieldsError({"from": "say from when or until when"})
    return OrderRequest.model_validate({**document, "dry_run": True})


def problems(error: ValidationError, form: Form) -> dict[str, str]:
    """What the order's model refuses, by field of the sheet."""
    return refused(error, CONTROLS, complete(form))


def field_of(error: RedriveError) -> str:
    """The field that an error is about."""
    return "filter" if isinstance(error, FilterError) else SHEET


def _way(selection: Selection) -> str:
    """What the sheet calls the way of selecting."""
    said = next(iter(selection.model_dump(exclude_none=True)))
    return {"from_": "time", "to": "time"}.get(said, said)
