"""What a collector reports of itself, from its events to samples."""

from pathlib import Path

from deadwatch.contract.events import CollectorCount, CollectorSnapshot, self_report
from deadwatch.store.store import Store
from tests.caller import Caller
from tests.unit.deadwatch.store.suite import apply, origin


def test_what_a_collector_counts_is_on_the_metrics_page(store_file: Path, client: Caller) -> None:
    def reported(*counts: tuple[str, str, int, int]) -> CollectorSnapshot:
        found = (
            CollectorCount(name=name, subject=of, current=now, total=all_) for name, of, now, all_ in counts
        )
        place = origin("collector:one")
        return CollectorSnapshot(**place, collector="one", started_at_ms=1, collector_counts=tuple(found))

    with Store(f"sqlite:///{store_file}") as written:
        abandoned = (self_report.ABANDONED_TASKS, "log:a")
        failed = (self_report.FAILED_PRODUCE_REQUESTS, "", 0, 2)
        others = ((self_report.DEAD_LETTERS, "", 0, 7), ("of a newer collector", "", 0, 1))
        apply(written, reported(failed, *others, (*abandoned, 1, 1)))
        apply(written, reported((*abandoned, 0, 1)))
    page = client.get("/metrics").text
    labels = 'collector="one",kafka_cluster="c"'
    assert f"deadwatch_collector_dead_letter_queue_records_total{{{labels}}} 7.0" in page
    assert f"deadwatch_collector_dead_letter_queue_failed_produce_requests_total{{{labels}}} 2.0" in page
    assert f'deadwatch_collector_abandoned_tasks{{{labels},task="log:a"}} 0.0' in page
    assert f'deadwatch_collector_abandoned_tasks_total{{{labels},task="log:a"}} 1.0' in page
