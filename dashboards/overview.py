"""The first screen: everything that is dead, late or abandoned now, worst first, and where to look next."""

from typing import Final

from api.metrics import catalog
from dashboards import counts, shared
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Row
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    NEUTRAL,
    About,
    AnyPanel,
    Column,
    Page,
    curves,
    number,
    rows,
)
from dashboards.shared import in_this_time

UID: Final = "deadwatch-overview"


def waiting() -> AnyPanel:
    """Dead letters nobody has handled."""
    about = About(
        "Dead letters waiting",
        "Records on dead letter topics that were neither put back nor parked by a redrive.",
        Page.GROUPS,
        width=4,
    )
    return number(about, SCOPE.or_zero(counts.unhandled(SCOPE).sum()))


def lost() -> AnyPanel:
    """Dead letters nobody can handle any more."""
    about = About(
        "Dead letters lost",
        "In the chosen time: dead letters that could not be written. They are on no topic.",
        Page.OVERVIEW,
        width=4,
    )
    return number(about, shared.lost())


def abandoned() -> AnyPanel:
    """Instances that still run without an owner."""
    about = About(
        "Abandoned and still running",
        "Connectors and tasks that their Connect worker has let go of and that still hold threads and locks.",
        Page.ABANDONED,
        width=4,
    )
    tasks = SCOPE.or_zero(SCOPE.gauge(catalog.ABANDONED_TASKS).sum())
    connectors = SCOPE.or_zero(SCOPE.gauge(catalog.ABANDONED_CONNECTORS).sum())
    return number(about, tasks.plus(connectors))


def stalled() -> AnyPanel:
    """Tasks that look well and are not."""
    about = About(
        "Stalled while RUNNING",
        "Connect tasks that REST calls RUNNING, for which records wait, and in which nothing moves.",
        Page.CONNECT_TASKS,
        width=4,
    )
    return number(about, SCOPE.or_zero(SCOPE.gauge(catalog.CONNECT_TASK_STALLED).sum()))


def timeouts() -> AnyPanel:
    """Streams tasks out of patience."""
    about = About(
        "Task timeouts",
        "In the chosen time: Kafka Streams tasks without progress within task.timeout.ms; each ends a "
        "stream thread.",
        Page.TASKS,
        width=4,
    )
    return number(about, in_this_time(SCOPE, catalog.TASK_TIMEOUTS))


def expired() -> AnyPanel:
    """Records a producer gave up."""
    about = About(
        "Deliveries expired",
        "In the chosen time: records that producers gave up after delivery.timeout.ms.",
        Page.DELIVERY_TIMEOUTS,
        width=4,
    )
    return number(about, in_this_time(SCOPE, catalog.DELIVERY_TIMEOUT_RECORDS))


def failures() -> AnyPanel:
    """When each kind happened."""
    about = About(
        "What failed, and when",
        "Dead letters, expired records, task timeouts and abandonments in each rate interval.",
        Page.OVERVIEW,
        steps=NEUTRAL,
        width=16,
    )
    return curves(
        about,
        SCOPE.grown(catalog.DEAD_LETTERS).sum().above(0),
        "dead letters",
        (SCOPE.grown(catalog.DELIVERY_TIMEOUT_RECORDS).sum().above(0), "expired records"),
        (SCOPE.grown(catalog.TASK_TIMEOUTS).sum().above(0), "task timeouts"),
        (SCOPE.grown(catalog.ABANDONED_TASKS_TOTAL).sum().above(0), "abandoned tasks"),
        (SCOPE.grown(catalog.ABANDONED_CONNECTORS_TOTAL).sum().above(0), "abandoned connectors"),
        bars=True,
    )


def still_wrong() -> AnyPanel:
    """What goes on."""
    about = About(
        "What still is wrong",
        "Levels over time: dead letters waiting, abandoned tasks still running, task timers running.",
        Page.OVERVIEW,
        steps=NEUTRAL,
        width=8,
    )
    return curves(
        about,
        SCOPE.or_zero(counts.unhandled(SCOPE).sum()),
        "dead letters waiting",
        (SCOPE.or_zero(SCOPE.gauge(catalog.ABANDONED_TASKS).sum()), "abandoned tasks"),
        (SCOPE.or_zero(SCOPE.gauge(catalog.TASK_TIMERS).sum()), "task timers"),
    )


def topics() -> AnyPanel:
    """Where dead letters are."""
    about = About(
        "Dead letter topics",
        "Topics on which records wait, most first. The dashboard of dead letters tells causes.",
        Page.TOPICS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "dlq_topic")
    return rows(
        about,
        labels,
        Column("Waiting", counts.unhandled(SCOPE).sum(*labels), steps=ANY_IS_ODD),
        Column("New in this time", SCOPE.grown(catalog.DEAD_LETTERS, RANGE).sum(*labels)),
    )


def connectors() -> AnyPanel:
    """Which task is not well."""
    about = About(
        "Connect tasks, worst first",
        "Tasks with abandoned instances, then the others; 0 in both columns: it is well.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "connector", "task")
    return rows(
        about,
        labels,
        Column("Abandoned now", SCOPE.gauge(catalog.ABANDONED_TASKS).sum(*labels), steps=ANY_IS_BAD),
        Column("Stalled", SCOPE.gauge(catalog.CONNECT_TASK_STALLED).sum(*labels), steps=ANY_IS_BAD),
    )


def findings() -> AnyPanel:
    """Configurations that will lose records."""
    about = About(
        "Findings",
        "Configurations that would lose or strand records. The api says what to change, as a command.",
        Page.FINDINGS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "kind", "subject")
    return rows(about, labels, Column("Holds", SCOPE.gauge(catalog.FINDINGS).max(*labels), steps=ANY_IS_ODD))


def sources() -> AnyPanel:
    """What is not seen."""
    text = "Every source, the ones that are down first: what happens there is not seen."
    return shared.sources("What Deadwatch watches", text, Page.READINESS)


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Overview",
    description="What is dead, late or abandoned now; the other dashboards tell more of each.",
    rows=(
        Row(NOW, (waiting(), lost(), abandoned(), stalled(), timeouts(), expired())),
        Row(SINCE_WHEN, (failures(), still_wrong())),
        Row(WHICH, (topics(), connectors())),
        Row(DETAILS, (findings(), sources())),
    ),
)
