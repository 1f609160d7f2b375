"""The answers of ``/api/v1/redrives``; the request is ``streaming.redrive.order.OrderRequest``."""

from datetime import datetime

from pydantic import Field

from api.schemas import TIME, Answer, Page
from streaming.redrive.order import OrderRequest, Status

ID = "0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a"
EXAMPLE = {
    "dlq_topic": "dlq.orders",
    "selection": {"filter": 'error_class.endsWith("DataException")'},
    "target": {"kind": "origin"},
    "limits": {"records_per_second": 50},
    "retry": {"max_attempts": 5},
    "dry_run": True,
    "reason": "converter fixed in 4.1",
}
"""A request that does nothing but tell."""


class PlannedRecord(Answer):
    """One record of the selection, and what would become of it."""

    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])
    timestamp: datetime | None = Field(examples=[TIME])
    error_class: str = Field(examples=["org.apache.kafka.connect.errors.DataException"])
    target_topic: str = Field(examples=["orders"])
    target_partition: int | None = Field(description="null: by its key.", examples=[3])
    skip_reason: str = Field(description="Empty: it would be moved.", examples=[""])


class RedrivePlan(Answer):
    """What the reading at the creation has shown; nothing was moved for it."""

    to_move: int = Field(examples=[20000])
    at_least: bool = Field(description="The reading was cut short: there may be more.", examples=[False])
    at_most: int = Field(
        description="The number to confirm. Where the reading was cut short these are offsets: markers of "
        "transactions have some, too.",
        examples=[20000],
    )
    read: int = Field(description="Records that were read.", examples=[20003])
    bytes: int = Field(description="Of keys and values to move.", examples=[38_000_000])
    targets: dict[str, int] = Field(examples=[{"orders": 20000}])
    to_park: int = Field(description="Their attempts are used up.", examples=[0])
    skip_reasons: dict[str, int] = Field(
        description="Records that would stay; `already_moved` and `already_parked`: by earlier orders, which "
        "`again` moves once more.",
        examples=[{"already_moved": 3}],
    )
    rehydrated: int = Field(description="Payload is read at the origin when moved.", examples=[0])
    filter_problems: dict[str, int] = Field(examples=[{}])
    estimated_ms: int | None = Field(description="By the limits; null: none is set.", examples=[400_000])
    examples: list[PlannedRecord]
    warnings: list[str] = Field(examples=[[]])


class RedriveProgress(Answer):
    """How far an order is: the plan says how many records there are until what it did has been counted."""

    text: str = Field(
        description="One line for people.", examples=["1,203 of 20,000 done: 1,200 moved, 3 skipped"]
    )
    done: int = Field(description="Moved, parked, skipped or failed.", examples=[1203])
    total: int = Field(description="Records that it is about, as far as known.", examples=[20000])
    at_least: bool = Field(description="`total` is a lower bound.", examples=[False])
    counted: bool = Field(description="No more counts are to come.", examples=[False])


class Redrive(Answer):
    """An order, as it is now. Counts are of finished transactions."""

    id: str = Field(examples=[ID])
    status: Status = Field(examples=["RUNNING"])
    status_reason: str | None = Field(examples=[None])
    dry_run: bool = Field(examples=[False])
    dlq_topic: str = Field(examples=["dlq.orders"])
    cut_off: dict[str, int] = Field(
        description="End offsets at its creation; what came later is not part of it.",
        examples=[{"0": 6667}],
    )
    progress: RedriveProgress
    to_move: int = Field(description="As planned; see `progress`.", examples=[20000])
    moved: int = Field(examples=[1200])
    skipped: int = Field(examples=[3])
    parked: int = Field(examples=[0])
    failed: int = Field(examples=[0])
    bounced: int = Field(description="Came back to a dead letter topic.", examples=[0])
    settled: int = Field(description="Did not, within `guards.settle_window_ms`.", examples=[1100])
    waiting: int | None = Field(
        description="Put off, as its worker said last; null: engine spark does not tell.", examples=[17]
    )
    skip_reasons: dict[str, int] = Field(examples=[{"payload_expired": 3}])
    records_per_second: float | None = Field(examples=[49.8])
    created_at: datetime | None = Field(examples=[TIME])
    finished_at: datetime | None = Field(examples=[None])
    estimated_end_at: datetime | None = Field(examples=[TIME])
    requested_by: str = Field(examples=["anonymous"])
    policy: str | None = Field(description="Of which it is; null: it was asked for.", examples=[None])
    reason: str = Field(examples=["converter fixed in 4.1"])
    plan: RedrivePlan
    request: OrderRequest


class Redrives(Page[Redrive]):
    """Orders, the newest first."""


class Outcome(Answer):
    """Records of an order with one outcome, for one reason."""

    outcome: str = Field(description="sent, parked, skipped, failed or bounced.", examples=["skipped"])
    reason: str = Field(examples=["payload_expired"])
    records: int = Field(examples=[3])
    first_seen: datetime | None = Field(examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class RedriveOutcomes(Page[Outcome]):
    """The most frequent first."""
