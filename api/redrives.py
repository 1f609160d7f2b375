"""Redrive orders as they are: what was asked for, joined with what streaming has counted of their outcomes.

The counts come from events that are in the same Kafka transactions as the records; they are as exact, and as
late as streaming is.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection

from api.redrive_progress import Progress
from api.rows import SeriesRow, series_rows_of
from api.sources import source_rows
from streaming.heartbeat import STREAMING
from streaming.redrive.decision import SkipReason
from streaming.redrive.order import Status
from streaming.redrive.plan import Plan
from streaming.store import orders
from streaming.store.order_rows import StoredOrder
from streaming.store.returns import Loop, Of, loop
from streaming.store.series import REDRIVE_ORDERS

SENT, PARKED, SKIPPED, FAILED, BOUNCED = "sent", "parked", "skipped", "failed", "bounced"
COUNTING_MS: Final = 10_000
"""Within this after the end of an order streaming has counted what it did, if it runs."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of an order's records; ``rows`` are the counters as they are."""

    rows: Sequence[SeriesRow] = field(default_factory=tuple)

    def total(self, outcome: str) -> int:
        """Records with this outcome, whatever the reason."""
        return sum(row.value for row in self.rows if row.labels["outcome"] == outcome)

    def reasons(self, outcome: str) -> dict[str, int]:
        """Records with this outcome by its reason, the most frequent first."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            if row.labels["outcome"] == outcome:
                counts[row.labels["outcome_reason"]] += row.value
        return dict(counts.most_common())

    @property
    def records_per_second(self) -> float | None:
        """How fast records were sent, from the first to the last; None before there are two moments."""
        sent = [row for row in self.rows if row.labels["outcome"] == SENT]
        if not sent:
            return None
        span_ms = max(row.last_ms for row in sent) - min(row.first_ms for row in sent)
        return round(self.total(SENT) * 1_000 / span_ms, 1) if span_ms > 0 else None


@dataclass(frozen=True, slots=True)
class RedriveView:
    """An order with its plan, its outcomes, and how many records have stayed away for its settle window."""

    stored: StoredOrder
    plan: Plan
    outcomes: Outcomes
    settled: int
    heard_ms: int
    """When streaming, which counts, was heard last."""

    @property
    def progress(self) -> Progress:
        """How far it is."""
        stored = self.stored
        return Progress(
            plan=self.plan,
            counts={outcome: self.outcomes.total(outcome) for outcome in (SENT, PARKED, SKIPPED, FAILED)},
            status=stored.status,
            dry_run=stored.order.request.dry_run,
            heard_since=stored.status.final and self.heard_ms >= stored.finished_at_ms + COUNTING_MS,
            gone=self.outcomes.reasons(SKIPPED).get(SkipReason.RECORD_GONE, 0),
        )

    def estimated_end_ms(self, now_ms: int) -> int:
        """When it will be done at the pace it has, else at its limit; 0: nobody knows, or it does not run."""
        if self.stored.status is not Status.RUNNING or self.plan.at_least:
            return 0
        pace = self.outcomes.records_per_second or self.stored.order.request.limits.records_per_second
        left = max(0, self.plan.to_move - self.outcomes.total(SENT))
        return now_ms + round(left * 1_000 / pace) if pace else 0


def views(connection: Connection, wished: Iterable[StoredOrder], now_ms: int) -> list[RedriveView]:
    """The orders with what has been counted of each."""
    wanted = list(wished)
    counted = _outcomes(connection, [one.order.id for one in wanted])
    heard_ms = max((row.heartbeat_ms for row in source_rows(connection) if row.kind == STREAMING), default=0)
    return [
        RedriveView(
            one,
            Plan.model_validate_json(one.plan),
            Outcomes(tuple(counted.get(one.order.id, ()))),
            _loop(connection, one, now_ms).settled,
            heard_ms,
        )
        for one in wanted
    ]


def of_group(connection: Connection, dlq_topic: str, fingerprint: str, now_ms: int) -> Loop:
    """What became of the group's records, whichever order or policy has sent them."""
    window_ms = orders.longest_settle_window_ms(connection, dlq_topic)
    return loop(connection, Of.group(dlq_topic, fingerprint), window_ms, now_ms)


def _loop(connection: Connection, one: StoredOrder, now_ms: int) -> Loop:
    return loop(connection, Of.order(one.order.id), one.order.request.guards.settle_window_ms, now_ms)


def _outcomes(connection: Connection, orders_told: Sequence[str]) -> Mapping[str, list[SeriesRow]]:
    by_order: dict[str, list[SeriesRow]] = defaultdict(list)
    for row in series_rows_of(connection, REDRIVE_ORDERS, orders_told):
        by_order[row.labels["order"]].append(row)
    return by_order
