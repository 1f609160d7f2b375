"""An alert with its defaults, and how it becomes a rule of Prometheus."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards.boards import ALL
from dashboards.promql import INSTALLATION, Expr, PromqlError, Scope, Value
from dashboards.rules.values import AlertValues, Values
from deadwatch.contract.signals.signal import Severity, Signal
from deadwatch.store.series import CLUSTER

VALUES: Final = {
    "count": '{{ $value | printf "%.0f" }}',
    "age": "{{ $value | humanizeDuration }}",
    "share": "{{ $value | humanizePercentage }}",
}
"""What the alert's value is in a text: ``{count}`` things, seconds of ``{age}``, or a ``{share}`` of 1."""
UNNAMED: Final = "(unnamed)"
"""What a text says for a label without a value, as the client of a log line that names none has."""
_BOARDS: Final = {board.uid: board for board in ALL}


class RulesError(ValueError):
    """The values do not fit the rules; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert with its defaults; ``summary`` is one line, ``description`` says what to do first.

    In both a label's name in braces stands for its value, and a name of ``VALUES`` for the alert's.
    """

    name: str
    expression: "Expression"
    summary: str
    description: str
    board: str
    severity: Severity = Severity.WARNING
    threshold: float = 0
    window: str = "15m"
    wait: str = "0s"
    keep_firing_for: str = "0s"
    labels: Mapping[str, str] = field(default_factory=dict)


Expression = Callable[[Scope, Alert], Expr]
"""Made of the alert's threshold and window, after the installation's values."""


def growth(metric: Metric, *by: str, **only: Value) -> Expression:
    """A counter that has grown by more than the threshold within the window, added up by these labels of each
    installation.
    """
    return lambda scope, alert: (
        scope.grown(metric, alert.window, (), "", **only).sum(*INSTALLATION, *by).above(alert.threshold)
    )


def level(metric: Metric, *by: str, **only: Value) -> Expression:
    """A gauge that is above the threshold, added up by these labels of each installation."""
    return lambda scope, alert: scope.gauge(metric, "", **only).sum(*INSTALLATION, *by).above(alert.threshold)


def of(signal: Signal) -> tuple[Alert, ...]:
    """The alert that a signal declares, if it does."""
    if signal.alert is None:
        return ()
    declared = signal.alert
    expression = growth(catalog.counter(signal), CLUSTER, *declared.by)
    texts = (declared.summary, declared.description)
    made = Alert(declared.name, expression, *texts, signal.board, declared.severity)
    return (replace(made, window=declared.window, threshold=declared.threshold),)


def rule(alert: Alert, values: Values) -> dict[str, Any] | None:
    """The alert as Prometheus reads it; None: it is switched off.

    Raises:
        PromqlError: its text names a label that its expression does not have.
    """
    override = values.alerts.get(alert.name, AlertValues())
    if not override.enabled:
        return None
    alert = replace(alert, **override.model_dump(exclude={"enabled"}, exclude_none=True))
    expression = alert.expression(values.scope, alert)
    known = VALUES | {label: f'{{{{ or $labels.{label} "{UNNAMED}" }}}}' for label in expression.labels}
    named = {name for _, name, _, _ in Formatter().parse(alert.summary + alert.description) if name}
    if unknown := named - set(known):
        raise PromqlError(
            f"{alert.name}: its text names {', '.join(sorted(unknown))}, its expression does not"
        )
    made: dict[str, Any] = {"alert": alert.name, "expr": expression.text}
    durations = {"for": alert.wait, "keep_firing_for": alert.keep_firing_for}
    made |= {name: duration for name, duration in durations.items() if duration != "0s"}
    made["labels"] = {**values.labels, **alert.labels, "severity": str(alert.severity)}
    made["annotations"] = {
        "summary": alert.summary.format_map(known),
        "description": alert.description.format_map(known),
        "runbook_url": f"{values.runbook_url}/{alert.name}.md",
        "dashboard_url": f"{values.dashboard_url}/d/{alert.board}{_choices(alert.board, expression)}",
    }
    return made


def _choices(uid: str, expression: Expr) -> str:
    """The dashboard's variables set to what the alert is about."""
    variables = {label: label for label in (*INSTALLATION, CLUSTER)}
    variables |= {choice.label: choice.name for choice in _BOARDS[uid].choices}
    found: Sequence[str] = [
        f"var-{name}={{{{ $labels.{label} | urlquery }}}}"
        for label, name in variables.items()
        if label in expression.labels
    ]
    return f"?{'&'.join(found)}" if found else ""
