"""How an order is made: what Kafka holds is looked at, the selection is read through, then it is kept.

The first and the last offset are taken here: what arrives later is not part of the order.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from collector.kafka import KafkaConnection
from streaming.redrive.admission import KnownGroup, admit, check_plan
from streaming.redrive.cluster import Cluster, Extents
from streaming.redrive.errors import IdempotencyError
from streaming.redrive.order import Order, OrderRequest
from streaming.redrive.plan import Plan, Tally
from streaming.redrive.scan import Bounds, scan
from streaming.redrive.targets import TargetRules
from streaming.store.audit import Witness, unwitnessed
from streaming.store.order_rows import StoredOrder
from streaming.store.orders import OrderBook


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
        tally = Tally(order, rules, admitted.matcher)
        cut = scan(self.connection, order, tally, self.bounds, self.monotonic_ms)
        return order, tally.plan(cut=cut, warnings=admitted.warnings)

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
