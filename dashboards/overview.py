"""The first screen: everything that is dead, late or abandoned now, worst first, and where to look next."""

from typing import Final

from api.metrics import catalog
from dashboards import figures
from dashboards.figures import in_this_time, now
from dashboards.frame import RANGE, SCOPE, Board
from dashboards.panels import ANY_IS_BAD, ANY_IS_ODD, Column, Page, curves, number, rows
from dashboards.self_monitoring import sources

BY_FINDING: Final = ("kafka_cluster", "kind", "subject")

BOARD: Final = Board(
    uid="deadwatch-overview",
    title="Deadwatch / Overview",
    description="What is dead, late or abandoned now; the other dashboards tell more of each.",
    page=Page.OVERVIEW,
    now=(
        number(
            "Dead letters waiting",
            "Records on dead letter topics that were neither put back nor parked by a redrive.",
            SCOPE.or_zero(figures.unhandled(SCOPE).sum()),
            page=Page.GROUPS,
        ),
        number(
            "Dead letters lost",
            "In the chosen time: dead letters that could not be written. They are on no topic.",
            figures.lost(),
        ),
        number(
            "Abandoned and still running",
            "Connectors and tasks that their Connect worker has let go of and that still hold threads "
            "and locks.",
            now(SCOPE, catalog.ABANDONED_TASKS).plus(now(SCOPE, catalog.ABANDONED_CONNECTORS)),
            page=Page.ABANDONED,
        ),
        number(
            "Stalled while RUNNING",
            "Connect tasks that REST calls RUNNING, for which records wait, and in which nothing moves.",
            now(SCOPE, catalog.CONNECT_TASK_STALLED),
            page=Page.CONNECT_TASKS,
        ),
        number(
            "Task timeouts",
            "In the chosen time: Kafka Streams tasks without progress within task.timeout.ms; each ends "
            "a stream thread.",
            in_this_time(SCOPE, catalog.TASK_TIMEOUTS),
            page=Page.TASKS,
        ),
        number(
            "Deliveries expired",
            "In the chosen time: records that producers gave up after delivery.timeout.ms.",
            in_this_time(SCOPE, catalog.DELIVERY_TIMEOUT_RECORDS),
            page=Page.DELIVERY_TIMEOUTS,
        ),
    ),
    since_when=(
        curves(
            "What failed, and when",
            "Dead letters, expired records, task timeouts and abandonments in each rate interval.",
            (SCOPE.grown(catalog.DEAD_LETTERS).sum().above(0), "dead letters"),
            (SCOPE.grown(catalog.DELIVERY_TIMEOUT_RECORDS).sum().above(0), "expired records"),
            (SCOPE.grown(catalog.TASK_TIMEOUTS).sum().above(0), "task timeouts"),
            (SCOPE.grown(catalog.ABANDONED_TASKS_TOTAL).sum().above(0), "abandoned tasks"),
            (SCOPE.grown(catalog.ABANDONED_CONNECTORS_TOTAL).sum().above(0), "abandoned connectors"),
            width=16,
            bars=True,
        ),
        curves(
            "What still is wrong",
            "Levels over time: dead letters waiting, abandoned tasks still running, task timers running.",
            (SCOPE.or_zero(figures.unhandled(SCOPE).sum()), "dead letters waiting"),
            (now(SCOPE, catalog.ABANDONED_TASKS), "abandoned tasks"),
            (now(SCOPE, catalog.TASK_TIMERS), "task timers"),
        ),
    ),
    which=(
        rows(
            "Dead letter topics",
            "Topics on which records wait, most first. The dashboard of dead letters tells causes.",
            ("kafka_cluster", "dlq_topic"),
            Column("Waiting", figures.unhandled(SCOPE), steps=ANY_IS_ODD),
            Column("New in this time", SCOPE.grown(catalog.DEAD_LETTERS, RANGE)),
            page=Page.TOPICS,
        ),
        rows(
            "Connect tasks, worst first",
            "Tasks with abandoned instances, then the others; 0 in both columns: it is well.",
            ("kafka_cluster", "connector", "task"),
            Column("Abandoned now", SCOPE.gauge(catalog.ABANDONED_TASKS), steps=ANY_IS_BAD),
            Column("Stalled", SCOPE.gauge(catalog.CONNECT_TASK_STALLED), steps=ANY_IS_BAD),
            page=Page.CONNECT_TASKS,
        ),
    ),
    details=(
        rows(
            "Findings",
            "Configurations that would lose or strand records. The api says what to change, as a command.",
            BY_FINDING,
            Column("Holds", SCOPE.gauge(catalog.FINDINGS).max(*BY_FINDING), steps=ANY_IS_ODD),
            page=Page.FINDINGS,
        ),
        sources(
            "What Deadwatch watches",
            "Every source, the ones that are down first: what happens there is not seen.",
            Page.READINESS,
        ),
    ),
)
