"""How an order is made: what Kafka holds is looked at, the selection is read through, then it is kept.

The first and the last offset are taken here: what arrives later is not part of the order.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from collector.kafka import KafkaConnection
from streaming.redrive.admission import KnownGroup, admit, check_plan
from streaming.redrive.cluster import Cluster, Extents
from streaming.redrive.errors import IdempotencyError, UnreadHistoryError
from streaming.redrive.handled import NOTHING
from streaming.redrive.history import Before, History
from streaming.redrive.order import Order, OrderRequest
from streaming.redrive.plan import Plan, Tally
from streaming.redrive.scan import Bounds, scan
from streaming.redrive.targets import TargetRules
from streaming.store.audit import Witness, unwitnessed
from streaming.store.order_rows import StoredOrder
from streaming.store.orders import OrderBook

UNREAD: Final = "{}: some of these records may have been moved already, and an order would be refused"


@dataclass(frozen=True, slots=True)
class Wish:
    """A request, who made it, and what the store knows about its topic."""

    request: OrderRequest
    requested_by: str
    idempotency_key: str
    known_group: KnownGroup
    policy: str = ""
    extents: Extents | None = None
    """Unless given, what the topic holds."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where orders come in. ``rules`` has no topics yet; ``monotonic_ms`` measures how long a scan takes."""

    connection: KafkaConnection
    bounds: Bounds
    max_unconfirmed: int
    now_ms: Callable[[], int]
    monotonic_ms: Callable[[], int]
    new_id: Callable[[], str]
    history: History

    def create(
        self, wish: Wish, rules: TargetRules, book: OrderBook, also: Witness = unwitnessed
    ) -> StoredOrder:
        """The order, kept; the same one for the same key.

        Raises:
            RedriveError: it is refused, or Kafka cannot be asked.
        """
        request = wish.request
        before = book.of_key(wish.idempotency_key)
        if before is not None:
            if before.order.request != request:
                raise IdempotencyError(before.order.id)
            return before
        order, plan = self.read(wish, rules)
        check_plan(request, plan, self.max_unconfirmed)
        return book.create(order, plan.model_dump_json(), wish.idempotency_key, also)

    def read(self, wish: Wish, rules: TargetRules) -> tuple[Order, Plan]:
        """The order that the wish would be, and what the reading of its selection shows.

        Raises:
            RedriveError: it is refused, or Kafka cannot be asked.
        """
        cluster = Cluster(self.connection)
        rules = replace(rules, partitions=cluster.partitions())
        admitted = admit(wish.request, rules, wish.known_group)
        order = self._order(wish, cluster, rules)
        before = self._before(wish.request, cluster, rules)
        tally = Tally(order, rules, admitted.matcher, _origins(cluster, rules), before.handled)
        cut = scan(self.connection, order, tally, self.bounds, self.monotonic_ms)
        warnings = (*admitted.warnings, *([UNREAD.format(before.unread)] if before.unread else []))
        return order, tally.plan(cut=cut, warnings=warnings)

    def _before(self, request: OrderRequest, cluster: Cluster, rules: TargetRules) -> Before:
        """What earlier orders have done; of a dry run as far as it is known."""
        if request.again:
            return Before(NOTHING)
        before = self.history.of(request.dlq_topic, cluster, rules.partitions)
        if before.unread and not request.dry_run:
            raise UnreadHistoryError(request.dlq_topic, before.unread)
        return before

    def _order(self, wish: Wish, cluster: Cluster, rules: TargetRules) -> Order:
        topic = wish.request.dlq_topic
        extents = wish.extents or cluster.extents(topic, rules.partitions[topic])
        return Order(
            id=self.new_id(),
            request=wish.request,
            requested_by=wish.requested_by,
            created_at_ms=self.now_ms(),
            begin=dict(extents.begin),
            cut_off=dict(extents.end),
            policy=wish.policy,
        )


def _origins(cluster: Cluster, rules: TargetRules) -> Callable[[str], Extents]:
    """What topics hold, each asked for once; those that are not there hold nothing."""

    @cache
    def extents(topic: str) -> Extents:
        partitions = rules.partitions.get(topic, 0)
        return cluster.extents(topic, partitions) if partitions else Extents({}, {})

    return extents
