"""Redrive orders and policies, as the api writes them: created, changed, paused, resumed, cancelled, deleted.

Both services write by ``writer`` to the store that ``store`` reads; it has to exist. A new policy leaves
alone what its topics hold at the moment of its creation, unless it asks for the existing records too.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import select

from api.auth.role import Role
from api.auth.roles import Caller, checked
from api.settings import ApiSettings
from api.store import Store, Writer, database_errors
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.filter.fields import PAYLOAD
from deadwatch.orders.order import OrderRequest
from deadwatch.orders.policy import Policy, PolicyRequest, Position
from deadwatch.runtime.clock import monotonic_ms, wait_ms
from deadwatch.store import schema
from deadwatch.store.write import policies
from deadwatch.store.write.audit import Witness
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.orders import MAX_MAKING_MS, OrderBook, StoredOrder
from deadwatch.store.write.policies import PolicyBook
from deadwatch.store.write.snapshots import named_topics
from redrive.cluster import Cluster
from redrive.plan import creation
from redrive.plan.admission import check_terms
from redrive.plan.creation import Bounds
from redrive.plan.history import History
from redrive.plan.policy_round import backlog

ANY_TOPIC = "dlq.any"
"""Stands for a topic where those terms of a policy are judged that are the same for all topics."""


def _allow_filter(text: str | None, who: Caller, settings: ApiSettings) -> None:
    """Allow a filter of an order or a policy. Raises ``FilterError``; ``ForbiddenError``: it asks about
    payloads, which the caller may not see.
    """
    if text is not None and not PAYLOAD.isdisjoint(Filter(text).fields):
        checked(who, Role(settings.unmask_role))


class OrderService:
    """Creates and changes redrive orders. Every method raises ``RequestError`` and ``ApiError``."""

    def __init__(
        self, settings: ApiSettings, store: Store, writer: Writer, now_ms: Callable[[], int]
    ) -> None:
        self._settings, self._store, self._now_ms = settings, store, now_ms
        making_ms = MAX_MAKING_MS + settings.redrive_scan_timeout_ms
        self._book = OrderBook(writer.engine, max_making_ms=making_ms)
        self._creation = creation.OrderService(
            connection=settings.kafka,
            bounds=Bounds(settings.redrive_scan_max_records, settings.redrive_scan_timeout_ms),
            max_unconfirmed=settings.redrive_max_unconfirmed,
            now_ms=now_ms,
            monotonic_ms=monotonic_ms,
            new_id=lambda: str(uuid.uuid4()),
            history=History(HandledBook(writer.engine), settings.events_topic, monotonic_ms, wait_ms),
        )

    def create(self, request: OrderRequest, who: Caller, idempotency_key: str, also: Witness) -> StoredOrder:
        """Create the order; ``also`` is called in the same transaction."""
        _allow_filter(request.selection.filter, who, self._settings)
        groups = schema.groups.c
        with self._store.read() as connection:
            rules = self._settings.target_rules(named_topics(connection))
            known = select(groups.fingerprint).where(groups.dlq_topic == request.dlq_topic)
            fingerprints = set(connection.scalars(known))
        create = creation.CreateOrder(request, who.name, idempotency_key, fingerprints.__contains__)
        with database_errors():
            return self._creation.create(create, rules, self._book, also)

    def cancel(self, order: str, reason: str, also: Witness) -> StoredOrder:
        """Stop the order for ever."""
        return self._changed(lambda book: book.cancel(order, reason, self._now_ms(), also))

    def pause(self, order: str, reason: str, also: Witness) -> StoredOrder:
        """Stop the order until it is resumed."""
        return self._changed(lambda book: book.pause(order, reason, also))

    def resume(self, order: str, also: Witness) -> StoredOrder:
        """Let the order continue where it was paused."""
        return self._changed(lambda book: book.resume(order, also))

    def _changed(self, change: Callable[[OrderBook], StoredOrder]) -> StoredOrder:
        self._store.check()
        with database_errors():
            return change(self._book)


class PolicyService:
    """Creates and changes redrive policies. Every method raises ``RequestError`` and ``ApiError``."""

    def __init__(
        self, settings: ApiSettings, store: Store, writer: Writer, now_ms: Callable[[], int]
    ) -> None:
        self._settings, self._store, self._now_ms = settings, store, now_ms
        self._book = PolicyBook(writer.engine)

    def create(self, request: PolicyRequest, who: Caller, also: Witness) -> Policy:
        """Create the policy; ``also`` is called in the same transaction."""
        _allow_filter(request.filter, who, self._settings)
        policy = self._policy(str(uuid.uuid4()), request, who.name)
        with database_errors():
            return self._book.create(policy, also)

    def change(
        self, policy: str, request: PolicyRequest, who: Caller, expected: int | None, also: Witness
    ) -> Policy:
        """Replace the policy's request if its version is ``expected`` (None: any); the new version.

        A filter that stays as it is needs no right: who may not ask about payloads may switch a policy off.
        A policy that is only switched off is not judged again: what was accepted before may be refused today.
        """
        with self._store.read() as connection:
            before = policies.find(connection, policy)
        if request.filter != before.request.filter:
            _allow_filter(request.filter, who, self._settings)
        if request == before.request.model_copy(update={"enabled": False}):
            changed = self._made(policy, request, who.name)
        else:
            changed = self._policy(policy, request, who.name)
        with database_errors():
            return self._book.change(changed, expected, also)

    def delete(self, policy: str, by: str, expected: int | None, also: Witness) -> None:
        """Delete the policy: it makes no more orders."""
        self._store.check()
        with database_errors():
            self._book.delete(policy, by, self._now_ms(), expected, also)

    def _policy(self, policy: str, request: PolicyRequest, by: str) -> Policy:
        with self._store.read() as connection:
            rules = self._settings.target_rules(named_topics(connection))
        if request.filter is not None:
            Filter(request.filter)  # compiled alone: positions in an error are those of the user's text
        request.refuse_slow_patterns()
        check_terms(request.order(ANY_TOPIC), rules)
        made = self._made(policy, request, by)
        if request.include_existing:
            return made
        held, silent = backlog(Cluster(self._settings.kafka), request, rules)
        if silent:
            raise silent[0]
        ends = {topic: Position(one.topic_id, dict(one.extents.end)) for topic, one in held.items()}
        return replace(made, positions=ends)

    def _made(self, policy: str, request: PolicyRequest, by: str) -> Policy:
        now_ms = self._now_ms()
        return Policy(policy, 1, request, by, now_ms, now_ms)
