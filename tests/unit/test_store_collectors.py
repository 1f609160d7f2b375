"""What collectors count of themselves, over their restarts and on to /metrics."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from collector.contract import conduct
from collector.contract.events import CollectorCount, CollectorSnapshot, Position
from streaming.store.batch import Batch
from streaming.store.collectors import Counted, Place, States, following
from streaming.store.store import Store

EMPTY: States = {}
TASK = Place("c", "one", conduct.ABANDONED_TASKS, "log:a")


def snapshot(*counts: tuple[str, str, int, int], life: int = 1, collector: str = "one") -> CollectorSnapshot:
    return CollectorSnapshot(
        source=f"collector:{collector}#conduct",
        position=Position(1),
        happened_at_ms=5,
        observed_at_ms=5,
        kafka_cluster="c",
        collector=collector,
        started_at_ms=life,
        collector_counts=tuple(
            CollectorCount(name=name, subject=subject, current=current, total=total)
            for name, subject, current, total in counts
        ),
    )


def abandoned(current: int, total: int, life: int = 1, collector: str = "one") -> CollectorSnapshot:
    return snapshot((conduct.ABANDONED_TASKS, "log:a", current, total), life=life, collector=collector)


@dataclass(frozen=True)
class Case:
    name: str
    events: tuple[CollectorSnapshot, ...]
    current: int
    total: int


CASES = [
    Case("as told", (abandoned(2, 3),), 2, 3),
    Case("an abandoned thread has ended", (abandoned(1, 1), abandoned(0, 1)), 0, 1),
    Case("a snapshot told twice counts once", (abandoned(1, 1), abandoned(1, 1)), 1, 1),
    Case("a new process resets current, not total", (abandoned(1, 1), snapshot(life=2)), 0, 1),
    Case("a new process counts on", (abandoned(2, 2), snapshot(life=2), abandoned(1, 1, 2)), 1, 3),
    Case("another collector changes nothing", (abandoned(1, 1), snapshot(life=2, collector="two")), 1, 1),
    Case("no total overflows", (abandoned(0, 2**63 - 1), abandoned(0, 9, 2)), 0, 2**63 - 1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_current_and_total_of_an_abandoned_source(case: Case) -> None:
    counted = reduce(following, case.events, EMPTY).get(TASK, Counted())
    assert (counted.current, counted.total) == (case.current, case.total)


def test_what_a_collector_counts_is_on_the_metrics_page(store_file: Path, client: TestClient) -> None:
    first = snapshot(
        (conduct.DEAD_LETTERS, "", 0, 7),
        (conduct.FAILED_PRODUCE_REQUESTS, "", 0, 2),
        (conduct.ABANDONED_TASKS, "log:a", 1, 1),
        ("of a newer collector", "", 0, 1),
    )
    with Store(f"sqlite:///{store_file}") as written:
        for batch_id, event in enumerate((first, abandoned(0, 1))):
            written.apply(
                Batch(
                    query_id="q", batch_id=batch_id, committed_at_ms=1, offsets={}, marks={}, events=(event,)
                )
            )
    page = client.get("/metrics").text
    labels = 'collector="one",kafka_cluster="c"'
    assert f"deadwatch_collector_dead_letter_queue_records_total{{{labels}}} 7.0" in page
    assert f"deadwatch_collector_dead_letter_queue_failed_produce_requests_total{{{labels}}} 2.0" in page
    assert f'deadwatch_collector_abandoned_tasks{{{labels},task="log:a"}} 0.0' in page
    assert f'deadwatch_collector_abandoned_tasks_total{{{labels},task="log:a"}} 1.0' in page
