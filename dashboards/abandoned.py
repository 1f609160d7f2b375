"""Abandoned connectors and tasks (KIP-611), and tasks that are stalled or failed."""

from typing import Final

from api.metrics import catalog
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Choice, Row
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    GREEN,
    NEUTRAL,
    RED,
    TIME,
    About,
    AnyPanel,
    Column,
    Page,
    Texts,
    curves,
    number,
    rows,
)

UID: Final = "deadwatch-abandoned"
CONNECTOR: Final = SCOPE.narrowed(connector="$connector")
INSTANCE: Final = ("kafka_cluster", "worker", "connector", "task")


def tasks_now() -> AnyPanel:
    """Tasks that run without an owner."""
    about = About(
        "Abandoned tasks now",
        "Instances of tasks that their worker has let go of and that still run: they hold threads, "
        "connections, locks.",
        Page.ABANDONED,
    )
    return number(about, CONNECTOR.or_zero(CONNECTOR.gauge(catalog.ABANDONED_TASKS).sum()))


def connectors_now() -> AnyPanel:
    """Connectors that run without an owner."""
    about = About(
        "Abandoned connectors now",
        "Instances of connectors that their worker has let go of and that still run.",
        Page.ABANDONED,
    )
    return number(about, CONNECTOR.or_zero(CONNECTOR.gauge(catalog.ABANDONED_CONNECTORS).sum()))


def stalled() -> AnyPanel:
    """Tasks that look well and are not."""
    about = About(
        "Stalled while RUNNING",
        "Tasks that REST calls RUNNING, for which records wait, and in which nothing moves.",
        Page.CONNECT_TASKS,
    )
    return number(about, CONNECTOR.or_zero(CONNECTOR.gauge(catalog.CONNECT_TASK_STALLED).sum()))


def failed() -> AnyPanel:
    """Tasks that REST calls FAILED."""
    about = About(
        "Tasks FAILED", "Tasks whose state is FAILED: read the trace, restart the task.", Page.TASKS
    )
    states = CONNECTOR.gauge(catalog.CONNECT_TASK_STATE, state="FAILED")
    return number(about, CONNECTOR.or_zero(states.sum()))


def over_time() -> AnyPanel:
    """How many, by worker."""
    about = About(
        "Abandoned instances by worker",
        "Those that still run. A worker on which they pile up will run out of threads or memory: restart it.",
        Page.ABANDONED,
        steps=ANY_IS_BAD,
        width=12,
    )
    return curves(
        about,
        CONNECTOR.gauge(catalog.ABANDONED_TASKS).sum("worker", "connector"),
        "{{connector}} (tasks) {{worker}}",
        (
            CONNECTOR.gauge(catalog.ABANDONED_CONNECTORS).sum("worker", "connector"),
            "{{connector}} (connector) {{worker}}",
        ),
    )


def abandonments() -> AnyPanel:
    """When it happened."""
    about = About(
        "Abandonments by connector",
        "Tasks and connectors given up in each rate interval, ended since or not.",
        Page.ABANDONED,
        steps=NEUTRAL,
        width=12,
    )
    return curves(
        about,
        CONNECTOR.grown(catalog.ABANDONED_TASKS_TOTAL).sum("connector").above(0),
        "{{connector}} (tasks)",
        (
            CONNECTOR.grown(catalog.ABANDONED_CONNECTORS_TOTAL).sum("connector").above(0),
            "{{connector}} (connector)",
        ),
        bars=True,
    )


def tasks() -> AnyPanel:
    """Task by task."""
    about = About(
        "Tasks",
        "Instances of each task that still run without an owner, and how often one was abandoned in the "
        "chosen time.",
        Page.ABANDONED,
        steps=NEUTRAL,
        width=14,
    )
    return rows(
        about,
        INSTANCE,
        Column("Abandoned now", CONNECTOR.gauge(catalog.ABANDONED_TASKS).sum(*INSTANCE), steps=ANY_IS_BAD),
        Column("In this time", CONNECTOR.grown(catalog.ABANDONED_TASKS_TOTAL, RANGE).sum(*INSTANCE)),
    )


def connectors() -> AnyPanel:
    """Connector by connector."""
    about = About(
        "Connectors",
        "Instances of each connector that still run without an owner, and abandonments in the chosen time.",
        Page.ABANDONED,
        steps=NEUTRAL,
        width=10,
    )
    labels = ("worker", "connector")
    current = CONNECTOR.gauge(catalog.ABANDONED_CONNECTORS).sum(*labels)
    return rows(
        about,
        labels,
        Column("Abandoned now", current, steps=ANY_IS_BAD),
        Column("In this time", CONNECTOR.grown(catalog.ABANDONED_CONNECTORS_TOTAL, RANGE).sum(*labels)),
    )


def states() -> AnyPanel:
    """What REST says of every task."""
    about = About(
        "States of tasks",
        "How many instances of each task Connect's REST knows in which state. RUNNING may still be stalled.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=9,
    )
    labels = ("kafka_cluster", "connector", "task", "state")
    return rows(about, labels, Column("Instances", CONNECTOR.gauge(catalog.CONNECT_TASK_STATE).sum(*labels)))


def stalls() -> AnyPanel:
    """Which tasks do not move."""
    about = About(
        "Do they move",
        "Whether each task moves what waits for it; the api says since when it does not, and by what sign.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=6,
    )
    labels = ("connector", "task")
    stalled = CONNECTOR.gauge(catalog.CONNECT_TASK_STALLED).max(*labels)
    texts: Texts = {1: ("stalled", RED), 0: ("yes", GREEN)}
    return rows(about, labels, Column("Moves", stalled, texts=texts))


def errors() -> AnyPanel:
    """What tasks ran into before."""
    about = About(
        "Errors of tasks",
        "Operations on records that failed in the chosen time, retries, and when the last error was.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=9,
    )
    labels = ("connector", "task")
    last = CONNECTOR.gauge(catalog.CONNECT_LAST_ERROR).times(1_000).max(*labels)
    return rows(
        about,
        labels,
        Column(
            "Failures", CONNECTOR.grown(catalog.CONNECT_RECORD_FAILURES, RANGE).sum(*labels), steps=ANY_IS_ODD
        ),
        Column("Retries", CONNECTOR.grown(catalog.CONNECT_RETRIES, RANGE).sum(*labels)),
        Column("Last error", last, unit=TIME),
    )


def disagreements() -> AnyPanel:
    """Where two witnesses differ."""
    about = About(
        "Log and threads disagree",
        "Abandoned instances by a worker's threads minus those by its log. For long above 0: the log is not "
        "read "
        "whole. Below: the log does not tell of an end; trust the threads.",
        Page.ABANDONED,
        steps=NEUTRAL,
        width=24,
    )
    difference = CONNECTOR.gauge(catalog.ABANDONED_DISAGREEMENT).max("connector", "task", "figure")
    return curves(about, difference, "{{connector}} {{task}} {{figure}}")


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Abandoned connectors and tasks",
    description="What Connect workers gave up on and what still runs of it (KIP-611); stalled tasks.",
    rows=(
        Row(NOW, (tasks_now(), connectors_now(), stalled(), failed())),
        Row(SINCE_WHEN, (over_time(), abandonments())),
        Row(WHICH, (tasks(), connectors())),
        Row(DETAILS, (states(), stalls(), errors(), disagreements())),
    ),
    choices=(Choice("connector", "Connector", catalog.CONNECT_TASK_STATE, "connector"),),
)
