"""Alerts on Connect: instances that were abandoned, tasks that are stalled."""

from typing import Final

from api.metrics import catalog
from dashboards import abandoned as board
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import COUNT, Alert, Knobs
from dashboards.rules.values import Severity

TASK: Final = ("kafka_cluster", "worker", "connector", "task")
CONNECTOR: Final = ("kafka_cluster", "worker", "connector")
WORKER: Final = ("kafka_cluster", "worker")


def _task(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.ABANDONED_TASKS).sum(*TASK).above(knobs.threshold)


def _connector(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.ABANDONED_CONNECTORS).sum(*CONNECTOR).above(knobs.threshold)


def _growing(scope: Scope, knobs: Knobs) -> Expr:
    tasks = scope.grown(catalog.ABANDONED_TASKS_TOTAL, knobs.window)
    connectors = scope.grown(catalog.ABANDONED_CONNECTORS_TOTAL, knobs.window)
    return tasks.beside(connectors, *WORKER).above(knobs.threshold)


def _stalled(scope: Scope, knobs: Knobs) -> Expr:
    stalled = scope.gauge(catalog.CONNECT_TASK_STALLED).max("kafka_cluster", "connector", "task")
    return stalled.above(knobs.threshold)


ALERTS: Final = (
    Alert(
        "DeadwatchTaskAbandoned",
        Severity.WARNING,
        _task,
        "Task {{ $labels.task }} of connector {{ $labels.connector }} was abandoned and still runs",
        f"{COUNT} instances of it on worker {{{{ $labels.worker }}}} of cluster {{{{ $labels.kafka_cluster "
        f"}}}} hold "
        "threads, connections and locks that nobody owns. Find what blocks them, or restart the worker.",
        board.UID,
        wait="5m",
    ),
    Alert(
        "DeadwatchConnectorAbandoned",
        Severity.WARNING,
        _connector,
        "Connector {{ $labels.connector }} was abandoned and still runs",
        f"{COUNT} instances of it on worker {{{{ $labels.worker }}}} of cluster {{{{ $labels.kafka_cluster "
        f"}}}} hold "
        "resources that nobody owns. Correct or remove the connector, then restart the worker.",
        board.UID,
        wait="5m",
    ),
    Alert(
        "DeadwatchAbandonedGrowing",
        Severity.CRITICAL,
        _growing,
        f"Worker {{{{ $labels.worker }}}} abandoned {COUNT} instances within the hour",
        "Connectors or tasks of cluster {{ $labels.kafka_cluster }} do not stop when they are told to, "
        "again and "
        "again. The worker will run out of threads or memory: find the connector, then restart the worker.",
        board.UID,
        threshold=2,
        window="1h",
    ),
    Alert(
        "DeadwatchTaskStalled",
        Severity.CRITICAL,
        _stalled,
        "Task {{ $labels.task }} of connector {{ $labels.connector }} is RUNNING and does not move",
        "Records of cluster {{ $labels.kafka_cluster }} wait for it, and Connect's REST calls it well. Look "
        "at what "
        "it waits for, then restart the task.",
        board.UID,
        wait="5m",
    ),
)
