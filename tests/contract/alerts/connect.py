"""Connect: what was abandoned, what is stalled."""

from tests.contract.alerts.case import TASK, Case, counter, gauge

CONNECTOR = 'kafka_cluster="c", worker="w", connector="n"'
ABANDONED = f"deadwatch_connect_abandoned_tasks{{{TASK}}}"
ABANDONED_TOTAL = f"deadwatch_connect_abandoned_tasks_total{{{TASK}}}"
NO_WORKERS_TOTAL = ABANDONED_TOTAL.replace('worker="w"', 'worker=""')
CONNECTORS = f"deadwatch_connect_abandoned_connectors{{{CONNECTOR}}}"
CONNECTORS_TOTAL = f"deadwatch_connect_abandoned_connectors_total{{{CONNECTOR}}}"
STALLED = 'deadwatch_connect_task_stalled{kafka_cluster="c", connector="n", task="0"}'
STATE = f'deadwatch_connect_task_state{{{TASK}, state="FAILED"}}'
RUNNING = STATE.replace("FAILED", "RUNNING")
THREADLESS = f'deadwatch_connect_task_state{{{TASK}, state="RUNNING_WITHOUT_THREAD"}}'
UNASSIGNED = f'deadwatch_connect_connector_state{{{CONNECTOR}, state="UNASSIGNED"}}'
RESTARTING = f'deadwatch_connect_task_state{{{TASK}, state="RESTARTING"}}'
CONNECTOR_STATE = f'deadwatch_connect_connector_state{{{CONNECTOR}, state="FAILED"}}'
OF_TASK = {"kafka_cluster": "c", "worker": "w", "connector": "n", "task": "0"}
OF_CONNECTOR = {"kafka_cluster": "c", "connector": "n"}

CASES: dict[str, list[Case]] = {
    "DeadwatchAbandonedGrowing": [
        *counter(ABANDONED_TOTAL, OF_CONNECTOR, "5 instances of connector n were abandoned within the hour"),
        Case(
            "adds tasks and connectors",
            {ABANDONED_TOTAL: "_x9 2x60", CONNECTORS_TOTAL: "_x9 1x60"},
            "11m",
            OF_CONNECTOR,
            "3",
            "3 instances of connector n were abandoned within the hour",
        ),
        Case(
            "is silent where old log lines belong to no worker any more, as a second one is known",
            {ABANDONED_TOTAL: "5x99 0x60", NO_WORKERS_TOTAL: "_x99 5x60"},
            "110m",
        ),
        Case(
            "counts what is new among them",
            {ABANDONED_TOTAL: "5x99 0x60", NO_WORKERS_TOTAL: "_x99 8x60"},
            "110m",
            OF_CONNECTOR,
            "3",
        ),
        Case("bears two", {ABANDONED_TOTAL: "_x9 2x60"}, "11m"),
    ],
    "DeadwatchTaskAbandoned": gauge(
        ABANDONED, OF_TASK, "2", "Task 0 of connector n was abandoned and still runs", wait_m=5
    ),
    "DeadwatchConnectorAbandoned": gauge(
        CONNECTORS,
        {"kafka_cluster": "c", "worker": "w", "connector": "n"},
        "1",
        "Connector n was abandoned and still runs",
        wait_m=5,
    ),
    "DeadwatchTaskFailed": [
        *gauge(
            STATE,
            {"kafka_cluster": "c", "connector": "n", "task": "0"},
            "1",
            "Task 0 of connector n is FAILED",
            wait_m=1,
            lasts=True,
        ),
        Case("is over once it runs", {STATE: "_x9 1 stale", RUNNING: "_x10 1x60"}, "11m"),
    ],
    "DeadwatchTaskWithoutThread": gauge(
        THREADLESS,
        {"kafka_cluster": "c", "connector": "n", "task": "0"},
        "1",
        "Task 0 of connector n is RUNNING and has no thread",
        wait_m=1,
        lasts=True,
    ),
    "DeadwatchConnectorFailed": gauge(
        CONNECTOR_STATE,
        {"kafka_cluster": "c", "connector": "n"},
        "1",
        "Connector n is FAILED",
        wait_m=1,
        lasts=True,
    ),
    "DeadwatchConnectorNotStarted": gauge(
        UNASSIGNED,
        {"kafka_cluster": "c", "connector": "n"},
        "1",
        "Connector n is not started",
        wait_m=5,
        lasts=True,
    ),
    "DeadwatchTaskNotStarted": [
        *gauge(
            RESTARTING,
            {"kafka_cluster": "c", "connector": "n", "task": "0"},
            "1",
            "Task 0 of connector n is not started",
            wait_m=5,
            lasts=True,
        ),
        Case(
            "is silent on one that starts again and again",
            {RESTARTING: 10 * "1 stale _ ", RUNNING: 10 * "stale 1 1 "},
            "20m",
        ),
    ],
    "DeadwatchTaskStalled": gauge(
        STALLED,
        {"kafka_cluster": "c", "connector": "n", "task": "0"},
        "1",
        "Task 0 of connector n is RUNNING and does not move",
        wait_m=5,
        lasts=True,
    ),
}
