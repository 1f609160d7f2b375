"""A redrive order: which dead letters go where, how fast, how often. Frozen once it is created.

The models are what ``POST /api/v1/redrives`` takes and what the store keeps; times are RFC 3339 on the way
in and milliseconds since the epoch inside, offsets are Kafka's, an interval leaves out its end.

A worker claims an order for some time and renews the claim while it works. Every claim has a higher ``epoch``
than the one before: a call with an older one is refused, and Kafka fences the transactions of its worker.
What an order has moved is in Kafka, in the same transactions as the records.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, Protocol, Self

from pydantic import AwareDatetime, BaseModel, Field, model_validator

from deadwatch.deadletter.dialects.dialect import HeaderPattern
from deadwatch.runtime.kafka import Topic
from deadwatch.runtime.logs import LINE

LINGER_MS: Final = 5
REQUEST_TIMEOUT_MS: Final = 30_000
"""``request.timeout.ms`` of a worker's producer, unless its settings change it."""
LEAST_DELIVERY_TIMEOUT_MS: Final = LINGER_MS + REQUEST_TIMEOUT_MS
"""The shortest ``delivery_timeout_ms``: an outcome needs at least the time of one request (KIP-91)."""
TRANSACTION_MARGIN_MS: Final = 60_000
"""How much longer a transaction may last than the delivery of its records."""
MOST_DELIVERY_TIMEOUT_MS: Final = (1 << 31) - 1 - TRANSACTION_MARGIN_MS
"""The longest ``delivery_timeout_ms``: Kafka's client takes no longer ``transaction.timeout.ms``."""

MAX_GROUP_CHARS: Final = 32_767
"""The longest text of Kafka's protocol."""

Partition = Annotated[int, Field(ge=0)]
Offset = Annotated[int, Field(ge=0)]
Interval = tuple[Offset, Offset]
ErrorClass = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.$-]{1,300}$")]


class Status(StrEnum):
    """The states of an order; the last three are final."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    CANCELLING = "CANCELLING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"

    @property
    def final(self) -> bool:
        """Whether the order will never move another record."""
        return self in {Status.COMPLETED, Status.CANCELLED, Status.FAILED}


class Model(BaseModel, frozen=True, extra="forbid", populate_by_name=True):
    """Base of every part of an order."""


class Place(Model):
    """One record of the dead letter topic."""

    partition: Partition
    offset: Offset


class Selection(Model):
    """The records of the dead letter topic, selected in exactly one way."""

    all: Literal[True] | None = None
    group: str | None = Field(None, pattern=r"^[0-9A-Za-z_-]{1,64}$", description="Fingerprint of a group.")
    filter: str | None = Field(None, min_length=1, max_length=4_000, description="CEL expression.")
    offsets: dict[Partition, Interval] | None = Field(None, min_length=1)
    from_: AwareDatetime | None = Field(
        None, alias="from", description="First time on the dead letter topic."
    )
    to: AwareDatetime | None = Field(None, description="The time from which on it is too late.")
    records: tuple[Place, ...] | None = Field(None, min_length=1, max_length=10_000)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = (self.all, self.group, self.filter, self.offsets, self.from_ or self.to, self.records)
        if sum(way is not None for way in ways) != 1:
            raise ValueError("say one of all, group, filter, offsets, from/to or records")
        if self.from_ is not None and self.to is not None and self.from_ >= self.to:
            raise ValueError("from must be before to")
        if any(first >= end for first, end in (self.offsets or {}).values()):
            raise ValueError("an interval of offsets is [from, to] with from below to")
        return self


class OriginTarget(Model):
    """Each record goes to the topic and partition it came from."""

    kind: Literal["origin"] = "origin"


class TopicTarget(Model):
    """Every record goes to one topic."""

    kind: Literal["topic"]
    topic: Topic


MOST_REDIRECTS: Final = 1_000
"""Topics of a map; admission refuses more."""


class MapTarget(Model):
    """Records of decommissioned topics go to their successors, the others to their origin."""

    kind: Literal["map"]
    map: dict[Topic, Topic] = Field(min_length=1)


class RetryTarget(Model):
    """Records go to the retry topic of the consumer group that failed, past the other subscribers."""

    kind: Literal["retry"]
    consumergroup: str = Field(min_length=1, max_length=MAX_GROUP_CHARS)
    topic: Topic | None = Field(None, description="Unless set: `<origin>-<consumergroup>-retry`.")


Target = Annotated[OriginTarget | TopicTarget | MapTarget | RetryTarget, Field(discriminator="kind")]


LEAST_RATE: Final = 1e-6
"""The lowest rate of records or bytes a second; admission refuses a lower one."""
MOST_RATE: Final = 1e12
"""The highest one: what is much higher comes to infinity where it is counted with."""


class Limits(Model):
    """How fast and how much; null is no limit."""

    records_per_second: float | None = Field(50, gt=0)
    bytes_per_second: int | None = Field(None, gt=0)
    max_records: int | None = Field(None, gt=0, description="Records that the order moves at most.")
    max_in_flight: int = Field(1_000, gt=0, description="Records of one transaction at most.")
    per_target_records_per_second: float | None = Field(None, gt=0)


MOST_CLASSES: Final = 100
"""Classes of errors whose records an order parks at once."""


class Retry(Model):
    """How often a record may come back, and how long it waits before (KIP-580); in ms."""

    max_attempts: int = Field(5, ge=1, le=1_000)
    retry_backoff_ms: int = Field(1_000, ge=0)
    retry_backoff_max_ms: int = Field(60_000, ge=0, le=7 * 86_400_000)
    park_error_classes: tuple[ErrorClass, ...] = Field(
        (),
        max_length=MOST_CLASSES,
        description="Whole names: their records are parked at once, without another try.",
    )


class Guards(Model):
    """What pauses an order before it does harm; null switches a guard off."""

    max_bounce_ratio: float | None = Field(0.5, gt=0, le=1, description="Come back within the window.")
    max_consecutive_failures: int | None = Field(100, gt=0, description="Of one target partition.")
    max_target_lag: int | None = Field(None, gt=0, description="Of `lag_group` on the target.")
    lag_group: str | None = Field(None, max_length=MAX_GROUP_CHARS)
    settle_window_ms: int = Field(600_000, ge=0, description="No return within it: settled.")


class Terms(Model):
    """How records are moved: the fields that orders and policies have in common."""

    target: Target = OriginTarget()
    limits: Limits = Limits()
    retry: Retry = Retry()
    guards: Guards = Guards()
    task_timeout_ms: int = Field(300_000, ge=0, description="No progress of one target partition (KIP-572).")
    delivery_timeout_ms: int = Field(120_000, ge=1, description="From send to outcome (KIP-91).")
    drop_headers: tuple[HeaderPattern, ...] | None = Field(
        None,
        max_length=100,
        description="Headers that moved records go without, by name or as `beginning*`; null: those that "
        "the record's dialect names (`retry_topic-*` of Spring's).",
    )
    reason: str = Field(min_length=1, max_length=1_000, pattern=LINE, description="Why, in one line.")

    @property
    def audited(self) -> str:
        """What the audit says of it: the reason, and the headers that are left out where it names them."""
        if self.drop_headers is None:
            return self.reason
        return f"{self.reason}; headers left out: {', '.join(self.drop_headers) or 'none'}"


class OrderRequest(Terms):
    """An order as a user requests it."""

    dlq_topic: Topic
    selection: Selection
    dry_run: bool = True
    confirm: int | None = Field(None, ge=0, description="The number that the dry run has shown.")
    cut_off: dict[Partition, Offset] | None = Field(
        None,
        description="Of the dry run, by partition: what came later is no part of the order. Unless given: "
        "where the partitions end when the order is made.",
    )
    dlq_topic_id: str | None = Field(
        None,
        max_length=36,
        description="Of the dry run: Kafka's id of the topic (KIP-516). The order is refused when the topic "
        "was made anew since.",
    )
    engine: Literal["local", "spark"] = "local"
    again: bool = Field(
        default=False, description="Also records that were moved or parked before; else they are left out."
    )


class Order(Model):
    """An accepted request; ``cut_off`` are the end offsets at its creation, or before, by partition."""

    id: str = Field(pattern=r"^[0-9a-f-]{1,36}$")
    request: OrderRequest
    requested_by: str
    created_at_ms: int
    begin: dict[Partition, Offset] = Field(description="First offsets at its creation.")
    cut_off: dict[Partition, Offset]
    dlq_topic_id: str = Field("", description="Kafka's id of the topic at its creation; empty: not known.")
    policy: str = Field("", description="Whose order it is; empty: somebody asked for it.")


class ClaimLostError(Exception):
    """Another worker has claimed the order, or it has ended: nothing more may be done for it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on an order until ``expires_at_ms``; ``epoch`` counts the claims from 1.

    ``waiting`` is how many of its records wait for their backoff now, ``proceeded_at_ms`` when this claim had
    its last transaction, 0 where it has had none. Where a transaction is ``left_open``, the order that is let
    go of keeps its worker: who cancels it has to wait until that one is fenced.
    """

    order: Order
    epoch: int
    expires_at_ms: int
    waiting: int = 0
    proceeded_at_ms: int = 0
    left_open: bool = False


class Orders(Protocol):
    """The store of orders. Every call with a claim raises ``ClaimLostError`` if it is not the latest one."""

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        """Of the orders that are RUNNING or CANCELLING and that nobody holds, claim who waits longest."""

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        """Extend the claim; also returns the status that users want: stop on PAUSED and CANCELLING."""

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        """Release the order in this state: PAUSED with the reason, or a final one."""

    def release(self, claim: Claim) -> None:
        """Release the order in its state: another worker may claim it at once."""
