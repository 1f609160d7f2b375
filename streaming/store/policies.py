"""Policies in the store: changed by users, one version after the other, and looked at by workers.

Any number of workers may look: one of them at a time gets a policy, and its order and how far it has looked
are kept together or not at all.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from streaming.redrive.errors import PolicyChangedError, RefusedOrderError, UnknownPolicyError
from streaming.redrive.order import Order, Status
from streaming.redrive.policies import Due, covered
from streaming.redrive.policy import Latest, Policy
from streaming.store import orders
from streaming.store.audit import Witness, unwitnessed
from streaming.store.batch import storable
from streaming.store.order_rows import StoredOrder
from streaming.store.policy_rows import policy_of, positions_of, values
from streaming.store.schema import redrive_orders, redrive_policy_changes
from streaming.store.schema import redrive_policies as table

MAX_POLICIES: Final = 100
CREATED, CHANGED, DELETED = "created", "changed", "deleted"


class PolicyBook:
    """Policies for users and for workers; any number of processes may use the same store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, policy: Policy, also: Witness = unwitnessed) -> Policy:
        """Keep it. Raises ``RefusedOrderError`` beyond ``MAX_POLICIES``."""
        with self._engine.begin() as connection:
            orders.alone(connection)
            if (connection.scalar(select(func.count()).select_from(table)) or 0) >= MAX_POLICIES:
                raise RefusedOrderError(f"there are {MAX_POLICIES} policies already: delete one")
            connection.execute(insert(table), {"id": policy.id, **values(policy)})
            _note(connection, policy, CREATED)
            also(connection, policy.id)
        return policy

    def change(self, changed: Policy, expected: int | None, also: Witness = unwitnessed) -> Policy:
        """Put the request, who changed it and when in place of what there is; it is looked at anew.

        Of the positions only those of topics that it did not cover before are taken over.

        Raises:
            UnknownPolicyError: there is none.
            PolicyChangedError: it is not at the expected version.
        """
        with self._engine.begin() as connection:
            before = _checked(connection, changed.id, expected)
            new = {topic: at for topic, at in changed.positions.items() if not before.request.covers(topic)}
            after = replace(
                changed,
                version=before.version + 1,
                created_at_ms=before.created_at_ms,
                positions={**new, **before.positions},
                last_topic=before.last_topic,
            )
            _update(connection, after.id, values(after))
            _note(connection, after, CHANGED)
            also(connection, after.id)
        return after

    def delete(
        self, policy: str, by: str, now_ms: int, expected: int | None, also: Witness = unwitnessed
    ) -> None:
        """No more orders of it; those that there are go on, and its history is kept.

        Raises:
            UnknownPolicyError, PolicyChangedError: as ``change``.
        """
        with self._engine.begin() as connection:
            before = _checked(connection, policy, expected)
            connection.execute(delete(table).where(table.c.id == policy))
            gone = replace(before, version=before.version + 1, changed_by=by, changed_at_ms=now_ms)
            _note(connection, gone, DELETED)
            also(connection, policy)

    def take(self, now_ms: int, until_ms: int) -> list[Policy]:
        """The enabled ones that are due to be looked at; nobody else gets them before ``until_ms``."""
        query = select(table).where(table.c.enabled, table.c.next_at_ms <= now_ms).order_by(table.c.id)
        with self._engine.begin() as connection:
            rows = connection.execute(query.with_for_update(skip_locked=True)).mappings().all()
            for row in rows:
                _update(connection, row["id"], {"next_at_ms": until_ms})
        return [policy_of(row) for row in rows]

    def latest(self, policy: str) -> Latest | None:
        """Its newest order."""
        with self._engine.begin() as connection:
            return latest(connection, policy)

    def carry_out(self, policy: Policy, one: Due, order: Order | None, plan: str) -> StoredOrder | None:
        """Keep its next order, or that nothing there is its own; None also when the policy has changed since.

        Raises:
            OrderOverlapError: another order is active on these records.
        """
        with self._engine.begin() as connection:
            orders.alone(connection)
            row = connection.execute(
                select(table).where(table.c.id == policy.id).with_for_update()
            ).mappings()
            now = next(map(policy_of, row), None)
            if now is None or (now.version, now.positions) != (policy.version, policy.positions):
                return None
            made = None if order is None else orders.add(connection, order, plan)
            positions = positions_of(covered(now.positions, one))
            looked: dict[str, Any] = {"positions": positions, "last_topic": one.topic}
            _update(connection, policy.id, looked | {"failures": 0, "status_reason": ""})
        return made

    def rest(self, policy: Policy, reason: str, failures: int, next_at_ms: int) -> None:
        """Why it makes no order for now, unless it has been changed meanwhile."""
        told = {"status_reason": storable(reason), "failures": failures, "next_at_ms": next_at_ms}
        mine = (table.c.id == policy.id, table.c.version == policy.version)
        with self._engine.begin() as connection:
            connection.execute(update(table).where(*mine).values(told))


def every(connection: Connection) -> list[Policy]:
    """All, the oldest first."""
    rows = connection.execute(select(table).order_by(table.c.created_at_ms, table.c.id)).mappings()
    return [policy_of(row) for row in rows]


def find(connection: Connection, policy: str) -> Policy:
    """The policy of this id; raises ``UnknownPolicyError``."""
    return _checked(connection, policy, None, lock=False)


def latest(connection: Connection, policy: str) -> Latest | None:
    """Its newest order."""
    column = redrive_orders.c
    query = select(column.id, column.status, column.created_at_ms).where(column.policy == policy)
    row = connection.execute(query.order_by(column.created_at_ms.desc(), column.id.desc()).limit(1)).first()
    return None if row is None else Latest(row.id, Status(row.status), row.created_at_ms)


def changes(connection: Connection, policy: str) -> list[Mapping[str, Any]]:
    """What was made of it, the newest first; raises ``UnknownPolicyError`` where there never was one."""
    column = redrive_policy_changes.c
    query = select(redrive_policy_changes).where(column.policy == policy).order_by(column.version.desc())
    rows = connection.execute(query).mappings().all()
    if not rows:
        raise UnknownPolicyError(policy)
    return [dict(row) for row in rows]


def _checked(connection: Connection, policy: str, expected: int | None, *, lock: bool = True) -> Policy:
    query = select(table).where(table.c.id == policy)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise UnknownPolicyError(policy)
    if expected is not None and row["version"] != expected:
        raise PolicyChangedError(policy, row["version"], expected)
    return policy_of(row)


def _update(connection: Connection, policy: str, values: Mapping[str, Any]) -> None:
    connection.execute(update(table).where(table.c.id == policy).values(values))


def _note(connection: Connection, policy: Policy, change: str) -> None:
    connection.execute(
        insert(redrive_policy_changes),
        {
            "policy": policy.id,
            "version": policy.version,
            "change": change,
            "request": policy.request.model_dump_json(),
            "changed_by": storable(policy.changed_by),
            "changed_at_ms": policy.changed_at_ms,
        },
    )
