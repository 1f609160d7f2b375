"""Makes an order: what Kafka holds is looked at, the selection is scanned, then the order is stored.

``OrderService.read`` has the steps. The first and the end offsets are taken there, or the end is what the
request says (``cut_off``): what arrives later is not part of the order. The scan reads committed records by
assignment, so that no group's offset moves; it ends at the order's cut-off, after so many records or after so
long, whichever comes first.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from deadwatch.orders.errors import RefusedOrderError, UnreadHistoryError
from deadwatch.orders.handled import NOTHING
from deadwatch.orders.order import Order, OrderRequest
from deadwatch.orders.selection import Extents, Intervals, intervals, within
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.write.audit import Witness, unwitnessed
from deadwatch.store.write.orders import OrderBook, StoredOrder
from redrive.cluster import LIBRARY, WRITTEN, Cluster, asking
from redrive.librdkafka import PARTITION_EOF, READ_COMMITTED, SEEK_BEYOND, ConsumerRecord, consume, decoded
from redrive.plan.admission import KnownGroup, admit, check_plan
from redrive.plan.history import Before, History
from redrive.plan.plan import Plan, PlanBuilder

UNREAD: Final = "{}: some of these records may have been moved already, and an order would be refused"
GROUP: Final = "deadwatch-redrive-scan"
"""Named because librdkafka asks for one; nothing is ever committed for it."""
CHUNK: Final = 1_000
POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a scan may take, and how many records it may read."""

    max_records: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class CreateOrder:
    """A request, who made it, and what the store knows about its topic."""

    request: OrderRequest
    requested_by: str
    idempotency_key: str
    known_group: KnownGroup
    policy: str = ""
    extents: Extents | None = None
    """The offsets that the order covers; None: all that the topic holds."""


@dataclass(frozen=True, slots=True)
class OrderService:
    """Makes orders. The ``rules`` it is given have no topics yet; ``monotonic_ms`` never goes back."""

    connection: KafkaConnection
    bounds: Bounds
    max_unconfirmed: int
    now_ms: Callable[[], int]
    monotonic_ms: Callable[[], int]
    new_id: Callable[[], str]
    history: History

    def create(
        self, wanted: CreateOrder, rules: TargetRules, book: OrderBook, also: Witness = unwitnessed
    ) -> StoredOrder:
        """Make and store the order; for an idempotency key that was used before the order that it made.

        Raises:
            RequestError: it is refused, or Kafka cannot be asked.
        """
        request = wanted.request
        made = book.of_key(wanted.idempotency_key, request)
        if made is not None:
            return made
        order, plan = self.read(wanted, rules)
        check_plan(request, plan, self.max_unconfirmed)
        return book.create(order, plan.model_dump_json(), wanted.idempotency_key, also)

    def read(self, wanted: CreateOrder, rules: TargetRules) -> tuple[Order, Plan]:
        """The order that would be made, and its plan.

        Raises:
            RequestError: it is refused, or Kafka cannot be asked.
        """
        cluster = Cluster(self.connection)
        rules = replace(rules, partitions=cluster.partitions())
        matcher, unwise = admit(wanted.request, rules, wanted.known_group)
        order = self._order(wanted, cluster, rules)
        before = self._before(order, wanted.idempotency_key, cluster, rules)
        plan = PlanBuilder(order, rules, matcher, _origins(cluster, rules), before.handled)
        cut = scan(self.connection, order, plan, self.bounds, self.monotonic_ms)
        unread = (UNREAD.format(before.unread),) if before.unread else ()
        return order, plan.plan(cut=cut, warnings=unwise + unread)

    def _before(self, order: Order, key: str, cluster: Cluster, rules: TargetRules) -> Before:
        """What earlier orders have done; for a dry run as far as it is known."""
        request = order.request
        if request.again:
            return Before(NOTHING)
        self.history.store.refuse_active(order, key)  # what is over later was so before it is looked up
        before = self.history.of(request.dlq_topic, order.dlq_topic_id, cluster, rules.partitions)
        if before.unread and not request.dry_run:
            raise UnreadHistoryError(request.dlq_topic, before.unread)
        return before

    def _order(self, wanted: CreateOrder, cluster: Cluster, rules: TargetRules) -> Order:
        topic, expected = wanted.request.dlq_topic, wanted.request.dlq_topic_id
        topic_id = cluster.topic_ids([topic])[topic]  # before the offsets: these are not of an earlier topic
        if expected and topic_id and topic_id != expected:
            raise RefusedOrderError(f"topic {topic} was made anew since the dry run; look at a new dry run")
        extents = wanted.extents or cluster.extents(topic, rules.partitions[topic])
        return Order(
            id=self.new_id(),
            request=wanted.request,
            requested_by=wanted.requested_by,
            created_at_ms=self.now_ms(),
            begin=dict(extents.begin),
            cut_off=cut_off(topic, extents, wanted.request.cut_off),
            dlq_topic_id=topic_id,
            policy=wanted.policy,
        )


def cut_off(topic: str, extents: Extents, latest: Mapping[int, int] | None) -> dict[int, int]:
    """Where an order ends in each partition: where that ends, or at ``latest``; one that is not in it has no
    record of the order.

    Raises:
        RefusedOrderError: a partition ends before ``latest``: its records are not those that were looked at.
    """
    if latest is None:
        return dict(extents.end)
    for at, end in extents.end.items():
        if end < latest.get(at, 0):
            raise RefusedOrderError(
                f"partition {at} of {topic} ends at {end}, before {latest[at]}, where the dry run has ended: "
                "the topic was made anew, or has lost records; look at a new dry run"
            )
    return {at: max(latest.get(at, 0), extents.begin.get(at, 0)) for at in extents.end}


def _origins(cluster: Cluster, rules: TargetRules) -> Callable[[str], Extents]:
    """What a topic holds, asked for once; one that does not exist holds nothing.

    With what open transactions have written: the mover waits for their end.
    """

    @cache
    def extents(topic: str) -> Extents:
        partitions = rules.partitions.get(topic, 0)
        return cluster.extents(topic, partitions, WRITTEN) if partitions else Extents({}, {})

    return extents


def scan(
    connection: KafkaConnection, order: Order, plan: PlanBuilder, bounds: Bounds, now_ms: Callable[[], int]
) -> bool:
    """Add what the order's topic holds to the plan; returns whether the scan was cut short.

    Raises:
        KafkaUnavailableError: the topic cannot be read.
    """
    selected = intervals(order)
    if not selected:
        return False
    consumer = Consumer(connection.librdkafka() | LIBRARY | READ_COMMITTED | {"group.id": GROUP})
    topic = order.request.dlq_topic
    with closing(consumer), asking(connection, f"topic {topic} cannot be read"):
        return _Scan(consumer, topic, selected, plan).run(bounds, now_ms)


class _Scan:
    """One scan: ``_open`` has the partitions that are not read to their end yet, with that end."""

    def __init__(self, consumer: Consumer, topic: str, selected: Intervals, plan: PlanBuilder) -> None:
        self._consumer, self._topic, self._selected, self._plan = consumer, topic, selected, plan
        self._open = {partition: found[-1][1] for partition, found in selected.items()}
        self._sought: set[int] = set()
        self._read = 0

    def run(self, bounds: Bounds, now_ms: Callable[[], int]) -> bool:
        """Read up to the bounds; returns whether something is left."""
        until_ms = now_ms() + bounds.timeout_ms
        starts = {partition: found[0][0] for partition, found in self._selected.items()}
        self._consumer.assign([TopicPartition(self._topic, *start) for start in starts.items()])
        while self._open and self._read < bounds.max_records and now_ms() < until_ms:
            most = min(CHUNK, bounds.max_records - self._read)
            self._sought.clear()
            for message in consume(self._consumer, most, POLL_S):
                self._take(message)
        return bool(self._open)

    def _take(self, message: ConsumerRecord) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != PARTITION_EOF:
            raise KafkaException(error)
        if partition not in self._open or partition in self._sought:  # it was fetched before the jump
            return
        end = self._open[partition]
        if error is not None or offset >= end - 1:
            del self._open[partition]
            self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])
        if error is None and offset < end:
            self._read += 1
            self._plan.add(decoded(message))
            self._jump(partition, offset)

    def _jump(self, partition: int, offset: int) -> None:
        """Seek over a wide gap between two intervals."""
        if partition not in self._open or within(self._selected, partition, offset + 1):
            return
        following = next(first for first, _ in self._selected[partition] if first > offset)
        if following - offset > SEEK_BEYOND:
            self._sought.add(partition)
            self._consumer.seek(TopicPartition(self._topic, partition, following))
