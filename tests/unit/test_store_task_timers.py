"""Timers that start, end, fall silent: what the store makes of what the logs of Streams say."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from collector.contract.events import Event, Position, TaskTimerEnded, TaskTimerStarted
from streaming.store import applications, schema
from streaming.store.batch import Batch
from streaming.store.caps import Caps
from streaming.store.engine import connect
from streaming.store.store import Store
from streaming.store.task_timers import SILENT_MS, States, following

CLIENT = "app-1"
THREAD = f"{CLIENT}-StreamThread-1"
OTHER = f"{CLIENT}-StreamThread-2"
EMPTY: States = {}


def started(
    at_ms: int, task: str = "0_1", call: str = "process", *, thread: str = THREAD, remaining_ms: int = -1
) -> TaskTimerStarted:
    return TaskTimerStarted(
        source="log:a",
        position=Position(0, at_ms),
        happened_at_ms=at_ms,
        observed_at_ms=at_ms,
        kafka_cluster="c",
        application="app",
        streams_client=CLIENT,
        thread=thread,
        task=task,
        call=call,
        remaining_ms=remaining_ms,
        message="it was said",
    )


def ended(at_ms: int, reason: str, task: str = "", *, thread: str = THREAD) -> TaskTimerEnded:
    return TaskTimerEnded(
        source="log:a",
        position=Position(0, at_ms),
        happened_at_ms=at_ms,
        observed_at_ms=at_ms,
        kafka_cluster="c",
        application="app",
        streams_client=CLIENT,
        thread=thread,
        task=task,
        reason=reason,
        message="it was said",
    )


HIT = replace(ended(5, "timeout", "0_1", thread=""), streams_client="")


@dataclass(frozen=True)
class Case:
    name: str
    events: tuple[Event, ...]
    running: tuple[tuple[str, str, int, int], ...]
    """Task or thread, call, since, deadline."""


CASES = [
    Case("a call that times out starts the timer", (started(1),), (("0_1", "process", 1, 0),)),
    Case("told again it is the same", (started(1), started(1), started(9)), (("0_1", "process", 1, 0),)),
    Case(
        "the call that started it stays",
        (started(1, call="init"), started(9, call="commit")),
        (("0_1", "init", 1, 0),),
    ),
    Case(
        "a call that is told after its timer is its call",
        (started(1, call="", remaining_ms=3_000), started(2)),
        (("0_1", "process", 1, 3_001),),
    ),
    Case(
        "the deadline is that of the latest word",
        (started(1, remaining_ms=3_000), started(1_001, remaining_ms=1_990)),
        (("0_1", "process", 1, 2_991),),
    ),
    Case("progress ends it", (started(1), ended(5, "progress", "0_1")), ()),
    Case(
        "and the next start is another one",
        (started(1), ended(5, "progress", "0_1"), started(9)),
        (("0_1", "process", 9, 0),),
    ),
    Case(
        "progress of another task is none",
        (started(1), ended(5, "progress", "0_0")),
        (("0_1", "process", 1, 0),),
    ),
    Case("a timeout ends it, whoever tells it", (started(1), HIT), ()),
    Case(
        "a timeout in another application does not",
        (started(1), replace(HIT, application="b")),
        (("0_1", "process", 1, 0),),
    ),
    Case(
        "a timeout in another cluster does not",
        (started(1), replace(HIT, kafka_cluster="d")),
        (("0_1", "process", 1, 0),),
    ),
    Case("a corrupted task begins anew", (started(1), ended(5, "corrupted", "0_1")), ()),
    Case(
        "tasks that are revived had failed to commit",
        (started(1, "0_0", "commit"), started(1), ended(2, "revived")),
        (("0_1", "process", 1, 0),),
    ),
    Case(
        "a thread that runs has brought up its tasks",
        (started(1, "0_0", "committed_offsets"), started(1, "", "init"), started(1), ended(2, "running")),
        (("0_1", "process", 1, 0),),
    ),
    Case(
        "a thread that has ended takes its own timers with it",
        (started(1), started(1, "0_0", thread=OTHER), started(1, "", "init"), ended(2, "closed")),
        (("0_0", "process", 1, 0),),
    ),
    Case(
        "a client that has ended takes all of them",
        (started(1), started(1, "0_0", thread=OTHER), ended(2, "closed", thread=CLIENT)),
        (),
    ),
    Case(
        "at the end of the silence it is the same",
        (started(1), started(1 + SILENT_MS)),
        (("0_1", "process", 1, 0),),
    ),
    Case(
        "after the silence it is another one",
        (started(1, call="init", remaining_ms=5), started(2 + SILENT_MS)),
        (("0_1", "process", 2 + SILENT_MS, 0),),
    ),
    Case(
        "a time that lies ahead is not believed",
        (replace(started(7), happened_at_ms=2**60), started(8)),
        (("0_1", "process", 7, 0),),
    ),
    Case("an end without a beginning is nothing", (HIT, ended(1, "closed")), ()),
    Case(
        "threads that name no task are apart",
        (started(1, ""), started(2, "", thread=OTHER)),
        (
            (THREAD, "process", 1, 0),
            (OTHER, "process", 2, 0),
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_which_timers_run(case: Case) -> None:
    after = reduce(following, case.events, EMPTY)
    told = [
        (place.task or place.thread, timer.call, timer.since_ms, timer.deadline_ms)
        for place, timer in after.items()
        if timer.running
    ]
    assert tuple(told) == case.running


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def batch(number: int, *events: Event) -> Batch:
    return Batch(query_id="q", batch_id=number, committed_at_ms=0, offsets={}, marks={}, events=tuple(events))


def rows(url: str) -> list[tuple[str, bool]]:
    table = schema.task_timers.c
    with create_engine(url).begin() as connection:
        return [
            tuple(row) for row in connection.execute(select(table.task, table.running).order_by(table.task))
        ]


def test_a_timer_lives_through_batches_and_is_forgotten_a_day_after(store: Store, url: str) -> None:
    store.apply(batch(1, started(1), started(1, "0_0")))
    store.apply(batch(2, ended(2, "progress", "0_0")))
    store.apply(batch(2, HIT))
    assert rows(url) == [("0_0", False), ("0_1", True)]
    store.apply(batch(3, started(2 + applications.KEPT_MS, "0_2")))
    assert rows(url) == [("0_2", True)]


@pytest.mark.usefixtures("store")
def test_what_is_beyond_the_bound_is_counted(url: str) -> None:
    engine = connect(url)
    with engine.begin() as connection:
        events = [started(1, f"0_{number}") for number in range(5)]
        caps = Caps({schema.task_timers.name: 3})
        applications.merge(connection, events, caps)
        applications.merge(connection, [started(2, "0_0"), ended(3, "closed")], caps)
    engine.dispose()
    assert caps.beyond == {"task_timers": 2}
    assert rows(url) == [("0_0", False), ("0_1", False), ("0_2", False)]
