"""What else clients and brokers report: other timeouts, backoffs set wrong, dead letters that got lost."""

from collections.abc import Iterable, Iterator

from collector.contract.events import ClientTimeout, RetryBackoffMisconfigured, ShareDeadLetterLost
from streaming.aggregates.summary import Summary
from streaming.store.batch import SeriesDelta
from streaming.store.series import CLIENT_TIMEOUTS, RETRY_BACKOFF_MISCONFIGURED, SHARE_DEAD_LETTERS_LOST

SERIES = {
    ClientTimeout.kind: CLIENT_TIMEOUTS,
    RetryBackoffMisconfigured.kind: RETRY_BACKOFF_MISCONFIGURED,
    ShareDeadLetterLost.kind: SHARE_DEAD_LETTERS_LOST,
}


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """One count an event; the label ``kind`` of a timeout is the event's ``timeout``."""
    for one in summaries:
        if one.kind in SERIES:
            labels = {**one.labels, "kind": one.labels["timeout"]}
            yield one.adds(SERIES[one.kind], labels, one.count)
