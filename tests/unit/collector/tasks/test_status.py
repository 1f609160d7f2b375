"""A status that was not taken stays due, and its positions only grow."""

from collector.publish.publisher import BoundedChannel, ChunkQueue
from collector.settings import CollectorSettings
from collector.tasks.status import Announcement, source_status


def status(position_ms: int = 0) -> Announcement:
    saved = {"log:a#status": {"position_ms": position_ms}} if position_ms else {}
    return source_status("log:a", "log", CollectorSettings(heartbeat_interval_ms=100), saved)


def publish(status: Announcement, channel: BoundedChannel, *troubles: tuple[str, int]) -> None:
    for trouble, now_ms in troubles:
        status.publish(now_ms, channel, up=not trouble, message=trouble)


def test_a_status_that_was_not_taken_stays_due() -> None:
    announced, full, chunks = status(), BoundedChannel(ChunkQueue()), ChunkQueue()
    while full.offer((), {}):
        pass
    publish(announced, full, ("", 0))
    publish(announced, BoundedChannel(chunks), ("", 1))
    assert chunks.qsize() == 1


def test_positions_of_a_status_grow_when_the_clock_goes_back() -> None:
    chunks = ChunkQueue()
    publish(status(5_000), BoundedChannel(chunks), ("", 1_000), ("x", 900))
    assert [chunks.get().states["log:a#status"]["position_ms"] for _ in range(2)] == [5_001, 5_002]
