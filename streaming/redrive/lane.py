"""A lane: one partition of an order's dead letter topic, worked on in a Spark executor.

It is the worker's own work on an order that has one partition: the same mover, decisions and guards, a
transactional id of its own and the order's offsets. Who takes the order over opens the lanes anew and so
fences the ones before. What users want, and whether the claim is still the latest, is looked up in the store.
"""

import os
import threading
from dataclasses import dataclass, replace
from random import Random

from streaming.filter import Filter
from streaming.memory import leave_records_alone
from streaming.redrive.claim import Claim, ClaimLostError
from streaming.redrive.clock import clock_ms
from streaming.redrive.order import Order, Status
from streaming.redrive.selection import intervals
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.telemetry import telemetry_of
from streaming.redrive.work import House
from streaming.redrive.worker import Ending, run
from streaming.store.engine import connect
from streaming.store.handled import HandledBook
from streaming.store.order_claims import OrderClaims
from streaming.store.returns import Watch


@dataclass(frozen=True, slots=True)
class Lane:
    """What an executor is given; it goes there in Spark's own task, never into a log."""

    settings: RedriveSettings
    claim: Claim
    partition: int
    lanes: int
    """How many run at the same time: they share the order's rates."""


def lanes(settings: RedriveSettings, claim: Claim, slots: int) -> list[Lane]:
    """One for every partition that has something to move."""
    partitions = sorted(intervals(claim.order))
    together = max(min(slots, len(partitions)), 1)
    return [
        Lane(settings, replace(claim, order=part(claim.order, one, together)), one, together)
        for one in partitions
    ]


def part(order: Order, partition: int, together: int) -> Order:
    """The order as far as one partition goes, at its share of the rates."""
    limits = order.request.limits
    rates = ("records_per_second", "per_target_records_per_second")
    shares: dict[str, float | int | None] = {
        name: None if (rate := getattr(limits, name)) is None else rate / together for name in rates
    }
    shares["bytes_per_second"] = (
        None if limits.bytes_per_second is None else max(limits.bytes_per_second // together, 1)
    )
    request = order.request.model_copy(update={"limits": limits.model_copy(update=shares)})
    return order.model_copy(
        update={
            "request": request,
            "begin": {partition: order.begin.get(partition, 0)},
            "cut_off": {partition: order.cut_off[partition]},
        }
    )


class _Part:
    """The claim as a lane sees it: looked at, never renewed or let go of."""

    def __init__(self, claims: OrderClaims, claim: Claim, stop: threading.Event) -> None:
        self._claims, self._claim, self._stop = claims, claim, stop
        self.ending: Ending = None
        self._taken = False

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        del worker
        if self._taken and not self._wanted():
            self._stop.set()
            return None
        self._taken = True
        return replace(self._claim, expires_at_ms=now_ms + lease_ms)

    def _wanted(self) -> bool:
        try:
            return self._claims.wanted(self._claim) is Status.RUNNING
        except ClaimLostError:
            return False

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        wanted = self._claims.wanted(claim)
        return replace(claim, expires_at_ms=now_ms + lease_ms), wanted

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        del claim, now_ms
        self.ending = status, status_reason
        self._stop.set()

    def release(self, claim: Claim, now_ms: int) -> None:
        """What may pass is tried again: the next claim of it is this lane's as well."""


def work(lane: Lane) -> Ending:
    """In an executor: until it is done, has to pause (the reason), or has to be let go of (None)."""
    leave_records_alone()
    engine = connect(lane.settings.store_url)
    stop = threading.Event()
    mine = _Part(OrderClaims(engine), lane.claim, stop)
    name = f"lane {lane.partition} of {lane.claim.order.id}"
    telemetry = telemetry_of(lane.settings.otel_endpoint, name, os.environ)
    house = House(
        settings=lane.settings,
        compile_filter=Filter,
        watch=Watch(engine),
        clock=clock_ms,
        rng=Random(),
        lane=f"-{lane.partition}",
        lanes=lane.lanes,
        telemetry=telemetry,
        handled=HandledBook(engine).before,
    )
    try:
        run(mine, house, stop, name)
    finally:
        telemetry.close(lane.settings.shutdown_graceful_timeout_ms)
        engine.dispose()
    return mine.ending
