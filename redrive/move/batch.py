"""What one transaction does (records written, dead letters done, outcomes), and the events that report it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple

from deadwatch.contract.events import (
    Event,
    OffsetRange,
    Position,
    RedriveHandled,
    RedriveOutcome,
    RedriveWritten,
)
from deadwatch.contract.events.redrive import REDRIVE_SOURCE
from deadwatch.orders.decision import Result
from deadwatch.orders.selection import runs as runs_of
from redrive.librdkafka import ConsumerRecord
from redrive.move.rewrite import DeadLetterId, PendingRecord, ProducerRecord

RANGES_PER_EVENT: Final = 500
"""This many ranges make a record of some 30 kB."""

Runs = Mapping[tuple[str, int], list[tuple[int, int]]]
"""Offsets by topic and partition, in order; a run leaves out its end."""


class Outcome(NamedTuple):
    """What records have in common that are counted together; ``backoff_ms`` is the delay without jitter."""

    target_topic: str
    result: Result
    reason: str = ""
    attempt: int = 0
    backoff_ms: int = 0
    fingerprint: str = ""
    """The group of dead letters that the records were in."""


@dataclass(slots=True)
class Batch:
    """The content of one transaction; grows until it is committed."""

    decided: list[PendingRecord] = field(default_factory=list)
    records: list[tuple[ProducerRecord, DeadLetterId]] = field(default_factory=list)
    """The records to write for ``decided``, each with its dead letter."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    size: int = 0
    """Bytes of key and value of ``records``."""
    fast: list[ConsumerRecord] = field(default_factory=list)
    """Dead letters whose records the fast path has written."""
    sent: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Offsets of all dead letters that go to a target, by partition."""
    parked: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def count(self) -> int:
        """How many records are written."""
        return len(self.records) + len(self.fast)

    @property
    def done(self) -> int:
        """How many dead letters have their outcome, written or not."""
        return len(self.decided) + len(self.fast)

    @property
    def moved(self) -> int:
        """How many dead letters go to a target."""
        return sum(map(len, self.sent.values()))

    def add_fast(self, message: ConsumerRecord, partition: int, offset: int, outcome: Outcome) -> None:
        """One more dead letter goes to its target by the fast path."""
        self.fast.append(message)
        self.sent[partition].append(offset)
        self.outcomes[outcome] += 1

    def add(self, pending: PendingRecord, outcome: Outcome, record: ProducerRecord | None = None) -> None:
        """One more dead letter has its outcome, with the record to write for it, if there is one."""
        dead_letter = partition, offset = pending.id
        self.decided.append(pending)
        self.outcomes[outcome] += 1
        if record is not None:
            (self.sent if outcome.result is Result.SENT else self.parked)[partition].append(offset)
            self.records.append((record, dead_letter))
            self.size += record.size


POSITION_EPOCH: Final = 1 << 32
"""Of all positions of redrives: what is done grows with every commit, whoever makes it, so no claim has to be
told from another. Earlier versions had the claim's epoch here, which is lower."""


def source_of(name: str) -> str:
    """The source of the events of an order, or of a partition task of it."""
    return f"{REDRIVE_SOURCE}{name}"


@dataclass(frozen=True, slots=True)
class EventFields:
    """What all events of one claim have in common."""

    name: str
    """Of the order, or of the partition task of it: one source of events."""
    order: str
    epoch: int
    dlq_topic: str
    kafka_cluster: str
    events_topic: str
    dlq_topic_id: str = ""
    """Kafka's id of the dead letter topic; "" where the broker knows none."""


def events(batch: Batch, runs: Runs, shared: EventFields, at: int, now_ms: int) -> Iterator[Event]:
    """The events of a transaction, whose records were written to ``runs``.

    ``at`` has to grow with each transaction, whoever has it: streaming takes for a copy what is not
    behind the last position of its source.
    """
    ordinals = count()
    source = {"source": source_of(shared.name), "kafka_cluster": shared.kafka_cluster}
    order = {"order": shared.order, "dlq_topic": shared.dlq_topic}

    def common() -> dict[str, Any]:
        position = Position(POSITION_EPOCH, at, next(ordinals))
        return {**source, **order, "position": position, "happened_at_ms": now_ms, "observed_at_ms": now_ms}

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
        for ranges in _by_event(found):
            yield RedriveWritten(**common(), target_topic=topic, written=ranges)
    for result, handled in ((Result.SENT, batch.sent), (Result.PARKED, batch.parked)):
        done = {partition: runs_of(offsets) for partition, offsets in handled.items()}
        for ranges in _by_event(done):
            yield RedriveHandled(**common(), dlq_topic_id=shared.dlq_topic_id, outcome=result, handled=ranges)


def _by_event(runs: Mapping[int, list[tuple[int, int]]]) -> Iterable[tuple[OffsetRange, ...]]:
    """Runs by partition, cut into as many as one event holds."""
    ranges = [
        OffsetRange(partition=partition, first=first, end=end)
        for partition, found in sorted(runs.items())
        for first, end in found
    ]
    starts = range(0, len(ranges), RANGES_PER_EVENT)
    return (tuple(ranges[start : start + RANGES_PER_EVENT]) for start in starts)
