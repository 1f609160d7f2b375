"""Task timeouts of Kafka Streams (KIP-572): timers that run, timers that expired, threads that died of it."""

from typing import Final

from api.metrics import catalog
from dashboards.delivery_timeouts import client_timeouts
from dashboards.figures import now
from dashboards.frame import RANGE, SCOPE, Board, Choice
from dashboards.panels import ANY_IS_BAD, ANY_IS_ODD, Column, Page, curves, number, rows

APPLICATION: Final = SCOPE.narrowed(application="$application")

BOARD: Final = Board(
    uid="deadwatch-task-timeouts",
    title="Deadwatch / Task timeouts",
    description="Kafka Streams tasks that make no progress: timers, timeouts, dead threads (KIP-572).",
    page=Page.TASKS,
    now=(
        number(
            "Timers running",
            "Tasks for which a call timed out and that made no progress since. In task.timeout.ms each "
            "ends in a timeout.",
            now(APPLICATION, catalog.TASK_TIMERS),
            steps=ANY_IS_ODD,
        ),
    ),
    since_when=(
        curves(
            "Timers by application",
            "Running timers; a level that stays is a stall, one that falls to 0 was outlived.",
            APPLICATION.gauge(catalog.TASK_TIMERS).sum("application"),
            steps=ANY_IS_ODD,
        ),
        curves(
            "Timeouts by application",
            "Task timeouts in each rate interval.",
            APPLICATION.grown(catalog.TASK_TIMEOUTS).sum("application").above(0),
            bars=True,
        ),
    ),
    which=(
        rows(
            "Tasks",
            "Timeouts and corruptions of each task in the chosen time. One task alone: its partition's "
            "leader; all of them: the brokers.",
            ("kafka_cluster", "application", "task"),
            Column("Timeouts", APPLICATION.grown(catalog.TASK_TIMEOUTS, RANGE), steps=ANY_IS_BAD),
            Column("Corrupted", APPLICATION.grown(catalog.TASKS_CORRUPTED, RANGE), steps=ANY_IS_ODD),
        ),
    ),
    details=(
        rows(
            "What handlers decided",
            "Threads that died in the chosen time, by application and decision. SHUTDOWN_CLIENT and "
            "SHUTDOWN_APPLICATION need a restart by somebody.",
            ("application", "decision"),
            Column("Threads", APPLICATION.grown(catalog.STREAM_THREAD_DEATHS, RANGE), steps=ANY_IS_BAD),
        ),
        client_timeouts(
            "Other client timeouts",
            "Timeouts that clients logged in the chosen time, by kind and client: what the stalled call was.",
        ),
    ),
    choices=(Choice("application", "Application", catalog.TASK_TIMERS, "application", unnamed=True),),
)
