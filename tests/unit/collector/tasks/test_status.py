"""A status that was not taken stays due, and its positions only grow; what a collector counts of itself."""

from collector.publish.dead_letters import DeadLetterCounts
from collector.publish.publisher import BoundedChannel, ChunkQueue
from collector.sources.source import Publishing
from collector.tasks.status import Abandonments, Announcement, counts_of, source_status
from deadwatch.runtime.logs import Scope


def status(channel: BoundedChannel, *now_ms: int) -> Announcement:
    saved, clock = {"log:a#status": {"position_ms": 5_000}}, iter(now_ms)
    return source_status("log:a", "log", channel, Publishing(saved.get, "c", 100, lambda: next(clock)))


def test_a_status_that_was_not_taken_stays_due() -> None:
    chunks = ChunkQueue()
    full = BoundedChannel(chunks)
    while full.offer((), {}):
        pass
    announced, waiting = status(full, 0, 1), chunks.qsize()
    assert not announced.publish(up=True, message="")
    assert chunks.qsize() == waiting
    chunks.get().sent()
    assert announced.publish(up=True, message="")
    assert chunks.qsize() == waiting


def test_positions_of_a_status_grow_when_the_clock_goes_back() -> None:
    chunks = ChunkQueue()
    announced = status(BoundedChannel(chunks), 1_000, 900)
    announced.publish(up=True, message="")
    announced.publish(up=False, message="x")
    states = [chunks.get().states["log:a#status"] or {} for _ in range(2)]
    assert [state["position_ms"] for state in states] == [5_001, 5_002]


def test_a_self_report_counts_dead_letters_and_every_abandoned_source() -> None:
    abandoned = Abandonments(graceful_timeout_ms=1)
    abandoned.add("log:a", Scope.TASK, lambda: True)
    abandoned.add("receiver", Scope.CONNECTOR, lambda: False)
    counted = counts_of(DeadLetterCounts(5, 4, 3, 2), abandoned)
    assert [(one.name, one.subject, one.current, one.total) for one in counted] == [
        ("dead_letters", "", 0, 5),
        ("produce_requests", "", 0, 4),
        ("failed_produce_requests", "", 0, 3),
        ("dead_letters_lost", "", 0, 2),
        ("abandoned_tasks", "log:a", 1, 1),
        ("abandoned_connectors", "receiver", 0, 1),
    ]
