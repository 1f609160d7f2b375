"""Connect: what was abandoned, what is stalled."""

from tests.contract.alerts.case import OF_CONNECTOR, TASK, Case, Firing, counter, gauge

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
ONE_TASK = {**OF_CONNECTOR, "task": "0"}
GROWING = Firing(OF_CONNECTOR, "{} instances of connector n were abandoned within the hour")

CASES: dict[str, list[Case]] = {
    "DeadwatchAbandonedGrowing": [
        *counter(ABANDONED_TOTAL, GROWING),
        GROWING.case(
            "adds tasks and connectors",
            {ABANDONED_TOTAL: "_x9 2x60", CONNECTORS_TOTAL: "_x9 1x60"},
            "11m",
            "3",
        ),
        Case(
            "is silent where old log lines belong to no worker any more, as a second one is known",
            {ABANDONED_TOTAL: "5x99 0x60", NO_WORKERS_TOTAL: "_x99 5x60"},
            "110m",
        ),
        GROWING.case(
            "counts what is new among them",
            {ABANDONED_TOTAL: "5x99 0x60", NO_WORKERS_TOTAL: "_x99 8x60"},
            "110m",
            "3",
        ),
        Case("bears two", {ABANDONED_TOTAL: "_x9 2x60"}, "11m"),
    ],
    "DeadwatchTaskAbandoned": gauge(
        ABANDONED,
        Firing({**ONE_TASK, "worker": "w"}, "Task 0 of connector n was abandoned and still runs"),
        "2",
    ),
    "DeadwatchConnectorAbandoned": gauge(
        CONNECTORS, Firing({**OF_CONNECTOR, "worker": "w"}, "Connector n was abandoned and still runs")
    ),
    "DeadwatchTaskFailed": [
        *gauge(STATE, Firing(ONE_TASK, "Task 0 of connector n is FAILED"), wait_m=1, lasts=True),
        Case("is over once it runs", {STATE: "_x9 1 stale", RUNNING: "_x10 1x60"}, "11m"),
    ],
    "DeadwatchTaskWithoutThread": gauge(
        THREADLESS,
        Firing(ONE_TASK, "Task 0 of connector n is RUNNING and has no thread"),
        wait_m=1,
        lasts=True,
    ),
    "DeadwatchConnectorFailed": gauge(
        CONNECTOR_STATE, Firing(OF_CONNECTOR, "Connector n is FAILED"), wait_m=1, lasts=True
    ),
    "DeadwatchConnectorNotStarted": gauge(
        UNASSIGNED, Firing(OF_CONNECTOR, "Connector n is not started"), lasts=True
    ),
    "DeadwatchTaskNotStarted": [
        *gauge(RESTARTING, Firing(ONE_TASK, "Task 0 of connector n is not started"), lasts=True),
        Case(
            "is silent on one that starts again and again",
            {RESTARTING: 10 * "1 stale _ ", RUNNING: 10 * "stale 1 1 "},
            "20m",
        ),
    ],
    "DeadwatchTaskStalled": gauge(
        STALLED, Firing(ONE_TASK, "Task 0 of connector n is RUNNING and does not move"), lasts=True
    ),
}
