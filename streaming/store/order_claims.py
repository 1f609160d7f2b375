"""The workers' side of the orders: leases with fencing (``streaming.redrive.claim.Orders``).

Every claim raises the order's epoch, and every later call compares it in the same transaction: a worker that
was thought dead can change nothing. A lease that ends later than any lease can was written by a clock that
was ahead; it counts as ended. So a clock that jumps costs a takeover at most.
"""

from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, or_, select, update

from streaming.redrive.claim import Claim, ClaimLostError
from streaming.redrive.order import Status
from streaming.store import audit
from streaming.store.audit import WORKER, Entry
from streaming.store.batch import storable
from streaming.store.order_rows import order_of
from streaming.store.schema import redrive_orders as table

MAX_LEASE_MS: Final = 60_000
WORKABLE: Final = (Status.RUNNING, Status.CANCELLING)
AS_WANTED: Final = ((Status.PAUSED, Status.PAUSED), (Status.CANCELLING, Status.CANCELLED))
"""What a user asked for and how the worker left it: the user's reason is the reason."""


class OrderClaims:
    """Orders for workers; any number of processes may use the same store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        """The oldest order that is RUNNING or CANCELLING and that nobody holds."""
        expires_at_ms = _expiry(now_ms, lease_ms)
        free = or_(table.c.expires_at_ms <= now_ms, table.c.expires_at_ms > now_ms + MAX_LEASE_MS)
        query = (
            select(table)
            .where(table.c.status.in_(WORKABLE), table.c.dry_run.is_(False), free)
            .order_by(table.c.created_at_ms, table.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._engine.begin() as connection:
            row = connection.execute(query).mappings().first()
            if row is None:
                return None
            epoch = row["epoch"] + 1
            connection.execute(
                update(table)
                .where(table.c.id == row["id"])
                .values(worker=storable(worker), epoch=epoch, expires_at_ms=expires_at_ms)
            )
        return Claim(order_of(row), epoch, expires_at_ms)

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        """Hold it longer; with the status that users want: stop in PAUSED and CANCELLING."""
        expires_at_ms = _expiry(now_ms, lease_ms)
        with self._engine.begin() as connection:
            status, _ = _held(connection, claim)
            _change(connection, claim, expires_at_ms=expires_at_ms)
        return replace(claim, expires_at_ms=expires_at_ms), status

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        """Let go of it in this state: PAUSED with the reason, or a final one.

        A worker that pauses an order which somebody has cancelled meanwhile has stopped: it is CANCELLED.
        """
        if status is not Status.PAUSED and not status.final:
            raise ValueError(f"an order is let go of PAUSED or in a final state, not {status}")
        with self._engine.begin() as connection:
            wanted, wanted_reason = _held(connection, claim)
            left = Status.CANCELLED if (wanted, status) == (Status.CANCELLING, Status.PAUSED) else status
            as_wanted = (wanted, left) in AS_WANTED
            _change(
                connection,
                claim,
                status=left,
                status_reason=(wanted_reason if as_wanted else "") or storable(status_reason),
                finished_at_ms=now_ms if left.final else 0,
                worker="",
                expires_at_ms=0,
            )
            deed = f"redrives.{left.lower()}"
            why = wanted_reason if as_wanted else status_reason
            audit.write(
                connection, Entry(at_ms=now_ms, who=WORKER, action=deed, subject=claim.order.id, why=why)
            )

    def release(self, claim: Claim, now_ms: int) -> None:
        """Let go of it as it is: the next worker takes over at once."""
        del now_ms
        with self._engine.begin() as connection:
            _held(connection, claim)
            _change(connection, claim, worker="", expires_at_ms=0)


def _expiry(now_ms: int, lease_ms: int) -> int:
    if not 0 < lease_ms <= MAX_LEASE_MS:
        raise ValueError(f"lease_ms must be from 1 to {MAX_LEASE_MS}, not {lease_ms}")
    return now_ms + lease_ms


def _held(connection: Connection, claim: Claim) -> tuple[Status, str]:
    """The order's status and its reason, its row locked, if the claim is its latest and it is not over."""
    query = select(table.c.status, table.c.status_reason, table.c.epoch, table.c.worker)
    row = connection.execute(query.where(table.c.id == claim.order.id).with_for_update()).first()
    if row is None or row.epoch != claim.epoch or not row.worker or Status(row.status).final:
        raise ClaimLostError(f"order {claim.order.id} is no longer held by claim {claim.epoch}")
    return Status(row.status), row.status_reason


def _change(connection: Connection, claim: Claim, **values: Any) -> None:  # noqa: ANN401 -- columns
    connection.execute(update(table).where(table.c.id == claim.order.id).values(values))
