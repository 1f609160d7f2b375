"""All rules as Prometheus reads them; a file and the chart's PrometheusRule are made by the same function."""

from typing import Any, Final

from api.metrics import catalog
from dashboards import figures, overview, redrive, task_timeouts
from dashboards.promql import Expr, Scope
from dashboards.rules import connect, dead_letters, objective, self_monitoring
from dashboards.rules.alert import Alert, RulesError, growth, level, of, rule
from dashboards.rules.values import Values
from deadwatch.contract import signals
from deadwatch.contract.events.findings import FindingKind
from deadwatch.contract.signals.signal import Severity

_CLIENTS: Final = (
    *of(signals.TASK_TIMEOUTS),
    Alert(
        "DeadwatchTaskTimersRunning",
        level(catalog.TASK_TIMERS, "kafka_cluster", "application"),
        "{count} tasks of {application} wait without progress",
        "A call of each on cluster {kafka_cluster} timed out and nothing moved since. When "
        "task.timeout.ms is over, stream threads end: there is still time to fix what they wait for.",
        task_timeouts.BOARD.uid,
        wait="2m",
        keep_firing_for="5m",
    ),
    *of(signals.STREAM_THREAD_DEATHS),
    *of(signals.DELIVERY_TIMEOUT_RECORDS),
    *of(signals.RETRY_BACKOFF_MISCONFIGURED),
)
"""Alerts on Kafka Streams and producers: patience that ends, deliveries that expire."""


def _bounce(scope: Scope, given: Alert) -> Expr:
    back, sent = (
        scope.grown(catalog.REDRIVE_RECORDS, given.window, outcome=outcome).sum(*figures.BY_TOPIC)
        for outcome in ("bounced", "sent")
    )
    return back.over(sent.above(0)).above(given.threshold)


_REDRIVE: Final = (
    Alert(
        "DeadwatchRedriveBounces",
        _bounce,
        "{share} of what is put back from {dlq_topic} comes back",
        "The cause of these dead letters of cluster {kafka_cluster} is not fixed: each record "
        "put back dies again. Pause the order, fix the consumer first.",
        redrive.BOARD.uid,
        threshold=0.2,
        window="1h",
        wait="5m",
    ),
    Alert(
        "DeadwatchRedriveStuck",
        level(catalog.REDRIVE_STUCK, "status"),
        "{count} redrives are {status} and move nothing",
        "PAUSED: it waits for somebody, its status_reason says for what. CANCELLING or RUNNING: no worker "
        "takes it, or its target is away.",
        redrive.BOARD.uid,
        wait="15m",
    ),
    Alert(
        "DeadwatchRecordsParked",
        growth(catalog.REDRIVE_RECORDS, "kafka_cluster", "dlq_topic", outcome="parked"),
        "{count} records of {dlq_topic} were parked",
        "Their attempts on cluster {kafka_cluster} are used up; no redrive takes them again by "
        "itself. A person decides: fix and put back, or let go.",
        redrive.BOARD.uid,
        window="1h",
    ),
)
"""Alerts on redrives: records come back, orders stand still, records are parked."""

_FINDING: Final = ("kafka_cluster", "kind", "subject")
_STRANDS: Final = (
    FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
    FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
    FindingKind.CONNECT_NO_TASKS,
    FindingKind.DLQ_NOT_READ,
    FindingKind.DLQ_REPLICATION,
    FindingKind.DLQ_RETENTION_BYTES,
    FindingKind.DLQ_RETENTION_SHORT,
)
"""Findings by which nothing is lost yet; by any other one dead letters are."""

_FINDINGS: Final = (
    Alert(
        "DeadwatchRecordsWillBeLost",
        level(catalog.FINDINGS, *_FINDING, kind=[kind for kind in FindingKind if kind not in _STRANDS]),
        "{subject}: dead letters will be lost ({kind})",
        "A configuration of cluster {kafka_cluster} loses what fails next. The findings of the "
        "api say what would be lost and exactly what to change.",
        overview.BOARD.uid,
        wait="5m",
        severity=Severity.CRITICAL,
    ),
    Alert(
        "DeadwatchFinding",
        level(catalog.FINDINGS, *_FINDING, kind=_STRANDS),
        "{subject}: records are at risk ({kind})",
        "A configuration of cluster {kafka_cluster} strands records or makes dead letters easy to "
        "lose. The findings of the api say what to change.",
        overview.BOARD.uid,
        wait="5m",
    ),
)
"""Alerts on configurations that would lose records, or strand them."""

_PLACED: Final = {alert.name for alert in (*dead_letters.ALERTS, *_CLIENTS)}
_OTHERS: Final = (alert for signal in signals.ALL for alert in of(signal) if alert.name not in _PLACED)
GROUPS: Final[dict[str, tuple[Alert, ...]]] = {
    "deadwatch-dead-letters": dead_letters.ALERTS,
    "deadwatch-connect": connect.ALERTS,
    "deadwatch-clients": (*_CLIENTS, *_OTHERS),
    "deadwatch-redrive": _REDRIVE,
    "deadwatch-itself": (*_FINDINGS, *self_monitoring.ALERTS),
}
ALERTS: Final = tuple(alert for alerts in GROUPS.values() for alert in alerts)
NAMES: Final = (*(alert.name for alert in ALERTS), objective.NAME)


def rules(values: Values) -> dict[str, Any]:
    """``{"groups": [...]}`` for a rules file, or for ``spec`` of a PrometheusRule.

    Raises:
        RulesError: a value is for an alert that does not exist.
    """
    if unknown := set(values.alerts) - set(NAMES):
        raise RulesError(f"no alert is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    groups = []
    for name, alerts in GROUPS.items():
        groups.append(_group(name, [made for alert in alerts if (made := rule(alert, values))], values))
    if values.objective.enabled:
        watched = [*objective.recorded(values), *objective.alerts(values)]
        groups.append(_group("deadwatch-objective", watched, values))
    return {"groups": [group for group in groups if group["rules"]]}


def _group(name: str, made: list[dict[str, Any]], values: Values) -> dict[str, Any]:
    return {"name": name, "interval": values.interval, "rules": made}
