"""Alerts on Connect: instances that were abandoned or have failed, tasks that are stalled."""

from functools import partial
from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards import abandoned as board
from dashboards.promql import INSTALLATION, Expr, Scope, Value
from dashboards.rules.alert import Alert, Expression, level
from deadwatch.contract.events import THREADLESS
from deadwatch.contract.signals.signal import Severity


def _growing(scope: Scope, given: Alert) -> Expr:
    """Over all workers: log lines that name none move between the series of workers as more become known."""
    by = (*INSTALLATION, "kafka_cluster", "connector")
    tasks = scope.grown(catalog.ABANDONED_TASKS_TOTAL, given.window, (*by, "task"))
    connectors = scope.grown(catalog.ABANDONED_CONNECTORS_TOTAL, given.window, by)
    return tasks.beside(connectors, *by).above(given.threshold)


_SILENCE: Final = "3m"


def _state(metric: Metric, *labels: str, **only: Value) -> Expression:
    """A gauge of what Connect's REST tells; where it has no value now, its last one, for a while.

    Nothing is known while streaming is silent, as over its restart. A state that was left has a successor,
    and is over at once.
    """
    by = (*INSTALLATION, *labels)

    def made(scope: Scope, given: Alert) -> Expr:
        now, any_now = (scope.gauge(metric, "", **wanted).max(*by) for wanted in (only, {}))
        lately = scope.last(metric, _SILENCE, **only).max(*by).unless(any_now, *by)
        return now.or_(lately).above(given.threshold)

    return made


_NOT_STARTED: Final = ("UNASSIGNED", "RESTARTING")
"""States that pass within moments, unless the start fails: then nothing follows them."""

alert: Final = partial(Alert, board=board.BOARD.uid)
of_state: Final = partial(alert, keep_firing_for="5m")
ALERTS: Final = (
    alert(
        "DeadwatchTaskAbandoned",
        level(catalog.ABANDONED_TASKS, "kafka_cluster", "worker", "connector", "task"),
        "Task {task} of connector {connector} was abandoned and still runs",
        "{count} instances of it on worker {worker} of cluster {kafka_cluster} hold threads, connections "
        "and locks that nobody owns. Find what blocks them, or restart the worker.",
        wait="5m",
    ),
    alert(
        "DeadwatchConnectorAbandoned",
        level(catalog.ABANDONED_CONNECTORS, "kafka_cluster", "worker", "connector"),
        "Connector {connector} was abandoned and still runs",
        "{count} instances of it on worker {worker} of cluster {kafka_cluster} hold resources that nobody "
        "owns. Correct or remove the connector, then restart the worker.",
        wait="5m",
    ),
    alert(
        "DeadwatchAbandonedGrowing",
        _growing,
        "{count} instances of connector {connector} were abandoned within the hour",
        "It or its tasks on cluster {kafka_cluster} do not stop when they are told to, again and again. Its "
        "workers will run out of threads or memory: find what blocks them, then restart the workers.",
        threshold=2,
        window="1h",
        severity=Severity.CRITICAL,
    ),
    of_state(
        "DeadwatchTaskFailed",
        _state(catalog.CONNECT_TASK_STATE, "kafka_cluster", "connector", "task", state="FAILED"),
        "Task {task} of connector {connector} is FAILED",
        "Nothing moves through it on cluster {kafka_cluster}, and Connect does not restart it. Read why in "
        "the console, fix the cause, then restart the task.",
        wait="1m",
        severity=Severity.CRITICAL,
    ),
    of_state(
        "DeadwatchTaskWithoutThread",
        _state(catalog.CONNECT_TASK_STATE, "kafka_cluster", "connector", "task", state=THREADLESS),
        "Task {task} of connector {connector} is RUNNING and has no thread",
        "Connect's REST calls it RUNNING on cluster {kafka_cluster}, but no thread of its worker runs it: "
        "nothing moves, and Connect does not restart it. Restart the task.",
        wait="1m",
        severity=Severity.CRITICAL,
    ),
    of_state(
        "DeadwatchConnectorFailed",
        _state(catalog.CONNECT_CONNECTOR_STATE, "kafka_cluster", "connector", state="FAILED"),
        "Connector {connector} is FAILED",
        "On cluster {kafka_cluster} it starts no task and takes no new configuration. Read why in the "
        "console, fix the cause, then restart the connector.",
        wait="1m",
        severity=Severity.CRITICAL,
    ),
    of_state(
        "DeadwatchConnectorNotStarted",
        _state(catalog.CONNECT_CONNECTOR_STATE, "kafka_cluster", "connector", state=_NOT_STARTED),
        "Connector {connector} is not started",
        "On cluster {kafka_cluster} it stays UNASSIGNED or RESTARTING: its start failed, mostly because a "
        "config provider cannot resolve a setting. Read the worker's log, fix it, restart the connector.",
        wait="5m",
    ),
    of_state(
        "DeadwatchTaskNotStarted",
        _state(catalog.CONNECT_TASK_STATE, "kafka_cluster", "connector", "task", state=_NOT_STARTED),
        "Task {task} of connector {connector} is not started",
        "On cluster {kafka_cluster} it stays UNASSIGNED or RESTARTING: its start failed, or no worker takes "
        "it. Read the worker's log, fix the cause, then restart the connector with its tasks.",
        wait="5m",
    ),
    of_state(
        "DeadwatchTaskStalled",
        _state(catalog.CONNECT_TASK_STALLED, "kafka_cluster", "connector", "task"),
        "Task {task} of connector {connector} is RUNNING and does not move",
        "Records of cluster {kafka_cluster} wait for it, and Connect's REST calls it well. Look "
        "at what it waits for, then restart the task.",
        wait="5m",
        severity=Severity.CRITICAL,
    ),
)
