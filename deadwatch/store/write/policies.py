"""Policies in the store: users change them, one version after the other, and workers evaluate them.

Of any number of workers one at a time gets a policy. Its next order and how far it has looked are written in
one transaction.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, RowMapping, delete, insert, or_, select, update

from deadwatch.orders.errors import PolicyChangedError, RefusedOrderError, UnknownPolicyError
from deadwatch.orders.order import Order, Status
from deadwatch.orders.policy import Due, Latest, Policy, PolicyRequest, Position, covered
from deadwatch.store.engine import reading
from deadwatch.store.schema import redrive_orders, redrive_policy_changes
from deadwatch.store.schema import redrive_policies as table
from deadwatch.store.statements import count
from deadwatch.store.storable import storable
from deadwatch.store.write import orders
from deadwatch.store.write.audit import Witness, unwitnessed
from deadwatch.store.write.orders import StoredOrder

MAX_POLICIES: Final = 100
LONGEST_REST_MS: Final = 300_000
CREATED, CHANGED, DELETED = "created", "changed", "deleted"


class PolicyBook:
    """Policies for users and workers; any number of processes may use the same store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, policy: Policy, also: Witness = unwitnessed) -> Policy:
        """Add a policy. Raises ``RefusedOrderError`` beyond ``MAX_POLICIES``."""
        with self._engine.begin() as connection:
            orders.lock_creation(connection)
            if count(connection, table) >= MAX_POLICIES:
                raise RefusedOrderError(f"there are {MAX_POLICIES} policies already: delete one")
            connection.execute(insert(table), {"id": policy.id, **columns_of(policy)})
            _note(connection, policy, CREATED)
            also(connection, policy.id)
        return policy

    def change(self, changed: Policy, expected: int | None, also: Witness = unwitnessed) -> Policy:
        """Replace the request, its author and its time; the policy is evaluated anew.

        Positions are taken over only for topics that the policy did not cover before. It is changed after
        its orders were made, whatever the clocks of workers say: so it goes on where one has failed.

        Raises:
            UnknownPolicyError: there is no such policy.
            PolicyChangedError: it is not at the expected version.
        """
        with self._engine.begin() as connection:
            before = _checked(connection, changed.id, expected)
            last = latest(connection, changed.id)
            new = {topic: at for topic, at in changed.positions.items() if not before.request.covers(topic)}
            after = replace(
                changed,
                version=before.version + 1,
                created_at_ms=before.created_at_ms,
                changed_at_ms=max(changed.changed_at_ms, last.created_at_ms + 1 if last else 0),
                positions={**new, **before.positions},
                last_topic=before.last_topic,
            )
            _update(connection, after.id, columns_of(after))
            _note(connection, after, CHANGED)
            also(connection, after.id)
        return after

    def delete(
        self, policy: str, by: str, now_ms: int, expected: int | None, also: Witness = unwitnessed
    ) -> None:
        """Delete a policy; its present orders go on, and its history is kept.

        Raises ``UnknownPolicyError`` or ``PolicyChangedError``: as ``change``.
        """
        with self._engine.begin() as connection:
            before = _checked(connection, policy, expected)
            connection.execute(delete(table).where(table.c.id == policy))
            gone = replace(before, version=before.version + 1, changed_by=by, changed_at_ms=now_ms)
            _note(connection, gone, DELETED)
            also(connection, policy)

    def take(self, now_ms: int, until_ms: int) -> list[Policy]:
        """Claim the enabled policies that are due; no other worker gets them before ``until_ms``.

        One that rests for longer than any does was put off by a clock that was ahead, and is due.
        """
        longest_ms = max(until_ms, now_ms + LONGEST_REST_MS)
        due = or_(table.c.next_at_ms <= now_ms, table.c.next_at_ms > longest_ms)
        query = select(table).where(table.c.enabled, due).order_by(table.c.id)
        with self._engine.begin() as connection:
            rows = connection.execute(query.with_for_update(skip_locked=True)).mappings().all()
            for row in rows:
                _update(connection, row["id"], {"next_at_ms": until_ms})
        return [policy_of(row) for row in rows]

    def latest(self, policy: str) -> Latest | None:
        """The newest order of a policy, if any."""
        with reading(self._engine) as connection:
            return latest(connection, policy)

    def carry_out(self, policy: Policy, one: Due, order: Order | None, plan: str) -> StoredOrder | None:
        """Add the next order of a policy, or note that none of these offsets is its own (``order`` is None).

        Returns None as well when the policy has changed since it was read. The order is the latest, and not
        made before the policy was changed, whatever the clocks say: while it is active, or where it fails,
        the policy rests.

        Raises as ``refuse_overlap``.
        """
        with self._engine.begin() as connection:
            orders.lock_creation(connection)
            row = connection.execute(
                select(table).where(table.c.id == policy.id).with_for_update()
            ).mappings()
            now = next(map(policy_of, row), None)
            if now is None or (now.version, now.positions) != (policy.version, policy.positions):
                return None
            made = None
            if order is not None:
                last = latest(connection, policy.id)
                after_ms = max(now.changed_at_ms, last.created_at_ms + 1 if last else 0)
                made_ms = max(order.created_at_ms, after_ms)
                made = orders.add(connection, order.model_copy(update={"created_at_ms": made_ms}), plan)
            after = columns_of(covered(now, one))
            looked = {name: after[name] for name in ("positions", "topic_ids", "last_topic")}
            _update(connection, policy.id, looked | {"failures": 0, "status_reason": ""})
        return made

    def end_turn(self, policy: Policy, topic: str) -> None:
        """Of this topic no order can be made now: the others of the policy have their turn before it."""
        mine = (table.c.id == policy.id, table.c.version == policy.version)
        with self._engine.begin() as connection:
            connection.execute(update(table).where(*mine).values(last_topic=topic))

    def rest(self, policy: Policy, reason: str, failures: int, next_at_ms: int) -> None:
        """Note why a policy makes no order for now, unless it has been changed meanwhile."""
        state = {"status_reason": storable(reason), "failures": failures, "next_at_ms": next_at_ms}
        mine = (table.c.id == policy.id, table.c.version == policy.version)
        with self._engine.begin() as connection:
            connection.execute(update(table).where(*mine).values(state))


def every(connection: Connection) -> list[Policy]:
    """All policies, the oldest first."""
    rows = connection.execute(select(table).order_by(table.c.created_at_ms, table.c.id)).mappings()
    return [policy_of(row) for row in rows]


def find(connection: Connection, policy: str) -> Policy:
    """The policy with this id; raises ``UnknownPolicyError``."""
    return _checked(connection, policy, None, lock=False)


def latest(connection: Connection, policy: str) -> Latest | None:
    """The newest order of a policy, if any."""
    column = redrive_orders.c
    query = select(column.id, column.status, column.created_at_ms).where(column.policy == policy)
    row = connection.execute(query.order_by(column.created_at_ms.desc(), column.id.desc()).limit(1)).first()
    return None if row is None else Latest(row.id, Status(row.status), row.created_at_ms)


def changes(connection: Connection, policy: str) -> Sequence[Row[Any]]:
    """The changes of a policy, the newest first; raises ``UnknownPolicyError`` if there never was one."""
    column = redrive_policy_changes.c
    query = select(redrive_policy_changes).where(column.policy == policy).order_by(column.version.desc())
    rows = connection.execute(query).all()
    if not rows:
        raise UnknownPolicyError(policy)
    return rows


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


def policy_of(row: RowMapping) -> Policy:
    """The policy of a row."""
    values = {name: value for name, value in row.items() if name != "enabled"}
    ids = json.loads(values.pop("topic_ids") or "{}")
    positions = {
        topic: Position(ids.get(topic, ""), {int(partition): at for partition, at in offsets.items()})
        for topic, offsets in json.loads(row["positions"]).items()
    }
    request = PolicyRequest.model_validate_json(row["request"])
    return Policy(**{**values, "request": request, "positions": positions})


def columns_of(policy: Policy) -> dict[str, Any]:
    """The columns of a policy, except its id."""
    return {
        **{column.name: getattr(policy, column.name, None) for column in table.c if not column.primary_key},
        "request": policy.request.model_dump_json(),
        "enabled": policy.request.enabled,
        "changed_by": storable(policy.changed_by),
        "positions": json.dumps({topic: one.offsets for topic, one in policy.positions.items()}),
        "topic_ids": json.dumps({topic: one.topic_id for topic, one in policy.positions.items()}),
    }
