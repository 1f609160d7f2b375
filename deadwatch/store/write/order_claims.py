"""The workers' side of the orders: leases with fencing (``deadwatch.orders.order.Orders``).

Every claim raises the order's epoch, and every later call compares it in the same transaction: a worker that
was thought dead can change nothing. A lease that ends later than any lease can was written by a clock that
was ahead; it counts as ended. So a clock that jumps costs a takeover at most.
"""

from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, case, or_, select, update

from deadwatch.orders.order import Claim, ClaimLostError, Status
from deadwatch.store.engine import reading
from deadwatch.store.schema import redrive_orders as table
from deadwatch.store.storable import storable
from deadwatch.store.write import audit
from deadwatch.store.write.audit import WORKER, Entry
from deadwatch.store.write.orders import order_of

MAX_LEASE_MS: Final = 60_000
WORKABLE: Final = (Status.RUNNING, Status.CANCELLING)
AS_REQUESTED: Final = ((Status.PAUSED, Status.PAUSED), (Status.CANCELLING, Status.CANCELLED))
"""Status that a user asked for, and status in which the worker left the order: the user's reason is kept."""


class OrderClaims:
    """Orders for workers; any number of processes may use the same store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        """Of the orders that are RUNNING or CANCELLING and that nobody holds, claim who waits longest.

        An order waits since its creation, or since the end of a lease that has run out: what fails and is
        not released comes after those that have waited meanwhile.
        """
        expires_at_ms = _expiry(now_ms, lease_ms)
        free = or_(table.c.expires_at_ms <= now_ms, table.c.expires_at_ms > now_ms + MAX_LEASE_MS)
        ran_out = table.c.expires_at_ms.between(table.c.created_at_ms, now_ms)
        since_ms = case((ran_out, table.c.expires_at_ms), else_=table.c.created_at_ms)
        query = (
            select(table)
            .where(table.c.status.in_(WORKABLE), table.c.dry_run.is_(False), free)
            .order_by(since_ms, table.c.created_at_ms, table.c.id)
            .limit(1)
        )
        with reading(self._engine) as connection:  # no lock is taken where there is nothing to claim
            if connection.execute(query).first() is None:
                return None
        with self._engine.begin() as connection:
            row = connection.execute(query.with_for_update(skip_locked=True)).mappings().first()
            if row is None:
                return None
            epoch = row["epoch"] + 1
            claim = Claim(order_of(row), epoch, expires_at_ms)
            _change(connection, claim, worker=storable(worker), epoch=epoch, expires_at_ms=expires_at_ms)
        return claim

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        """Extend the claim; also returns the status that users want: stop on PAUSED and CANCELLING."""
        expires_at_ms = _expiry(now_ms, lease_ms)
        with self._engine.begin() as connection:
            status, _ = _held(connection, claim)
            proceeded = {"proceeded_at_ms": claim.proceeded_at_ms} if claim.proceeded_at_ms else {}
            _change(connection, claim, expires_at_ms=expires_at_ms, waiting=claim.waiting, **proceeded)
        return replace(claim, expires_at_ms=expires_at_ms), status

    def wanted(self, claim: Claim) -> Status:
        """The status that users want, for a worker whose claim another thread renews."""
        with reading(self._engine) as connection:
            return _held(connection, claim, lock=False)[0]

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        """Release the order in this state: PAUSED with the reason, or a final one.

        If a user has cancelled the order meanwhile, pausing it makes it CANCELLED; where a transaction is
        left open it is released instead, for the next worker to fence.
        """
        if status is not Status.PAUSED and not status.final:
            raise ValueError(f"an order is let go of PAUSED or in a final state, not {status}")
        with self._engine.begin() as connection:
            requested, users_reason = _held(connection, claim)
            if (requested, status, claim.left_open) == (Status.CANCELLING, Status.PAUSED, True):
                _change(connection, claim, **_let_go(claim))
                return
            left = Status.CANCELLED if (requested, status) == (Status.CANCELLING, Status.PAUSED) else status
            as_requested = (requested, left) in AS_REQUESTED
            _change(
                connection,
                claim,
                status=left,
                status_reason=(users_reason if as_requested else "") or storable(status_reason),
                finished_at_ms=now_ms if left.final else 0,
                **_let_go(claim),
            )
            why = users_reason if as_requested else status_reason
            entry = Entry(at_ms=now_ms, who=WORKER, action=f"redrives.{left.lower()}", why=why)
            audit.write(connection, replace(entry, subject=claim.order.id))

    def release(self, claim: Claim) -> None:
        """Release the order in its state: another worker may claim it at once."""
        with self._engine.begin() as connection:
            _held(connection, claim)
            _change(connection, claim, **_let_go(claim))


def is_held(expires_at_ms: int, now_ms: int) -> bool:
    """Whether a lease that ends then lasts; one that ends later than any lease can counts as ended."""
    return now_ms < expires_at_ms <= now_ms + MAX_LEASE_MS


def _expiry(now_ms: int, lease_ms: int) -> int:
    if not 0 < lease_ms <= MAX_LEASE_MS:
        raise ValueError(f"lease_ms must be from 1 to {MAX_LEASE_MS}, not {lease_ms}")
    return now_ms + lease_ms


def _held(connection: Connection, claim: Claim, *, lock: bool = True) -> tuple[Status, str]:
    """The order's status and its reason; raises ``ClaimLostError`` unless the claim is its latest."""
    query = select(table.c.status, table.c.status_reason, table.c.epoch, table.c.worker)
    query = query.where(table.c.id == claim.order.id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None or row.epoch != claim.epoch or not row.worker or Status(row.status).final:
        raise ClaimLostError(f"order {claim.order.id} is no longer held by claim {claim.epoch}")
    return Status(row.status), row.status_reason


def _let_go(claim: Claim) -> dict[str, Any]:
    return {"expires_at_ms": 0} | ({} if claim.left_open else {"worker": ""})


def _change(connection: Connection, claim: Claim, **values: Any) -> None:  # noqa: ANN401 -- columns
    connection.execute(update(table).where(table.c.id == claim.order.id).values(values))
