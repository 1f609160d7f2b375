"""The fields of a policy's sheet, and the standing order that they ask for."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from api.console import sheet_fields
from api.console.sheet_fields import SHEET, TARGETS, Control, Controls, FieldsError, Form, refused
from streaming.redrive.errors import FilterError, RedriveError
from streaming.redrive.order_texts import LINES, NUMBER, SECONDS, SWITCH, WHOLE, choice
from streaming.redrive.policy import PolicyRequest

CONTROLS: Final[Controls] = (
    Control("dlq_topics", "dlq_topics", LINES, needed="say which topics it looks after"),
    Control("filter", "filter"),
    Control("exclude_error_classes", "exclude_error_classes", LINES),
    Control("excluded", "excluded"),
    Control("existing", "include_existing", choice({"later": False, "too": True})),
    *TARGETS,
    Control("records_per_second", "limits.records_per_second", NUMBER, blank="none"),
    Control("max_attempts", "retry.max_attempts", WHOLE),
    Control("retry_backoff_s", "retry.retry_backoff_ms", SECONDS, needed="say it in seconds, as 60"),
    Control("retry_backoff_max_s", "retry.retry_backoff_max_ms", SECONDS, needed="say it in seconds, as 900"),
    Control("enabled", "enabled", SWITCH),
    Control("reason", "reason", needed="say why: it is kept with every order that it makes"),
)
"""What a policy may say beside these is an ``also``."""

DEFAULTS: Final[Mapping[str, str]] = {
    **{control.name: "" for control in CONTROLS},
    **sheet_fields.DEFAULTS,
    "excluded": "park",
    "existing": "later",
    "records_per_second": "50",
    "max_attempts": "5",
    "retry_backoff_s": "60",
    "retry_backoff_max_s": "900",
    "enabled": "true",
}
"""Every field, and what stands in it at first."""


def complete(form: Form) -> dict[str, str]:
    """The form with every field there is."""
    return {name: form.get(name, default) for name, default in DEFAULTS.items()}


def blank(dlq_topic: str) -> dict[str, str]:
    """The sheet as a link opens it; the pattern is for this topic alone."""
    return {**DEFAULTS, "dlq_topics": dlq_topic.replace(".", r"\.")}


def filled(request: PolicyRequest) -> dict[str, str]:
    """The sheet of a policy that there is."""
    return sheet_fields.filled(CONTROLS, request, {"target": request.target.kind})


def request(form: Form) -> PolicyRequest:
    """What the sheet asks for. Raises ``FieldsError`` and ``ValidationError``."""
    return PolicyRequest.model_validate(sheet_fields.document(CONTROLS, complete(form)))


def problems(error: FieldsError | ValidationError | RedriveError, form: Form) -> dict[str, str]:
    """What is wrong, by field of the sheet."""
    if isinstance(error, FieldsError):
        return error.problems
    if isinstance(error, ValidationError):
        return refused(error, CONTROLS, complete(form))
    return {"filter" if isinstance(error, FilterError) else SHEET: str(error)}
