"""Counters that begin anew with their process: of brokers, of collectors, of Connect's tasks."""

from dataclasses import replace
from functools import reduce

import pytest

from deadwatch.contract.events import (
    BrokerSnapshot,
    CollectorCount,
    CollectorSnapshot,
    ConnectTask,
    ConnectTasksSnapshot,
    ShareGroup,
)
from deadwatch.store import schema
from deadwatch.store.storable import MAX_INTEGER
from deadwatch.store.store import Store
from deadwatch.store.write.restarts import counts_after, meters_after, task_after
from deadwatch.store.write.states import States
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import Rows, apply, origin

store, rows = suite.store, suite.rows
GROUP = ("c", "g", "b1")
COUNT = ("c", "one", "abandoned_tasks", "log:a")
EMPTY: States = {}


def meters(records: int, started_at_ms: int = 1, *, group: str = "g", broker: str = "b1") -> BrokerSnapshot:
    counted = ShareGroup(
        consumergroup=group, records=records, produce_requests=records, failed_produce_requests=0
    )
    return BrokerSnapshot(
        **origin(f"broker:{broker}"),
        broker=broker,
        started_at_ms=started_at_ms,
        share_groups=(counted,),
    )


METERS: dict[str, tuple[tuple[BrokerSnapshot, ...], int]] = {
    "what was counted before we looked counts": ((meters(10),), 10),
    "only what is more is added": ((meters(10), meters(13), meters(13)), 13),
    "a meter that is less than it was began anew": ((meters(10), meters(4)), 14),
    "a later start counts in full, however far it has come": ((meters(10), meters(12, 2)), 22),
    "a start without dead letters adds none": ((meters(10), meters(0, 2), meters(3, 2)), 13),
    "no total overflows": ((meters(2**63 - 1), meters(5, 2)), 2**63 - 1),
    "other groups and brokers change nothing": ((meters(10), meters(4, broker="b2")), 10),
}


@pytest.mark.parametrize(("events", "total"), METERS.values(), ids=METERS)
def test_totals_of_meters_never_go_back(events: tuple[BrokerSnapshot, ...], total: int) -> None:
    found = reduce(meters_after, events, EMPTY)[GROUP]
    assert found["records_total"] == found["produce_requests_total"] == total
    assert found["failed_produce_requests_total"] == 0


def test_a_group_that_is_not_named_keeps_its_total() -> None:
    found = meters_after({}, meters(10))
    assert meters_after(found, replace(meters(0, 2), share_groups=())) == found


def test_counts_that_stand_still_are_not_written_anew() -> None:
    found = meters_after({}, meters(10))
    assert meters_after(found, replace(meters(10), observed_at_ms=9)) == found
    counted = counts_after({}, abandoned(1, 1))
    assert counts_after(counted, replace(abandoned(1, 1), observed_at_ms=9)) == counted


def test_totals_of_meters_go_on_over_batches(store: Store, rows: Rows) -> None:
    apply(store, meters(10), meters(12))
    apply(store, meters(2, 2))
    names = "consumergroup records records_total started_at_ms"
    assert rows(schema.share_groups, names) == [("g", 2, 14, 2)]


def abandoned(current: int, total: int, life: int = 1) -> CollectorSnapshot:
    count = CollectorCount(name=COUNT[2], subject=COUNT[3], current=current, total=total)
    return replace(anew(life), collector_counts=(count,))


def anew(life: int = 2, *, collector: str = "one") -> CollectorSnapshot:
    """The snapshot of a collector that has counted nothing."""
    return CollectorSnapshot(
        **origin(f"collector:{collector}"), collector=collector, started_at_ms=life, collector_counts=()
    )


COUNTS: dict[str, tuple[tuple[CollectorSnapshot, ...], int, int]] = {
    "as reported": ((abandoned(2, 3),), 2, 3),
    "an abandoned thread has ended": ((abandoned(1, 1), abandoned(0, 1)), 0, 1),
    "a snapshot sent twice counts once": ((abandoned(1, 1), abandoned(1, 1)), 1, 1),
    "a new process resets current, not total": ((abandoned(1, 1), anew()), 0, 1),
    "a new process counts on": ((abandoned(2, 2), anew(), abandoned(1, 1, 2)), 1, 3),
    "and on": ((abandoned(0, 8), abandoned(0, 3, 2), abandoned(0, 5, 2)), 0, 13),
    "another collector changes nothing": ((abandoned(1, 1), anew(collector="two")), 1, 1),
    "no total overflows": ((abandoned(0, 2**63 - 1), abandoned(0, 9, 2)), 0, 2**63 - 1),
}


@pytest.mark.parametrize(("events", "current", "total"), COUNTS.values(), ids=COUNTS)
def test_current_and_total_of_an_abandoned_source(
    events: tuple[CollectorSnapshot, ...], current: int, total: int
) -> None:
    counted = reduce(counts_after, events, EMPTY)[COUNT]
    assert (counted["current"], counted["total"]) == (current, total)


TASK = ConnectTask(
    worker="w:1",
    connector="sink",
    task="0",
    state="RUNNING",
    counted=True,
    started_at_ms=1,
    judged=True,
    stalled_because="",
    **dict.fromkeys((*schema.CONNECT_COUNTERS, "last_error_at_ms", "stalled_since_ms"), 0),
)
UNCOUNTED = replace(TASK, counted=False, started_at_ms=0)


def failed(failures: int, *, records: int = 100, started_at_ms: int = 1) -> ConnectTask:
    task = replace(TASK, records=records, started_at_ms=started_at_ms)
    return replace(task, record_failures=failures, last_error_at_ms=failures)


TASKS: dict[str, tuple[tuple[ConnectTask, ...], int, int]] = {
    "what was counted before we looked counts": ((failed(5),), 5, 5),
    "only what is more is added": ((failed(5), failed(7), failed(7)), 7, 7),
    "a counter that is less than it was began anew": ((failed(5), failed(2)), 7, 5),
    "the records give a restart away": ((failed(5), failed(6, records=9)), 11, 6),
    "so does a later start of the worker": ((failed(5), failed(6, started_at_ms=2)), 11, 6),
    "a task that was down keeps its total": ((failed(5), UNCOUNTED, failed(6)), 6, 6),
    "and counts in full when it comes back anew": ((failed(5), UNCOUNTED, failed(3)), 8, 5),
    "never counted": ((UNCOUNTED, UNCOUNTED), 0, 0),
    "counted later": ((UNCOUNTED, failed(4)), 4, 4),
    "no total overflows": ((failed(MAX_INTEGER), failed(5, started_at_ms=2)), MAX_INTEGER, MAX_INTEGER),
}


@pytest.mark.parametrize(("looks", "total", "last_error_at_ms"), TASKS.values(), ids=TASKS)
def test_totals_of_tasks_never_go_back(
    looks: tuple[ConnectTask, ...], total: int, last_error_at_ms: int
) -> None:
    first, *later = looks
    row = reduce(task_after, later, task_after(None, first))
    assert (row["record_failures_total"], row["last_error_at_ms"]) == (total, last_error_at_ms)
    assert row["records_skipped_total"] == 0
    assert row["counted"] == any(look.counted for look in looks)


def tasks(*found: ConnectTask, cluster: str = "a") -> ConnectTasksSnapshot:
    return ConnectTasksSnapshot(
        **origin(f"connect-tasks:{cluster}"), connect_cluster=cluster, connect_tasks=found
    )


TOTAL, PLACE = "record_failures_total", "connect_cluster worker state"


def test_totals_of_tasks_go_on_over_batches(store: Store, rows: Rows) -> None:
    apply(store, tasks(failed(5)), tasks(failed(6)))
    apply(store, tasks(failed(2)))
    assert rows(schema.connect_tasks, f"{PLACE} {TOTAL}") == [("a", "w:1", "RUNNING", 8)]


def test_a_task_that_moved_keeps_what_it_had_where_it_was(store: Store, rows: Rows) -> None:
    apply(store, tasks(replace(failed(5), stalled_since_ms=3, stalled_because="x")))
    apply(store, tasks(replace(failed(1), worker="w:2")))
    assert rows(schema.connect_tasks, f"{PLACE} judged stalled_since_ms {TOTAL}") == [
        ("a", "w:1", "", False, 0, 5),
        ("a", "w:2", "RUNNING", True, 0, 1),
    ]


def test_two_connect_clusters_with_a_connector_of_one_name_are_two(store: Store, rows: Rows) -> None:
    apply(store, tasks(failed(5)), tasks(replace(failed(7), worker="w:2"), cluster="b"))
    apply(store, tasks(failed(6)))
    apply(store, tasks(cluster="b"))
    assert rows(schema.connect_tasks, f"{PLACE} {TOTAL}") == [("a", "w:1", "RUNNING", 6), ("b", "w:2", "", 7)]
