"""Expired deliveries (KIP-91): batches and their records, by topic and client."""

from collections.abc import Iterable, Iterator

from collector.contract.events import DeliveryTimeout
from streaming.aggregates.summary import Summary
from streaming.store.batch import SeriesDelta
from streaming.store.series import DELIVERY_TIMEOUT_BATCHES, DELIVERY_TIMEOUT_RECORDS


def deltas(summaries: Iterable[Summary]) -> Iterator[SeriesDelta]:
    """One batch an event, and as many records as it says."""
    for one in summaries:
        if one.kind == DeliveryTimeout.kind:
            yield one.adds(DELIVERY_TIMEOUT_BATCHES, one.labels, one.count)
            yield one.adds(DELIVERY_TIMEOUT_RECORDS, one.labels, one.records)
