"""Connect: what was abandoned, what is stalled."""

from tests.contract.alerts.case import TASK, Case, counter, gauge

CONNECTOR = 'kafka_cluster="c", worker="w", connector="n"'
ABANDONED = f"deadwatch_connect_abandoned_tasks{{{TASK}}}"
ABANDONED_TOTAL = f"deadwatch_connect_abandoned_tasks_total{{{TASK}}}"
CONNECTORS = f"deadwatch_connect_abandoned_connectors{{{CONNECTOR}}}"
CONNECTORS_TOTAL = f"deadwatch_connect_abandoned_connectors_total{{{CONNECTOR}}}"
STALLED = 'deadwatch_connect_task_stalled{kafka_cluster="c", connector="n", task="0"}'
OF_TASK = {"kafka_cluster": "c", "worker": "w", "connector": "n", "task": "0"}

CASES: list[Case] = [
    *counter(
        "DeadwatchAbandonedGrowing",
        ABANDONED_TOTAL,
        {"kafka_cluster": "c", "worker": "w"},
        "Worker w abandoned 5 instances within the hour",
    ),
    Case(
        "DeadwatchAbandonedGrowing",
        "adds tasks and connectors",
        {ABANDONED_TOTAL: "_x9 2x60", CONNECTORS_TOTAL: "_x9 1x60"},
        "11m",
        {"kafka_cluster": "c", "worker": "w"},
        "3",
        "Worker w abandoned 3 instances within the hour",
    ),
    Case("DeadwatchAbandonedGrowing", "bears two", {ABANDONED_TOTAL: "_x9 2x60"}, "11m"),
    *gauge(
        "DeadwatchTaskAbandoned",
        ABANDONED,
        OF_TASK,
        "2",
        "Task 0 of connector n was abandoned and still runs",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchConnectorAbandoned",
        CONNECTORS,
        {"kafka_cluster": "c", "worker": "w", "connector": "n"},
        "1",
        "Connector n was abandoned and still runs",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchTaskStalled",
        STALLED,
        {"kafka_cluster": "c", "connector": "n", "task": "0"},
        "1",
        "Task 0 of connector n is RUNNING and does not move",
        wait_m=5,
    ),
]
