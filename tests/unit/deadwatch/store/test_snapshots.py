"""Findings and dead letter topics that come, last and go: what the store makes of snapshots."""

from dataclasses import replace

from deadwatch.contract.events import (
    ConnectTasksSnapshot,
    DeadLetterTopic,
    DeadLetterTopicsSnapshot,
    Finding,
    FindingsSnapshot,
    Instance,
    SourceStatus,
    WorkerSnapshot,
)
from deadwatch.store import schema
from deadwatch.store.store import Store
from deadwatch.store.write.snapshots import FORGOTTEN_AFTER_MS
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, Rows, apply, origin
from tests.unit.deadwatch.store.test_restarts import TASK

store, rows = suite.store, suite.rows


def snapshot(
    at_ms: int, *subjects: str, source: str = "findings:one", message: str = "m"
) -> FindingsSnapshot:
    return FindingsSnapshot(
        **origin(source, at_ms),
        findings=tuple(
            Finding(kind="k", subject=subject, message=message, change="c") for subject in subjects
        ),
    )


def since(rows: Rows) -> dict[str, int]:
    return dict(rows(schema.findings, "subject first_ms"))


def test_a_finding_lasts_since_it_was_first_reported_and_goes_when_it_is_fixed(
    store: Store, rows: Rows
) -> None:
    apply(store, snapshot(10, "a"))
    apply(store, snapshot(20, "a", "b"))
    assert since(rows) == {"a": 10, "b": 20}
    apply(store, snapshot(30, "b", message="now otherwise"))
    assert since(rows) == {"b": 20}
    assert rows(schema.findings, "message observed_at_ms") == [("now otherwise", 30)]
    apply(store, snapshot(40), snapshot(50, "a"))
    assert since(rows) == {"a": 50}


def test_what_another_collector_reports_stays_until_that_one_takes_it_back(store: Store, rows: Rows) -> None:
    apply(store, snapshot(10, "a"), snapshot(10, "b", source="findings:two"))
    apply(store, snapshot(20))
    assert since(rows) == {"b": 10}
    apply(store, snapshot(30, "b"))
    assert since(rows) == {"b": 10}
    apply(store, snapshot(40, source="findings:two"))
    assert since(rows) == {"b": 10}


def topics(source: str, **records: int) -> DeadLetterTopicsSnapshot:
    return DeadLetterTopicsSnapshot(
        **origin(source),
        dead_letter_topics=tuple(
            DeadLetterTopic(topic=topic, partitions=1, records=number, oldest_at_ms=3, named_by="", read=True)
            for topic, number in records.items()
        ),
    )


def test_a_topic_goes_when_its_collector_no_longer_reports_it(store: Store, rows: Rows) -> None:
    def held() -> dict[str, int]:
        return dict(rows(schema.dead_letter_topics, "dlq_topic records"))

    apply(store, topics("one", a=1, b=2), topics("one", a=5, b=2))
    apply(store, topics("two", b=3, c=4))
    assert held() == {"a": 5, "b": 3, "c": 4}
    apply(store, topics("one"))
    assert held() == {"b": 3, "c": 4}
    apply(store, topics("two", b=0))
    assert held() == {"b": 0}


def status(subject: str, at_ms: int, *, ended: bool = False) -> SourceStatus:
    place = origin(f"{subject}#status", at_ms)
    return SourceStatus(**place, subject=subject, source_kind="log", up=True, message="", ended=ended)


def test_a_source_is_forgotten_when_it_has_ended_until_it_is_told_of_again(store: Store, rows: Rows) -> None:
    apply(store, status("a", 1), status("b", 1))
    apply(store, status("a", 2), status("a", 3, ended=True))
    assert rows(schema.sources, "name") == ["b"]
    apply(store, status("a", 4, ended=True), status("a", 5), status("b", 5, ended=True))
    assert rows(schema.sources, "name") == ["a"]


def test_what_a_source_told_of_the_present_goes_with_it_and_what_was_counted_stays(
    store: Store, rows: Rows
) -> None:
    instance = Instance(connector="c", task="0", state="FAILED", abandoned=1)
    for name in ("a", "b"):
        task = replace(TASK, worker=name)
        apply(
            store,
            status(name, 1),
            topics(name, **{name: 1}),
            WorkerSnapshot(**origin(name), worker=name, threads_known=True, instances=(instance,)),
            ConnectTasksSnapshot(**origin(name), connect_cluster=name, connect_tasks=(task,)),
        )
    apply(store, status("a", 2, ended=True))
    assert rows(schema.sources, "name") == ["b"]
    assert rows(schema.instances, "source") == rows(schema.dead_letter_topics, "source") == ["b"]
    assert rows(schema.connect_tasks, "worker state") == [("a", ""), ("b", "RUNNING")]
    assert rows(schema.abandoned, "worker seen_total") == [("a", 1), ("b", 1)]


def test_a_source_and_a_finding_of_which_nobody_has_told_for_a_week_go(store: Store, rows: Rows) -> None:
    apply(store, status("a", 1_000), status("b", 2_000))
    apply(store, snapshot(1_000, "a"), snapshot(2_000, "b", source="findings:two"))
    for at_ms, left in ((1_000 + FORGOTTEN_AFTER_MS, ["a", "b"]), (2_000 + FORGOTTEN_AFTER_MS, ["b"])):
        store.apply(replace(EMPTY, committed_at_ms=at_ms))
        assert rows(schema.sources, "name") == rows(schema.findings, "subject") == left
