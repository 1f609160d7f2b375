"""Timers that start, end, fall silent: what the store makes of what the logs of Streams say."""

from dataclasses import replace
from functools import reduce
from typing import Any

import pytest

from deadwatch.contract.events import Event, TaskTimerEnded, TaskTimerStarted
from deadwatch.store import schema
from deadwatch.store.batch import AHEAD_MS
from deadwatch.store.store import Store
from deadwatch.store.write import task_timers
from deadwatch.store.write.states import States
from deadwatch.store.write.task_timers import SILENT_MS, following
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import Rows, apply, origin

store, rows = suite.store, suite.rows
CLIENT = "app-1"
THREAD = f"{CLIENT}-StreamThread-1"
OTHER = f"{CLIENT}-StreamThread-2"
LINE: dict[str, Any] = {"application": "app", "streams_client": CLIENT, "message": "a log line"}
EMPTY: States = {}


def started(
    at_ms: int, task: str = "0_1", call: str = "process", *, thread: str = THREAD, remaining_ms: int = -1
) -> TaskTimerStarted:
    line = {**origin("log:a", at_ms), **LINE}
    return TaskTimerStarted(**line, thread=thread, task=task, call=call, remaining_ms=remaining_ms)


def ended(at_ms: int, reason: str, task: str = "", *, thread: str = THREAD) -> TaskTimerEnded:
    return TaskTimerEnded(**origin("log:a", at_ms), **LINE, thread=thread, task=task, reason=reason)


HIT = replace(ended(5, "timeout", "0_1", thread=""), streams_client="")


Running = tuple[tuple[str, str, int, int], ...]
"""Task or thread, call, since, deadline."""
SAME: Running = (("0_1", "process", 1, 0),)
CASES: dict[str, tuple[tuple[Event, ...], Running]] = {
    "a call that times out starts the timer": ((started(1),), SAME),
    "logged again it is the same": ((started(1), started(1), started(9)), SAME),
    "the call that started it stays": (
        (started(1, call="init"), started(9, call="commit")),
        (("0_1", "init", 1, 0),),
    ),
    "a call that is logged after its timer is its call": (
        (started(1, call="", remaining_ms=3_000), started(2)),
        (("0_1", "process", 1, 3_001),),
    ),
    "the deadline is that of the latest word": (
        (started(1, remaining_ms=3_000), started(1_001, remaining_ms=1_990)),
        (("0_1", "process", 1, 2_991),),
    ),
    "progress ends it": ((started(1), ended(5, "progress", "0_1")), ()),
    "and the next start is another one": (
        (started(1), ended(5, "progress", "0_1"), started(9)),
        (("0_1", "process", 9, 0),),
    ),
    "progress of another task is none": ((started(1), ended(5, "progress", "0_0")), SAME),
    "a timeout ends it, whoever logs it": ((started(1), HIT), ()),
    "a timeout in another application does not": ((started(1), replace(HIT, application="b")), SAME),
    "a timeout in another cluster does not": ((started(1), replace(HIT, kafka_cluster="d")), SAME),
    "a corrupted task begins anew": ((started(1), ended(5, "corrupted", "0_1")), ()),
    "tasks that are revived had failed to commit": (
        (started(1, "0_0", "commit"), started(1), ended(2, "revived")),
        SAME,
    ),
    "a thread that runs has brought up its tasks": (
        (started(1, "0_0", "committed_offsets"), started(1, "", "init"), started(1), ended(2, "running")),
        SAME,
    ),
    "a thread that has ended takes its own timers with it": (
        (started(1), started(1, "0_0", thread=OTHER), started(1, "", "init"), ended(2, "closed")),
        (("0_0", "process", 1, 0),),
    ),
    "a client that has ended takes all of them": (
        (started(1), started(1, "0_0", thread=OTHER), ended(2, "closed", thread=CLIENT)),
        (),
    ),
    "at the end of the silence it is the same": ((started(1), started(1 + SILENT_MS)), SAME),
    "a line that comes late does not bring the silence forward": (
        (started(1), started(9), started(5), started(9 + SILENT_MS)),
        SAME,
    ),
    "after the silence it is another one": (
        (started(1, call="init", remaining_ms=5), started(2 + SILENT_MS)),
        (("0_1", "process", 2 + SILENT_MS, 0),),
    ),
    "a time that lies ahead is not believed": (
        (replace(started(7), happened_at_ms=2**60), started(8)),
        (("0_1", "process", 7, 0),),
    ),
    "an end without a beginning is nothing": ((HIT, ended(1, "closed")), ()),
    "threads that name no task are apart": (
        (started(1, ""), started(2, "", thread=OTHER)),
        ((THREAD, "process", 1, 0), (OTHER, "process", 2, 0)),
    ),
}


@pytest.mark.parametrize(("events", "running"), CASES.values(), ids=CASES)
def test_which_timers_run(events: tuple[Event, ...], running: Running) -> None:
    after = reduce(following, events, EMPTY)
    found = [
        (key[2] or key[3], timer["call"], timer["since_ms"], timer["deadline_ms"])
        for key, timer in after.items()
        if timer["running"]
    ]
    assert tuple(found) == running


def test_a_timer_lives_through_batches_and_is_forgotten_a_day_after(store: Store, rows: Rows) -> None:
    apply(store, started(1), started(1, "0_0"))
    apply(store, ended(2, "progress", "0_0"))
    assert rows(schema.task_timers, "task running") == [("0_0", False), ("0_1", True)]
    apply(store, started(2 + task_timers.KEPT_MS, "0_2"))
    assert rows(schema.task_timers, "task running") == [("0_2", True)]


def test_a_clock_that_is_ahead_deletes_no_timer_of_another_application(store: Store, rows: Rows) -> None:
    apply(store, started(1))
    ahead = replace(started(2 + 2 * task_timers.KEPT_MS, "0_2"), application="b", streams_client="b-1")
    assert store.apply(replace(suite.EMPTY, committed_at_ms=2, events=(ahead,)))
    assert rows(schema.task_timers, "task heard_ms") == [("0_1", 1), ("0_2", 2 + AHEAD_MS)]
