"""The users' side of the orders: made, looked at, paused, resumed, cancelled; kept for ever, dry runs aside.

Of two orders that may select the same record only one is active: both would move it. A dry run is over as
soon as it is made, and moves nothing.
"""

from typing import Final

from sqlalchemy import Connection, Engine, bindparam, delete, func, select, text, tuple_, update

from streaming.redrive.errors import IdempotencyError, OrderOverlapError, OrderStateError, UnknownOrderError
from streaming.redrive.order import Guards, Order, Status
from streaming.redrive.selection import may_overlap
from streaming.store.audit import Witness, unwitnessed
from streaming.store.batch import storable
from streaming.store.engine import insert
from streaming.store.order_rows import ACTIVE, StoredOrder, order_of, stored, values
from streaming.store.returns import Of, returns
from streaming.store.schema import redrive_orders as table

MAX_DRY_RUNS: Final = 1_000
"""The newest are kept: people look at many, and nothing came of them."""


MAX_LOOKED_AT: Final = 100

_NEWEST: Final = (
    select(table)
    .where(table.c.dlq_topic == bindparam("topic"), table.c.dry_run.is_(False))
    .order_by(table.c.created_at_ms.desc(), table.c.id.desc())
    .limit(MAX_LOOKED_AT)
)


class OrderBook:
    """Orders for users; ``streaming.store.order_claims`` is the same table for workers."""

    def __init__(self, engine: Engine, max_dry_runs: int = MAX_DRY_RUNS) -> None:
        self._engine, self._max_dry_runs = engine, max_dry_runs

    def create(
        self, order: Order, plan: str, idempotency_key: str = "", also: Witness = unwitnessed
    ) -> StoredOrder:
        """Keep the order, or find the one that the same key has made from the same request.

        Raises:
            IdempotencyError: the key has made an order from another request.
            OrderOverlapError: an active order may select the same records.
        """
        with self._engine.begin() as connection:
            alone(connection)
            before = _of_key(connection, idempotency_key)
            if before is not None:
                if before.order.request != order.request:
                    raise IdempotencyError(before.order.id)
                return before
            if order.request.dry_run:
                _forget_dry_runs(connection, self._max_dry_runs - 1)
            also(connection, order.id)
            return add(connection, order, plan, idempotency_key)

    def get(self, order: str) -> StoredOrder:
        """The order of this id.

        Raises:
            UnknownOrderError: there is none.
        """
        with self._engine.begin() as connection:
            return _get(connection, order)

    def of_key(self, idempotency_key: str) -> StoredOrder | None:
        """The order that the key has made, if any."""
        with self._engine.begin() as connection:
            return _of_key(connection, idempotency_key)

    def pause(self, order: str, reason: str, also: Witness = unwitnessed) -> StoredOrder:
        """Stop for now; whoever works on it sees it when the claim is renewed.

        Raises:
            UnknownOrderError, OrderStateError: it cannot be paused.
        """
        return self._move(
            order, "paused", {Status.RUNNING: Status.PAUSED}, {Status.PAUSED}, reason, also=also
        )

    def resume(self, order: str, also: Witness = unwitnessed) -> StoredOrder:
        """Go on where it was paused; what came back before counts no more against it.

        Raises:
            UnknownOrderError, OrderStateError: it cannot be resumed.
        """
        return self._move(order, "resumed", {Status.PAUSED: Status.RUNNING}, {Status.RUNNING}, "", also=also)

    def cancel(self, order: str, reason: str, now_ms: int, also: Witness = unwitnessed) -> StoredOrder:
        """Stop for ever: at once where nobody holds it, else as soon as its worker sees it.

        Raises:
            UnknownOrderError, OrderStateError: it is over.
        """
        with self._engine.begin() as connection:
            found = _get(connection, order, lock=True)
            if found.status.final and found.status is not Status.CANCELLED:
                raise OrderStateError(order, found.status, "cancelled")
            if found.status in {Status.CANCELLED, Status.CANCELLING}:
                return found
            status = Status.CANCELLING if found.worker else Status.CANCELLED
            finished_at_ms = now_ms if status.final else 0
            also(connection, order)
            return _set(connection, order, status, reason, finished_at_ms)

    def _move(
        self,
        order: str,
        wish: str,
        moves: dict[Status, Status],
        already: set[Status],
        reason: str,
        *,
        also: Witness,
    ) -> StoredOrder:
        with self._engine.begin() as connection:
            found = _get(connection, order, lock=True)
            if found.status in already:
                return found
            if found.status not in moves:
                raise OrderStateError(order, found.status, wish)
            if found.status is Status.PAUSED:
                _forgive(connection, order)
            also(connection, order)
            return _set(connection, order, moves[found.status], reason, 0)


def add(connection: Connection, order: Order, plan: str, idempotency_key: str = "") -> StoredOrder:
    """Keep it; the caller is ``alone``. Raises ``OrderOverlapError``."""
    if not order.request.dry_run:
        _refuse_overlap(connection, order)
    connection.execute(insert(connection, table), [values(order, plan, idempotency_key)])
    return _get(connection, order.id)


def page(
    connection: Connection, after: tuple[int | str, ...] | None, limit: int, policy: str = ""
) -> list[StoredOrder]:
    """Up to ``limit`` orders, of one policy or of all, that come behind ``after``, the newest first."""
    query = select(table).order_by(table.c.created_at_ms.desc(), table.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(table.c.created_at_ms, table.c.id) < after)
    if policy:
        query = query.where(table.c.policy == policy)
    return [stored(row) for row in connection.execute(query).mappings()]


def find(connection: Connection, order: str) -> StoredOrder:
    """The order of this id; raises ``UnknownOrderError``."""
    return _get(connection, order)


def naming_group(connection: Connection, dlq_topic: str, fingerprint: str) -> list[StoredOrder]:
    """The orders, dry runs aside, whose selection is this group of the topic."""
    query = select(table).where(table.c.dlq_topic == dlq_topic, table.c.dry_run.is_(False))
    query = query.where(table.c.request.contains(f'"{fingerprint}"', autoescape=True))
    found = [stored(row) for row in connection.execute(query).mappings()]
    return [one for one in found if one.order.request.selection.group == fingerprint]


def longest_settle_window_ms(connection: Connection, dlq_topic: str) -> int:
    """Of the topic's newest orders, dry runs aside; the default where there are none."""
    newest = connection.execute(_NEWEST, {"topic": dlq_topic}).mappings()
    windows = (order_of(row).request.guards.settle_window_ms for row in newest)
    return max(windows, default=Guards().settle_window_ms)


def count_by_status(connection: Connection) -> dict[Status, int]:
    """How many orders are in each state; dry runs are not among them."""
    query = select(table.c.status, func.count()).where(table.c.dry_run.is_(False)).group_by(table.c.status)
    return {Status(status): count for status, count in connection.execute(query)}


def alone(connection: Connection) -> None:
    """Nobody else makes an order until the end of this transaction; SQLite has no other writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


def _get(connection: Connection, order: str, *, lock: bool = False) -> StoredOrder:
    query = select(table).where(table.c.id == order)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise UnknownOrderError(order)
    return stored(row)


def _of_key(connection: Connection, key: str) -> StoredOrder | None:
    query = select(table).where(table.c.idempotency_key == key)
    row = connection.execute(query).mappings().first() if key else None
    return None if row is None else stored(row)


def _refuse_overlap(connection: Connection, order: Order) -> None:
    query = select(table).where(
        table.c.dlq_topic == order.request.dlq_topic, table.c.status.in_(ACTIVE), table.c.dry_run.is_(False)
    )
    for other in map(stored, connection.execute(query).mappings()):
        if may_overlap(order, other.order):
            raise OrderOverlapError(order.request.dlq_topic, other.order.id, other.status)


def _forget_dry_runs(connection: Connection, kept: int) -> None:
    """All but the newest."""
    query = select(table.c.id).where(table.c.dry_run).offset(kept)
    beyond = connection.scalars(query.order_by(table.c.created_at_ms.desc(), table.c.id.desc())).all()
    connection.execute(delete(table).where(table.c.id.in_(beyond)))


def _forgive(connection: Connection, order: str) -> None:
    counted = returns(connection, Of.order(order))
    before = {"sent_before": counted.sent, "bounced_before": counted.bounced}
    connection.execute(update(table).where(table.c.id == order).values(before))


def _set(connection: Connection, order: str, status: Status, reason: str, finished_at_ms: int) -> StoredOrder:
    connection.execute(
        update(table)
        .where(table.c.id == order)
        .values(status=status, status_reason=storable(reason), finished_at_ms=finished_at_ms)
    )
    return _get(connection, order)
