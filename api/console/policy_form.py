"""The fields of a policy's sheet, and the standing order that they ask for.

What the sheet has no field for stays as it is when a policy is changed.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from api.console import sheet_fields
from api.console.sheet_fields import SHEET, FieldsError, Form, refused
from streaming.redrive.errors import FilterError, RedriveError
from streaming.redrive.policy import PolicyRequest

DEFAULTS: Final[Mapping[str, str]] = {
    "dlq_topics": "",
    "filter": "",
    "exclude_error_classes": "",
    "excluded": "park",
    "existing": "later",
    **sheet_fields.DEFAULTS,
    "records_per_second": "50",
    "max_attempts": "5",
    "retry_backoff_s": "60",
    "retry_backoff_max_s": "900",
    "enabled": "true",
    "reason": "",
}
"""Every field, and what stands in it at first."""

_FIELDS: Final[Mapping[str, str]] = {
    "dlq_topics": "dlq_topics",
    "filter": "filter",
    "exclude_error_classes": "exclude_error_classes",
    "limits.records_per_second": "records_per_second",
    "retry.max_attempts": "max_attempts",
    "retry.retry_backoff_ms": "retry_backoff_s",
    "retry.retry_backoff_max_ms": "retry_backoff_max_s",
    "target.topic.topic": "target_topic",
    "target.retry.consumergroup": "target_group",
    "target.map.map": "target_map",
    "reason": "reason",
}
"""Where the sheet has what the policy's model calls so."""


def complete(form: Form) -> dict[str, str]:
    """The form with every field there is."""
    return {name: form.get(name, default) for name, default in DEFAULTS.items()}


def blank(dlq_topic: str) -> dict[str, str]:
    """The sheet as a link opens it; the pattern is for this topic alone."""
    return {**DEFAULTS, "dlq_topics": dlq_topic.replace(".", r"\.")}


def filled(request: PolicyRequest) -> dict[str, str]:
    """The sheet of a policy that there is."""
    rate = request.limits.records_per_second
    return {
        **sheet_fields.filled(request.target),
        "dlq_topics": "\n".join(request.dlq_topics),
        "filter": request.filter or "",
        "exclude_error_classes": "\n".join(request.exclude_error_classes),
        "excluded": request.excluded,
        "existing": "too" if request.include_existing else "later",
        "records_per_second": "" if rate is None else f"{rate:g}",
        "max_attempts": str(request.retry.max_attempts),
        "retry_backoff_s": f"{request.retry.retry_backoff_ms / 1_000:g}",
        "retry_backoff_max_s": f"{request.retry.retry_backoff_max_ms / 1_000:g}",
        "enabled": "true" if request.enabled else "false",
        "reason": request.reason,
    }


def request(form: Form, before: PolicyRequest | None = None) -> PolicyRequest:
    """What the sheet asks for, with the rest as it was. Raises ``FieldsError`` and ``ValidationError``."""
    said = complete(form)
    missing = {name: problem for name, problem in _needed(said).items() if not said[name]}
    if missing:
        raise FieldsError(missing)
    kept: dict[str, Any] = {} if before is None else before.model_dump(mode="json")
    limits = {**kept.get("limits", {}), "records_per_second": said["records_per_second"] or None}
    retry = {
        **kept.get("retry", {}),
        "max_attempts": said["max_attempts"] or DEFAULTS["max_attempts"],
        "retry_backoff_ms": sheet_fields.milliseconds(said, "retry_backoff_s"),
        "retry_backoff_max_ms": sheet_fields.milliseconds(said, "retry_backoff_max_s"),
    }
    target = sheet_fields.target(said)
    if before is not None and before.target.kind == target["kind"]:
        target = {**kept["target"], **target}
    return PolicyRequest.model_validate(
        {
            **kept,
            "dlq_topics": _lines(said["dlq_topics"]),
            "filter": said["filter"] or None,
            "exclude_error_classes": _lines(said["exclude_error_classes"]),
            "excluded": said["excluded"],
            "include_existing": said["existing"] == "too",
            "target": target,
            "limits": limits,
            "retry": retry,
            "enabled": said["enabled"] == "true",
            "reason": said["reason"],
        }
    )


def problems(error: FieldsError | ValidationError | RedriveError) -> dict[str, str]:
    """What is wrong, by field of the sheet."""
    if isinstance(error, FieldsError):
        return error.problems
    if isinstance(error, ValidationError):
        return refused(error, _FIELDS)
    return {"filter" if isinstance(error, FilterError) else SHEET: str(error)}


def _needed(said: Form) -> dict[str, str]:
    return {
        "dlq_topics": "say which topics it looks after",
        "reason": "say why: it is kept with every order that it makes",
        "retry_backoff_s": "say it in seconds, as 60",
        "retry_backoff_max_s": "say it in seconds, as 900",
        **sheet_fields.needed(said),
    }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
