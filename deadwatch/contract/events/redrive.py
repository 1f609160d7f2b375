"""Events of redrives; each is written in the transaction that it describes."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.event import Event

REDRIVE_SOURCE: Final = "redrive:"
"""Before the order's id; before its partition, too, where an order has a task for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveOutcome(Event):
    """What one transaction of a redrive did with ``records`` that share all these fields.

    It is written in the same transaction, so it is as exact as the redrive. ``outcome`` is sent, parked,
    skipped or failed; ``outcome_reason`` says why for all but sent; ``attempt`` is the one that was made;
    ``fingerprint`` is that of the group of dead letters that the records were in. The
    source is ``redrive:<order>``, the position (2^32, offsets done by then, ordinal in the transaction).
    """

    kind: ClassVar[str] = "redrive_outcome"
    order: str
    dlq_topic: str
    target_topic: str
    outcome: str
    outcome_reason: str
    attempt: int
    records: int
    backoff_ms: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """A range of offsets of one partition, all of one transaction; ``end`` is exclusive."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveWritten(Event):
    """Where a redrive's transaction has written its records; written in the same transaction, as its
    outcomes.

    A share group's dead letter keeps no headers: these offsets show that it came back.
    """

    kind: ClassVar[str] = "redrive_written"
    order: str
    dlq_topic: str
    target_topic: str
    written: tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveHandled(Event):
    """Which dead letters a redrive's transaction has sent or parked (``outcome``); written in it.

    ``dlq_topic_id`` is Kafka's id of the topic ("": its broker knows none): one that was made anew under its
    name begins at offset 0 again.
    """

    kind: ClassVar[str] = "redrive_handled"
    order: str
    dlq_topic: str
    dlq_topic_id: str
    outcome: str
    handled: tuple[OffsetRange, ...]
