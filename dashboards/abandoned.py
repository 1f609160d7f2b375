"""Abandoned connectors and tasks (KIP-611), and tasks that are stalled or failed."""

from typing import Final

from api.metrics import catalog
from dashboards.figures import now
from dashboards.frame import RANGE, SCOPE, Board, Choice
from dashboards.panels import ANY_IS_BAD, ANY_IS_ODD, GREEN, RED, TIME, Column, Page, curves, number, rows

CONNECTOR: Final = SCOPE.narrowed(connector="$connector")
BY_TASK: Final = ("connector", "task")

BOARD: Final = Board(
    uid="deadwatch-abandoned",
    title="Deadwatch / Abandoned connectors and tasks",
    description="What Connect workers gave up on and what still runs of it (KIP-611); stalled tasks.",
    page=Page.ABANDONED,
    now=(
        number(
            "Abandoned tasks now",
            "Instances of tasks that their worker has let go of and that still run: they hold threads, "
            "connections, locks.",
            now(CONNECTOR, catalog.ABANDONED_TASKS),
        ),
        number(
            "Abandoned connectors now",
            "Instances of connectors that their worker has let go of and that still run.",
            now(CONNECTOR, catalog.ABANDONED_CONNECTORS),
        ),
        number(
            "Stalled while RUNNING",
            "Tasks that REST calls RUNNING, for which records wait, and in which nothing moves.",
            now(CONNECTOR, catalog.CONNECT_TASK_STALLED),
            page=Page.CONNECT_TASKS,
        ),
        number(
            "Tasks FAILED",
            "Tasks whose state is FAILED: read the trace, restart the task.",
            now(CONNECTOR, catalog.CONNECT_TASK_STATE, state="FAILED"),
            page=Page.TASKS,
        ),
        number(
            "Connectors FAILED",
            "Connectors whose own state is FAILED: read the trace, restart the connector.",
            now(CONNECTOR, catalog.CONNECT_CONNECTOR_STATE, state="FAILED"),
            page=Page.TASKS,
        ),
    ),
    since_when=(
        curves(
            "Abandoned instances by worker",
            "Those that still run. A worker on which they pile up will run out of threads or memory: "
            "restart it.",
            (
                CONNECTOR.gauge(catalog.ABANDONED_TASKS).sum("worker", "connector"),
                "{{connector}} (tasks) {{worker}}",
            ),
            (
                CONNECTOR.gauge(catalog.ABANDONED_CONNECTORS).sum("worker", "connector"),
                "{{connector}} (connector) {{worker}}",
            ),
            steps=ANY_IS_BAD,
        ),
        curves(
            "Abandonments by connector",
            "Tasks and connectors given up in each rate interval, ended since or not.",
            (
                CONNECTOR.grown(catalog.ABANDONED_TASKS_TOTAL).sum("connector").above(0),
                "{{connector}} (tasks)",
            ),
            (
                CONNECTOR.grown(catalog.ABANDONED_CONNECTORS_TOTAL).sum("connector").above(0),
                "{{connector}} (connector)",
            ),
            bars=True,
        ),
    ),
    which=(
        rows(
            "Tasks",
            "Instances of each task that still run without an owner, and how often one was abandoned in "
            "the chosen time.",
            ("kafka_cluster", "worker", "connector", "task"),
            Column("Abandoned now", CONNECTOR.gauge(catalog.ABANDONED_TASKS), steps=ANY_IS_BAD),
            Column("In this time", CONNECTOR.grown(catalog.ABANDONED_TASKS_TOTAL, RANGE)),
            width=14,
        ),
        rows(
            "Connectors",
            "Instances of each connector that still run without an owner, and abandonments in the "
            "chosen time.",
            ("worker", "connector"),
            Column("Abandoned now", CONNECTOR.gauge(catalog.ABANDONED_CONNECTORS), steps=ANY_IS_BAD),
            Column("In this time", CONNECTOR.grown(catalog.ABANDONED_CONNECTORS_TOTAL, RANGE)),
        ),
    ),
    details=(
        rows(
            "States of tasks",
            "How many instances of each task Connect's REST knows in which state. RUNNING may still be "
            "stalled.",
            ("kafka_cluster", "connector", "task", "state"),
            Column("Instances", CONNECTOR.gauge(catalog.CONNECT_TASK_STATE)),
            page=Page.CONNECT_TASKS,
        ),
        rows(
            "Do they move",
            "Whether each task moves what waits for it; the api says since when it does not, and by "
            "what sign.",
            BY_TASK,
            Column(
                "Moves",
                CONNECTOR.gauge(catalog.CONNECT_TASK_STALLED).max(*BY_TASK),
                texts={1: ("stalled", RED), 0: ("yes", GREEN)},
            ),
            width=6,
            page=Page.CONNECT_TASKS,
        ),
        rows(
            "Errors of tasks",
            "Operations on records that failed in the chosen time, retries, and when the last error was.",
            BY_TASK,
            Column("Failures", CONNECTOR.grown(catalog.CONNECT_RECORD_FAILURES, RANGE), steps=ANY_IS_ODD),
            Column("Retries", CONNECTOR.grown(catalog.CONNECT_RETRIES, RANGE)),
            Column(
                "Last error", CONNECTOR.gauge(catalog.CONNECT_LAST_ERROR).times(1000).max(*BY_TASK), unit=TIME
            ),
            page=Page.CONNECT_TASKS,
        ),
        curves(
            "Log and threads disagree",
            "Abandoned instances by a worker's threads minus those by its log. For long above 0: the "
            "log is not read whole. Below: the log does not tell of an end; trust the threads.",
            (
                CONNECTOR.gauge(catalog.ABANDONED_DISAGREEMENT).max("connector", "task", "figure"),
                "{{connector}} {{task}} {{figure}}",
            ),
            width=24,
        ),
    ),
    choices=(Choice("connector", "Connector", catalog.CONNECT_TASK_STATE, "connector"),),
)
