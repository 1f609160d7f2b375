"""One alert: what it looks at, what it says, and how it becomes a rule."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashboards.boards import ALL
from dashboards.promql import Expr, PromqlError, Scope
from dashboards.rules.values import UNCHANGED, AlertValues, Severity, Values

COUNT: Final = '{{ $value | printf "%.0f" }}'
AGE: Final = "{{ $value | humanizeDuration }}"
SHARE: Final = "{{ $value | humanizePercentage }}"

_LABEL: Final = re.compile(r"\$labels\.(\w+)")
_BOARDS: Final = {board.uid: board for board in ALL}


class RulesError(ValueError):
    """The values do not fit the rules; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What can be turned of an alert's expression."""

    threshold: float
    window: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert with its defaults; ``summary`` is one line, ``description`` says what to do first."""

    name: str
    severity: Severity
    expression: Callable[[Scope, Knobs], Expr]
    summary: str
    description: str
    board: str
    threshold: float = 0
    window: str = "15m"
    wait: str = "0s"
    keep_firing_for: str = "0s"
    labels: Mapping[str, str] = field(default_factory=dict)


def rule(alert: Alert, values: Values) -> dict[str, Any] | None:
    """The alert as Prometheus reads it; None: it is switched off.

    Raises:
        PromqlError: its text names a label that its expression does not have.
    """
    said = values.alerts.get(alert.name, UNCHANGED)
    if not said.enabled:
        return None
    expression = alert.expression(values.scope, _knobs(alert, said))
    texts = (alert.summary, alert.description)
    if unknown := set(_LABEL.findall(" ".join(texts))) - expression.labels:
        raise PromqlError(
            f"{alert.name}: its text names {', '.join(sorted(unknown))}, its expression does not"
        )
    made: dict[str, Any] = {"alert": alert.name, "expr": expression.text}
    durations = {
        "for": said.wait or alert.wait,
        "keep_firing_for": said.keep_firing_for or alert.keep_firing_for,
    }
    made |= {name: duration for name, duration in durations.items() if duration != "0s"}
    made["labels"] = {**values.labels, **alert.labels, "severity": str(said.severity or alert.severity)}
    made["annotations"] = {
        "summary": alert.summary,
        "description": alert.description,
        "runbook_url": f"{values.runbook_url}/{alert.name}.md",
        "dashboard_url": f"{values.dashboard_url}/d/{alert.board}{_choices(alert.board, expression)}",
    }
    return made


def _knobs(alert: Alert, said: AlertValues) -> Knobs:
    threshold = alert.threshold if said.threshold is None else said.threshold
    return Knobs(threshold, said.window or alert.window)


def _choices(uid: str, expression: Expr) -> str:
    """The dashboard's variables set to what the alert is about."""
    variables = {"kafka_cluster": "kafka_cluster"}
    variables |= {choice.label: choice.name for choice in _BOARDS[uid].choices}
    found: Sequence[str] = [
        f"var-{name}={{{{ $labels.{label} | urlquery }}}}"
        for label, name in variables.items()
        if label in expression.labels
    ]
    return f"?{'&'.join(found)}" if found else ""
