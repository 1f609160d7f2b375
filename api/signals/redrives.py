"""Redrive orders with what streaming has counted of their outcomes, and how far each order is.

The counts come from events that are in the same Kafka transactions as the records; they are as exact, and as
late, as streaming is. Until an order is over, its plan says how many records there are; that is a lower bound
where the scan was cut short. Once it is completed and all is counted, the counts are the total. Console,
command line and scripts show the same figures and the same line.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from api.signals.pipeline import source_rows
from api.signals.series import SeriesRow, series_rows_of
from deadwatch.orders.order import Status
from deadwatch.orders.reasons import SkipReason
from deadwatch.store.heartbeat import STREAMING
from deadwatch.store.returns import Loop, Scope, loop, loops
from deadwatch.store.series import REDRIVE_ORDERS
from deadwatch.store.statements import chunks
from deadwatch.store.write import orders
from deadwatch.store.write.counters import OTHER
from deadwatch.store.write.order_claims import is_held
from deadwatch.store.write.orders import ACTIVE, StoredOrder, count_by_status, running
from redrive.plan.plan import Plan

SENT, PARKED, SKIPPED, FAILED, BOUNCED = "sent", "parked", "skipped", "failed", "bounced"
NOT_MOVED: Final = (PARKED, SKIPPED, FAILED)
ORDER, OUTCOME, REASON = range(len(REDRIVE_ORDERS.labels))
"""Places of the labels of an order's counters."""
STUCK_MS: Final = 15 * 60_000
"""An order that runs and has done nothing for so long is stuck, unless a record waits."""
COUNTING_MS: Final = 10_000
"""Within this after the end of an order streaming has counted what it did, if it runs."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of an order's records; ``rows`` are the counters."""

    rows: Sequence[SeriesRow]

    def total(self, outcome: str) -> int:
        """Records with this outcome, for any reason."""
        return sum(row.value for row in self.rows if row.labels[OUTCOME] == outcome)

    def reasons(self, outcome: str) -> dict[str, int]:
        """Records with this outcome by its reason, the most frequent first."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            if row.labels[OUTCOME] == outcome:
                counts[row.labels[REASON]] += row.value
        return dict(counts.most_common())

    @property
    def records_per_second(self) -> float | None:
        """How fast records were sent, from the first to the last; None before there are two moments."""
        sent = [row for row in self.rows if row.labels[OUTCOME] == SENT]
        if not sent:
            return None
        span_ms = max(row.last_ms for row in sent) - min(row.first_ms for row in sent)
        return round(self.total(SENT) * 1_000 / span_ms, 1) if span_ms > 0 else None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an order is; ``counts`` are the records that have an outcome, by outcome.

    ``heard_since``: streaming sent a heartbeat so long after the end that it has counted everything.
    """

    plan: Plan
    counts: Mapping[str, int]
    status: Status
    dry_run: bool
    heard_since: bool
    gone: int = 0
    """Of the skipped ones: offsets that retention took before they were read, at most as many records."""

    @property
    def done(self) -> int:
        """Records that were moved, parked, skipped or have failed."""
        return sum(self.counts.get(outcome, 0) for outcome in (SENT, *NOT_MOVED))

    @property
    def total(self) -> int:
        """Records that the order is about, as far as that is known."""
        return self.done if self._complete else max(self.plan.selected, self.done)

    @property
    def at_least(self) -> bool:
        """Whether the total is a lower bound."""
        return self.plan.at_least and not self._complete

    @property
    def counted(self) -> bool:
        """Whether no more counts are to come: what an order did is counted a moment later."""
        if self.dry_run:
            return True
        planned = not self.plan.at_least and self.done >= self.plan.selected
        return self.status.final and (self.heard_since or planned)

    @property
    def text(self) -> str:
        """The progress as one line for people."""
        if self.dry_run:
            return self._planned()
        moved, others = self.counts.get(SENT, 0), _others(self.counts, self.gone)
        if self._complete:
            if not self.done:
                return "nothing was moved"
            return f"{self.done:,} done: {moved:,} moved{others}" if others else f"all {moved:,} moved"
        total = f"{'at least ' if self.at_least else ''}{self.total:,}"
        text = (
            f"{self.done:,} of {total} done: {moved:,} moved{others}"
            if others
            else f"{moved:,} of {total} moved"
        )
        return f"{text}; the counts of the others still come" if self.status is Status.COMPLETED else text

    @property
    def _complete(self) -> bool:
        return self.status is Status.COMPLETED and self.counted and not self.dry_run

    def _planned(self) -> str:
        plan = self.plan
        least = "at least " if plan.at_least else ""
        counts = {"parked": plan.to_park, "skipped": sum(plan.skip_reasons.values())}
        return f"{least}{plan.to_move:,} would be moved{_others(counts, 0)}"


@dataclass(frozen=True, slots=True)
class RedriveView:
    """An order, its plan and its outcomes; ``settled`` records did not come back within its settle window."""

    stored: StoredOrder
    plan: Plan
    outcomes: Outcomes
    settled: int
    heartbeat_ms: int
    """When streaming, which counts outcomes, sent its last heartbeat."""

    @property
    def progress(self) -> Progress:
        """How far the order is."""
        stored = self.stored
        return Progress(
            plan=self.plan,
            counts={outcome: self.outcomes.total(outcome) for outcome in (SENT, *NOT_MOVED)},
            status=stored.status,
            dry_run=stored.order.request.dry_run,
            heard_since=stored.status.final and self.heartbeat_ms >= stored.finished_at_ms + COUNTING_MS,
            gone=self.outcomes.reasons(SKIPPED).get(SkipReason.RECORD_GONE, 0),
        )

    def estimated_end_ms(self, now_ms: int) -> int:
        """When it will be done at its pace so far, else at its limit; 0: not known, or it does not run."""
        if self.stored.status is not Status.RUNNING or self.plan.at_least:
            return 0
        pace = self.outcomes.records_per_second or self.stored.order.request.limits.records_per_second
        left = max(0, self.plan.to_move - self.outcomes.total(SENT))
        return now_ms + round(left * 1_000 / pace) if pace else 0


def standstill(connection: Connection) -> Callable[[int], dict[Status, int]]:
    """How many orders move nothing at a moment, by each state that is not final; {} before the first order.

    A transaction may have no outcome: what it has read was not selected. A record that came back is no move
    of its order. Outcomes for which the counter has no more rows may be of any order: then all have moved.
    One that nobody holds while others are held waits for its turn.
    """
    found, counts = running(connection), count_by_status(connection)
    moved_ms = {order.id: max(order.created_at_ms, order.proceeded_at_ms) for order in found}
    for ids in chunks([*moved_ms, OTHER] if found else ()):
        for row in series_rows_of(connection, REDRIVE_ORDERS, ids):
            order = row.labels[ORDER]
            of = moved_ms if order == OTHER else (order,)
            if row.labels[OUTCOME] != BOUNCED:
                moved_ms |= {one: max(moved_ms[one], row.last_ms) for one in of}

    def at(now_ms: int) -> dict[Status, int]:
        if not counts:
            return {}
        held = {order.id for order in found if is_held(order.expires_at_ms, now_ms)}
        still = [order for order in found if now_ms - moved_ms[order.id] > STUCK_MS]
        stuck = sum(
            not (order.waiting or order.in_executors) if order.id in held else not held for order in still
        )
        return {status: counts.get(status, 0) for status in ACTIVE} | {Status.RUNNING: stuck}

    return at


def views(connection: Connection, stored: Iterable[StoredOrder], now_ms: int) -> list[RedriveView]:
    """The orders with what has been counted of each."""
    rows = {row.order.id: row for row in stored}
    counted: dict[str, list[SeriesRow]] = defaultdict(list)
    for counter in series_rows_of(connection, REDRIVE_ORDERS, list(rows)):
        counted[counter.labels[ORDER]].append(counter)
    heartbeats = (row.heartbeat_ms for row in source_rows(connection) if row.kind == STREAMING)
    heartbeat_ms = max(heartbeats, default=0)
    windows_ms = {Scope.order(one): row.order.request.guards.settle_window_ms for one, row in rows.items()}
    found = loops(connection, REDRIVE_ORDERS, windows_ms, now_ms).values()
    return [
        RedriveView(
            row, Plan.model_validate_json(row.plan), Outcomes(counted[one]), loop.settled, heartbeat_ms
        )
        for (one, row), loop in zip(rows.items(), found, strict=True)
    ]


def of_group(connection: Connection, dlq_topic: str, fingerprint: str, now_ms: int) -> Loop:
    """What became of the group's records, whichever order or policy has sent them."""
    window_ms = orders.longest_settle_window_ms(connection, dlq_topic)
    return loop(connection, Scope.group(dlq_topic, fingerprint), window_ms, now_ms)


def _others(counts: Mapping[str, int], gone: int) -> str:
    """What became of the records that were not moved; "" where all were."""
    left = {name: counts.get(name, 0) for name in NOT_MOVED}
    left[SKIPPED] -= gone
    text = "".join(f", {count:,} {name}" for name, count in left.items() if count > 0)
    return f"{text}, at most {gone:,} gone" if gone else text
