"""The redrive sheet's fields, and the order that they ask for."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from api.console import sheet_fields
from api.console.sheet_fields import SHEET, FieldsError, Form, refused
from streaming.redrive.errors import FilterError, RedriveError
from streaming.redrive.order import OrderRequest

DEFAULTS: Final[Mapping[str, str]] = {
    "dlq_topic": "",
    "select": "all",
    "group": "",
    "filter": "",
    "from": "",
    "to": "",
    **sheet_fields.DEFAULTS,
    "records_per_second": "50",
    "max_records": "",
    "max_attempts": "5",
    "settle_window_s": "600",
    "again": "",
    "reason": "",
}
"""Every field, and what stands in it at first."""

_FIELDS: Final[Mapping[str, str]] = {
    "dlq_topic": "dlq_topic",
    "reason": "reason",
    "limits.records_per_second": "records_per_second",
    "limits.max_records": "max_records",
    "retry.max_attempts": "max_attempts",
    "guards.settle_window_ms": "settle_window_s",
    "selection.group": "group",
    "selection.filter": "filter",
}
"""Where the sheet has what the order's model calls so."""


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


def complete(form: Form) -> dict[str, str]:
    """The form with every field there is."""
    return {name: form.get(name, default) for name, default in DEFAULTS.items()}


def request(form: Form) -> OrderRequest:
    """The dry run that the sheet asks for. Raises ``FieldsError`` and ``ValidationError``."""
    said = complete(form)
    problems = _missing(said)
    if problems:
        raise FieldsError(problems)
    return OrderRequest.model_validate(
        {
            "dlq_topic": said["dlq_topic"],
            "selection": _selection(said),
            "target": sheet_fields.target(said),
            "limits": {
                "records_per_second": said["records_per_second"] or None,
                "max_records": said["max_records"] or None,
            },
            "retry": {"max_attempts": said["max_attempts"] or DEFAULTS["max_attempts"]},
            "guards": {"settle_window_ms": sheet_fields.milliseconds(said, "settle_window_s")},
            "again": bool(said["again"]),
            "reason": said["reason"],
            "dry_run": True,
        }
    )


def problems(error: ValidationError) -> dict[str, str]:
    """What the order's model refuses, by field of the sheet."""
    return refused(error, _FIELDS)


def field_of(error: RedriveError) -> str:
    """The field that an error is about."""
    return "filter" if isinstance(error, FilterError) else SHEET


def _missing(said: Form) -> dict[str, str]:
    needed = {
        "dlq_topic": "choose a dead letter topic",
        "reason": "say why: it is kept with the order",
        "settle_window_s": "say it in seconds, as 600",
    }
    needed |= {
        "group": {"group": "name the group's fingerprint"},
        "filter": {"filter": 'write a filter, such as attempts < 3; "all" selects everything'},
        "time": {} if said["from"] or said["to"] else {"from": "say from when or until when"},
    }.get(said["select"], {})
    needed |= sheet_fields.needed(said)
    return {name: problem for name, problem in needed.items() if name == "from" or not said[name]}


def _selection(said: Form) -> dict[str, Any]:
    match said["select"]:
        case "group":
            return {"group": said["group"]}
        case "filter":
            return {"filter": said["filter"]}
        case "time":
            return {name: _zoned(said[name]) for name in ("from", "to") if said[name]}
    return {"all": True}


def _zoned(text: str) -> str:
    """A time of the sheet is UTC where it says no zone, as the sheet tells."""
    return text if text.endswith("Z") or "+" in text else f"{text}Z"
