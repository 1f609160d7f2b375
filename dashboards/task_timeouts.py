"""Task timeouts of Kafka Streams (KIP-572): timers that run, patience that ended, threads that died of it."""

from typing import Final

from api.metrics import catalog
from dashboards import shared
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Choice, Row
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

UID: Final = "deadwatch-task-timeouts"
APPLICATION: Final = SCOPE.narrowed(application="$application")


def running() -> AnyPanel:
    """Timers that run now."""
    about = About(
        "Timers running",
        "Tasks for which a call timed out and that made no progress since. In task.timeout.ms each ends in "
        "a timeout.",
        Page.TASKS,
        steps=ANY_IS_ODD,
    )
    return number(about, APPLICATION.or_zero(APPLICATION.gauge(catalog.TASK_TIMERS).sum()))


def hits() -> AnyPanel:
    """Timeouts in the chosen time."""
    about = About(
        "Task timeouts", "Tasks without progress within task.timeout.ms, in the chosen time.", Page.TASKS
    )
    return number(about, in_this_time(APPLICATION, catalog.TASK_TIMEOUTS))


def deaths() -> AnyPanel:
    """Threads that ended."""
    about = About(
        "Stream threads died",
        "Threads that an exception ended in the chosen time; unless they were replaced, work stands still.",
        Page.TASKS,
    )
    return number(about, in_this_time(APPLICATION, catalog.STREAM_THREAD_DEATHS))


def corrupted() -> AnyPanel:
    """Tasks restored from scratch."""
    about = About(
        "Tasks corrupted",
        "Tasks closed as dirty and restored from scratch in the chosen time: the stall under exactly-once.",
        Page.TASKS,
        steps=ANY_IS_ODD,
    )
    return number(about, in_this_time(APPLICATION, catalog.TASKS_CORRUPTED))


def timers_over_time() -> AnyPanel:
    """Which application waits, and since when."""
    about = About(
        "Timers by application",
        "Running timers; a level that stays is a stall, one that falls to 0 was outlived.",
        Page.TASKS,
        steps=ANY_IS_ODD,
        width=12,
    )
    return curves(about, APPLICATION.gauge(catalog.TASK_TIMERS).sum("application"), "{{application}}")


def hits_over_time() -> AnyPanel:
    """When patience ended."""
    about = About(
        "Timeouts by application", "Task timeouts in each rate interval.", Page.TASKS, steps=NEUTRAL, width=12
    )
    grown = APPLICATION.grown(catalog.TASK_TIMEOUTS).sum("application").above(0)
    return curves(about, grown, "{{application}}", bars=True)


def tasks() -> AnyPanel:
    """Task by task."""
    about = About(
        "Tasks",
        "Timeouts and corruptions of each task in the chosen time. One task alone: its partition's leader; "
        "all "
        "of them: the brokers.",
        Page.TASKS,
        steps=NEUTRAL,
        width=24,
    )
    labels = ("kafka_cluster", "application", "task")
    return rows(
        about,
        labels,
        Column("Timeouts", APPLICATION.grown(catalog.TASK_TIMEOUTS, RANGE).sum(*labels), steps=ANY_IS_BAD),
        Column("Corrupted", APPLICATION.grown(catalog.TASKS_CORRUPTED, RANGE).sum(*labels), steps=ANY_IS_ODD),
    )


def decisions() -> AnyPanel:
    """What became of the threads."""
    about = About(
        "What handlers decided",
        "Threads that died in the chosen time, by application and decision. SHUTDOWN_CLIENT and "
        "SHUTDOWN_APPLICATION need a restart by somebody.",
        Page.TASKS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("application", "decision")
    died = APPLICATION.grown(catalog.STREAM_THREAD_DEATHS, RANGE).sum(*labels)
    return rows(about, labels, Column("Threads", died, steps=ANY_IS_BAD))


def client_timeouts() -> AnyPanel:
    """Other timeouts of clients at the same time."""
    text = "Timeouts that clients logged in the chosen time, by kind and client: what the stalled call was."
    return shared.client_timeouts("Other client timeouts", text)


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Task timeouts",
    description="Kafka Streams tasks that make no progress: timers, timeouts, dead threads (KIP-572).",
    rows=(
        Row(NOW, (running(), hits(), deaths(), corrupted())),
        Row(SINCE_WHEN, (timers_over_time(), hits_over_time())),
        Row(WHICH, (tasks(),)),
        Row(DETAILS, (decisions(), client_timeouts())),
    ),
    choices=(Choice("application", "Application", catalog.TASK_TIMERS, "application"),),
)
