"""What a transaction tells of itself, as events within it: outcomes, and where its records are now."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from collector.contract.events import Event, Position, RedriveOutcome, RedriveWritten, WrittenRange
from streaming.redrive.batch import Batch, Result

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
        for ranges in _portions(topic, runs):
            yield RedriveWritten(**common(), target_topic=topic, written=ranges)


def _portions(topic: str, runs: Runs) -> Iterable[tuple[WrittenRange, ...]]:
    ranges = [
        WrittenRange(partition=partition, first=first, end=end)
        for (name, partition), found in sorted(runs.items())
        if name == topic
        for first, end in found
    ]
    return (tuple(ranges[start : start + RANGES]) for start in range(0, len(ranges), RANGES))
