"""Orders for users: created, read, paused, resumed, cancelled. They are kept for ever, except dry runs.

Of two orders that may select the same record only one may be active, since both would move it. A dry run is
completed as soon as it is created, and moves nothing.
"""

import json
from dataclasses import dataclass, fields
from typing import Any, Final

from sqlalchemy import Connection, Engine, RowMapping, delete, func, or_, select, text, tuple_, update

from deadwatch.orders.errors import IdempotencyError, OrderStateError, UnknownOrderError
from deadwatch.orders.order import Guards, Order, OrderRequest, Status
from deadwatch.orders.selection import refuse_overlap
from deadwatch.store.engine import reading
from deadwatch.store.returns import Scope, returns
from deadwatch.store.schema import redrive_orders as table
from deadwatch.store.statements import insert
from deadwatch.store.storable import storable
from deadwatch.store.write.audit import Witness, unwitnessed

ACTIVE: Final = (Status.RUNNING, Status.PAUSED, Status.CANCELLING)
MAX_DRY_RUNS: Final = 1_000
"""How many dry runs are kept, the newest ones."""
MAX_LOOKED_AT: Final = 100
MAX_MAKING_MS: Final = 60_000
"""What was made or has ended later than this after an order was begun to be made was so by another clock."""
ZEROS: Final = ("epoch", "expires_at_ms", "waiting", "proceeded_at_ms", "sent_before", "bounced_before")
"""What a new order has none of."""


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """An order with its state; ``plan`` is the result of the scan at its creation, as JSON."""

    order: Order
    plan: str
    status: Status
    status_reason: str
    finished_at_ms: int
    idempotency_key: str
    worker: str
    epoch: int
    expires_at_ms: int
    waiting: int

    @property
    def key(self) -> tuple[int, str]:
        """The order's key in the order of pages."""
        return self.order.created_at_ms, self.order.id


@dataclass(frozen=True, slots=True)
class RunningOrder:
    """What tells whether an order that is RUNNING is worked on; ``waiting`` is of its last claim, and
    ``proceeded_at_ms`` of its last transaction, 0 before the first.
    """

    id: str
    created_at_ms: int
    expires_at_ms: int
    waiting: int
    proceeded_at_ms: int
    request: str
    """JSON of ``OrderRequest``."""

    @property
    def in_executors(self) -> bool:
        """Whether Spark moves its records; nobody reports then how many wait."""
        return bool(json.loads(self.request).get("engine") == "spark")


class OrderBook:
    """Orders for users; ``OrderClaims`` is the same table for workers."""

    def __init__(
        self, engine: Engine, max_dry_runs: int = MAX_DRY_RUNS, max_making_ms: int = MAX_MAKING_MS
    ) -> None:
        self._engine, self._max_dry_runs, self._max_making_ms = engine, max_dry_runs, max_making_ms

    def create(
        self, order: Order, plan: str, idempotency_key: str = "", also: Witness = unwitnessed
    ) -> StoredOrder:
        """Add the order, or find the one that the same key has made from the same request.

        Raises ``IdempotencyError``: the key has made an order from another request; else as ``add``.
        """
        with self._engine.begin() as connection:
            lock_creation(connection)
            before = _of_key(connection, idempotency_key, order.request)
            if before is not None:
                return before
            if order.request.dry_run:
                _forget_dry_runs(connection, self._max_dry_runs - 1)
            also(connection, order.id)
            return add(connection, order, plan, idempotency_key, self._max_making_ms)

    def get(self, order: str) -> StoredOrder:
        """The order with this id. Raises ``UnknownOrderError``: there is none."""
        with reading(self._engine) as connection:
            return find(connection, order)

    def of_key(self, idempotency_key: str, request: OrderRequest) -> StoredOrder | None:
        """The order that the key has made, if any; ``IdempotencyError``: it was from another request."""
        with reading(self._engine) as connection:
            return _of_key(connection, idempotency_key, request)

    def pause(self, order: str, reason: str, also: Witness = unwitnessed) -> StoredOrder:
        """Pause the order; its worker notices when it renews its claim.

        Raises ``UnknownOrderError`` or ``OrderStateError``: it cannot be paused.
        """
        return self._move(order, "paused", Status.RUNNING, Status.PAUSED, reason, also=also)

    def resume(self, order: str, also: Witness = unwitnessed) -> StoredOrder:
        """Resume a paused order; records that came back before no longer count against it.

        Raises ``UnknownOrderError`` or ``OrderStateError``: it cannot be resumed.
        """
        return self._move(order, "resumed", Status.PAUSED, Status.RUNNING, "", also=also)

    def cancel(self, order: str, reason: str, now_ms: int, also: Witness = unwitnessed) -> StoredOrder:
        """Cancel the order: at once if nobody holds it, else as soon as its worker notices.

        Raises ``UnknownOrderError`` or ``OrderStateError``: it is over.
        """
        with self._engine.begin() as connection:
            found = find(connection, order, lock=True)
            if found.status.final and found.status is not Status.CANCELLED:
                raise OrderStateError(order, found.status, "cancelled")
            if found.status in {Status.CANCELLED, Status.CANCELLING}:
                return found
            status = Status.CANCELLING if found.worker else Status.CANCELLED
            finished_at_ms = now_ms if status.final else 0
            also(connection, order)
            return _set(connection, order, status, reason, finished_at_ms)

    def _move(
        self, order: str, action: str, old: Status, new: Status, reason: str, *, also: Witness
    ) -> StoredOrder:
        with self._engine.begin() as connection:
            found = find(connection, order, lock=True)
            if found.status is new:
                return found
            if found.status is not old:
                raise OrderStateError(order, found.status, action)
            if old is Status.PAUSED:
                counted = returns(connection, Scope.order(order))
                before = {"sent_before": counted.sent, "bounced_before": counted.bounced}
                connection.execute(update(table).where(table.c.id == order).values(before))
            also(connection, order)
            return _set(connection, order, new, reason, 0)


def add(
    connection: Connection, order: Order, plan: str, key: str = "", max_making_ms: int = MAX_MAKING_MS
) -> StoredOrder:
    """Add the order; the caller has called ``lock_creation``. Raises as ``refuse_overlap``."""
    refuse_active(connection, order, max_making_ms)
    connection.execute(insert(connection, table), [_values(order, plan, key)])
    return find(connection, order.id)


def refuse_active(connection: Connection, order: Order, making_ms: int = -1, key: str = "") -> None:
    """Refuse an order that may overlap an active one, or one that was made or has ended within so long; a dry
    run, or one that the same key has made, is no rival. Raises as ``refuse_overlap``.
    """
    if order.request.dry_run:
        return
    made_ms = order.created_at_ms
    times_ms = table.c.created_at_ms, table.c.finished_at_ms  # the first is when it was begun to be made
    since = or_(*(one.between(made_ms, made_ms + making_ms) for one in times_ms)) & (table.c.epoch > 0)
    query = select(table).where(table.c.dlq_topic == order.request.dlq_topic, table.c.dry_run.is_(False))
    if key:
        query = query.where(table.c.idempotency_key != key)
    for other in map(stored, connection.execute(query.where(table.c.status.in_(ACTIVE) | since)).mappings()):
        refuse_overlap(order, other.order, other.status)


def page(
    connection: Connection,
    after: tuple[int | str, ...] | None,
    limit: int,
    policy: str = "",
    *,
    dry_runs: bool = True,
) -> list[StoredOrder]:
    """Up to ``limit`` orders after the key ``after``, the newest first; of one policy or of all, with dry
    runs or without.
    """
    query = select(table).order_by(table.c.created_at_ms.desc(), table.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(table.c.created_at_ms, table.c.id) < after)
    if policy:
        query = query.where(table.c.policy == policy)
    if not dry_runs:
        query = query.where(table.c.dry_run.is_(False))
    return [stored(row) for row in connection.execute(query).mappings()]


def naming_group(connection: Connection, dlq_topic: str, fingerprint: str) -> list[StoredOrder]:
    """The orders, except dry runs, whose selection is this group of the topic."""
    query = select(table).where(table.c.dlq_topic == dlq_topic, table.c.dry_run.is_(False))
    query = query.where(table.c.request.contains(f'"{fingerprint}"', autoescape=True))
    found = [stored(row) for row in connection.execute(query).mappings()]
    return [one for one in found if one.order.request.selection.group == fingerprint]


def longest_settle_window_ms(connection: Connection, dlq_topic: str) -> int:
    """The longest window of the topic's newest orders, except dry runs; the default without orders."""
    query = select(table).where(table.c.dlq_topic == dlq_topic, table.c.dry_run.is_(False))
    newest = query.order_by(table.c.created_at_ms.desc(), table.c.id.desc()).limit(MAX_LOOKED_AT)
    found = map(order_of, connection.execute(newest).mappings())
    return max((one.request.guards.settle_window_ms for one in found), default=Guards().settle_window_ms)


def count_by_status(connection: Connection) -> dict[Status, int]:
    """How many orders are in each state, except dry runs."""
    query = select(table.c.status, func.count()).where(table.c.dry_run.is_(False)).group_by(table.c.status)
    return {Status(status): count for status, count in connection.execute(query)}


def running(connection: Connection) -> list[RunningOrder]:
    """The orders that are RUNNING, except dry runs."""
    columns = (table.c[one.name] for one in fields(RunningOrder))
    query = select(*columns).where(table.c.status == Status.RUNNING, table.c.dry_run.is_(False))
    return [RunningOrder(*row) for row in connection.execute(query)]


def lock_creation(connection: Connection) -> None:
    """Lock out others who create orders until this transaction ends; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


def find(connection: Connection, order: str, *, lock: bool = False) -> StoredOrder:
    """The order with this id; raises ``UnknownOrderError``."""
    query = select(table).where(table.c.id == order)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise UnknownOrderError(order)
    return stored(row)


def _of_key(connection: Connection, key: str, request: OrderRequest) -> StoredOrder | None:
    query = select(table).where(table.c.idempotency_key == key)
    row = connection.execute(query).mappings().first() if key else None
    if row is not None and order_of(row).request != request:
        raise IdempotencyError(row["id"])
    return None if row is None else stored(row)


def _forget_dry_runs(connection: Connection, kept: int) -> None:
    """Delete all dry runs except the newest ``kept``."""
    query = select(table.c.id).where(table.c.dry_run).offset(kept)
    beyond = connection.scalars(query.order_by(table.c.created_at_ms.desc(), table.c.id.desc())).all()
    connection.execute(delete(table).where(table.c.id.in_(beyond)))


def _set(connection: Connection, order: str, status: Status, reason: str, finished_at_ms: int) -> StoredOrder:
    change = {"status": status, "status_reason": storable(reason), "finished_at_ms": finished_at_ms}
    connection.execute(update(table).where(table.c.id == order).values(change))
    return find(connection, order)


def stored(row: RowMapping) -> StoredOrder:
    """The order of a row."""
    as_stored = {field.name: row[field.name] for field in fields(StoredOrder) if field.name != "order"}
    return StoredOrder(order_of(row), **{**as_stored, "status": Status(row["status"])})


def order_of(row: RowMapping) -> Order:
    """The accepted order of a row."""
    plain = {name: row[name] for name in ("id", "dlq_topic_id", "requested_by", "created_at_ms", "policy")}
    parts = {name: json.loads(row[name]) for name in ("request", "begin", "cut_off")}
    return Order.model_validate(plain | parts)


def _values(order: Order, plan: str, idempotency_key: str) -> dict[str, Any]:
    """The columns of a new order; a dry run is COMPLETED at once."""
    dry_run = order.request.dry_run
    return {
        "id": order.id,
        "dlq_topic": order.request.dlq_topic,
        "dlq_topic_id": order.dlq_topic_id,
        "request": order.request.model_dump_json(by_alias=True),
        "begin": json.dumps(order.begin),
        "cut_off": json.dumps(order.cut_off),
        "plan": plan,
        "dry_run": dry_run,
        "requested_by": storable(order.requested_by),
        "idempotency_key": idempotency_key,
        "status": Status.COMPLETED if dry_run else Status.RUNNING,
        "created_at_ms": order.created_at_ms,
        "finished_at_ms": order.created_at_ms if dry_run else 0,
        "policy": order.policy,
        **dict.fromkeys(("status_reason", "worker"), ""),
        **dict.fromkeys(ZEROS, 0),
    }
