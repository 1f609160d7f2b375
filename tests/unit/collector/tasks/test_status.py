"""A status that was not taken stays due, and its positions only grow."""

from collector.publish.publisher import BoundedChannel, ChunkQueue
from collector.sources.source import Publishing
from collector.tasks.status import Announcement, source_status


def status(channel: BoundedChannel, *now_ms: int) -> Announcement:
    saved, clock = {"log:a#status": {"position_ms": 5_000}}, iter(now_ms)
    return source_status("log:a", "log", channel, Publishing(saved.get, "c", 100, lambda: next(clock)))


def test_a_status_that_was_not_taken_stays_due() -> None:
    chunks = ChunkQueue()
    full = BoundedChannel(chunks)
    while full.offer((), {}):
        pass
    announced, waiting = status(full, 0, 1), chunks.qsize()
    announced.publish(up=True, message="")
    assert chunks.qsize() == waiting
    chunks.get().sent()
    announced.publish(up=True, message="")
    assert chunks.qsize() == waiting


def test_positions_of_a_status_grow_when_the_clock_goes_back() -> None:
    chunks = ChunkQueue()
    announced = status(BoundedChannel(chunks), 1_000, 900)
    announced.publish(up=True, message="")
    announced.publish(up=False, message="x")
    states = [chunks.get().states["log:a#status"] or {} for _ in range(2)]
    assert [state["position_ms"] for state in states] == [5_001, 5_002]
