"""Stalls of Streams applications (KIP-572): task timeouts, corrupted tasks, threads that died."""

from collections.abc import Iterable, Iterator

from collector.contract.events import StreamThreadDied, TaskCorrupted, TaskTimeout, TaskTimerEnded
from streaming.aggregates.summary import Summary
from streaming.store.batch import SeriesDelta
from streaming.store.series import STREAM_THREAD_DEATHS, TASK_TIMEOUTS, TASKS_CORRUPTED

SERIES = {
    TaskTimeout.kind: TASK_TIMEOUTS,
    TaskCorrupted.kind: TASKS_CORRUPTED,
    StreamThreadDied.kind: STREAM_THREAD_DEATHS,
}


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """One count an event."""
    for one in summaries:
        if one.kind in SERIES:
            yield one.adds(SERIES[one.kind], one.labels, one.count)


def ends(summaries: Iterable[Summary]) -> Iterator[TaskTimerEnded]:
    """The last hit of each task as the end of its timers: what came before it in the batch has no matter."""
    for one in summaries:
        if one.kind == TaskTimeout.kind:
            yield TaskTimerEnded(
                source=one.source,
                position=one.last_position,
                happened_at_ms=one.last_ms,
                observed_at_ms=one.observed_ms,
                kafka_cluster=one.labels["kafka_cluster"],
                application=one.labels["application"],
                streams_client="",
                thread="",
                task=one.labels["task"],
                reason="timeout",
                message="",
            )
