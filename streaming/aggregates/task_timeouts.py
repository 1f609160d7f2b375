"""Task timeouts of Streams applications (KIP-572): hits by application and task."""

from collections.abc import Iterable, Iterator

from collector.contract.events import TaskTimeout
from streaming.aggregates.summary import Summary
from streaming.store.batch import SeriesDelta
from streaming.store.series import TASK_TIMEOUTS


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """One hit an event."""
    for one in summaries:
        if one.kind == TaskTimeout.kind:
            yield one.adds(TASK_TIMEOUTS, one.labels, one.count)
