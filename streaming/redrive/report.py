"""What a transaction tells of itself, as events within it: outcomes, where its records are now and were."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from collector.contract.events import (
    Event,
    OffsetRange,
    Position,
    RedriveHandled,
    RedriveOutcome,
    RedriveWritten,
)
from streaming.redrive.batch import Batch, Result
from streaming.store.offset_runs import runs as runs_of

RANGES: Final = 500
"""Of one event: a record of some 30 kB."""

Runs = Mapping[tuple[str, int], list[tuple[int, int]]]
"""Offsets by topic and partition, in order; the end of a run is left out."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What all events of one claim share."""

    name: str
    """Of the order, or of the lane: one source of events."""
    order: str
    epoch: int
    dlq_topic: str
    kafka_cluster: str
    events_topic: str
    dlq_topic_id: str = ""
    """Kafka's; "" where its broker knows none."""


def events(batch: Batch, runs: Runs, frame: Frame, number: int, now_ms: int) -> Iterator[Event]:
    """Of transaction ``number``, whose records were written to ``runs``."""
    ordinals = count()

    def common() -> dict[str, Any]:
        return {
            "source": f"redrive:{frame.name}",
            "position": Position(frame.epoch, number, next(ordinals)),
            "happened_at_ms": now_ms,
            "observed_at_ms": now_ms,
            "kafka_cluster": frame.kafka_cluster,
            "order": frame.order,
            "dlq_topic": frame.dlq_topic,
        }

    for outcome, records in batch.outcomes.items():
        yield RedriveOutcome(
            **common(),
            target_topic=outcome.target_topic,
            outcome=outcome.result,
            outcome_reason=outcome.reason,
            attempt=outcome.attempt,
            records=records,
            backoff_ms=outcome.backoff_ms,
            fingerprint=outcome.fingerprint,
        )
    targets = {one.target_topic for one in batch.outcomes if one.result is Result.SENT}
    for topic in sorted(targets):
        found = {partition: runs[name, partition] for name, partition in runs if name == topic}
        for ranges in _portions(found):
            yield RedriveWritten(**common(), target_topic=topic, written=ranges)
    for result in (Result.SENT, Result.PARKED):
        done = {partition: runs_of(offsets) for partition, offsets in batch.handled(result).items()}
        for ranges in _portions(done):
            yield RedriveHandled(**common(), dlq_topic_id=frame.dlq_topic_id, outcome=result, handled=ranges)


def _portions(runs: Mapping[int, list[tuple[int, int]]]) -> Iterable[tuple[OffsetRange, ...]]:
    """Runs by partition, as many as one event tells."""
    ranges = [
        OffsetRange(partition=partition, first=first, end=end)
        for partition, found in sorted(runs.items())
        for first, end in found
    ]
    return (tuple(ranges[start : start + RANGES]) for start in range(0, len(ranges), RANGES))
