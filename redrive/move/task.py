"""The work of one claim: everything that it takes, opened in the order that fences the claim before first."""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Self, cast

from confluent_kafka.admin import AdminClient
from sqlalchemy import Engine

from deadwatch.contract.backoff import Backoff
from deadwatch.deadletter.filter import Filter
from deadwatch.orders.guards import Guard, Returns, Watch
from deadwatch.orders.handled import NOTHING, Handled
from deadwatch.orders.order import Claim, Order
from deadwatch.orders.selection import Matcher, intervals, selector
from deadwatch.runtime.clock import clock_ms, monotonic_ms
from deadwatch.runtime.health import unheard
from deadwatch.runtime.kafka import Options
from deadwatch.store.engine import reading
from deadwatch.store.returns import StoredReturns
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.progress import read_marks
from deadwatch.store.write.snapshots import named_topics
from redrive.cluster import group_lag, topic_id
from redrive.move.batch import POSITION_EPOCH, EventFields, source_of
from redrive.move.failures import ForgottenError, GivenUpError, MadeAnewError
from redrive.move.fetch import Fetcher
from redrive.move.mover import Mover, Step, TaskContext
from redrive.move.reader import Reader
from redrive.move.record_queue import RecordQueue
from redrive.move.targets import Router, TargetDeadlines
from redrive.move.transaction import TransactionalProducer
from redrive.settings import RedriveSettings
from redrive.telemetry import SILENT, Telemetry

HandledBefore = Callable[[str, str, Collection[int]], Handled]
"""What earlier orders have done with the records of a topic, which has this id, in these partitions."""
Note = Callable[[str, bool], None]
"""``redrive.plan.history.Notes.note``: called before an order of the topic is let go of."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What all orders of a worker share; ``beat`` tells the health check that the worker goes on."""

    settings: RedriveSettings
    watch: Watch = lambda _order: Returns(0, 0)
    clock: Callable[[], int] = clock_ms
    rng: Random = field(default_factory=Random)
    compile_filter: Callable[[str], Matcher] = Filter
    beat: Callable[[], None] = unheard
    id_suffix: str = ""
    """Of the transactional id: tells this part of an order from the others; "": it is the whole."""
    telemetry: Telemetry = SILENT
    parallel_tasks: int = 1
    """How many tasks work on an order at the same time."""
    named_topics: Callable[[], frozenset[str]] = frozenset
    """Dead letter topics that configurations of others name."""
    handled: HandledBefore = lambda _topic, _topic_id, _partitions: NOTHING
    counted: Callable[[str], int] = lambda _name: 0
    """How many offsets an order, or a part of it, has done by the events that streaming has counted."""
    note: Note = lambda _topic, _over: None
    """A part of an order has nothing to note."""

    @classmethod
    def of_store(cls, settings: RedriveSettings, engine: Engine, telemetry: Telemetry) -> Self:
        """Of a worker, or of a part of its work, that knows what the store knows."""
        return cls(
            settings,
            StoredReturns(engine),
            telemetry=telemetry,
            named_topics=partial(topics_named_in, engine),
            handled=HandledBook(engine).handled,
            counted=partial(counted_in, engine),
        )


class OrderTask:
    """Use it in a with statement; call ``step`` until it is finished or paused."""

    def __init__(
        self, context: WorkerContext, claim: Claim, stopped_since_ms: Callable[[], int | None]
    ) -> None:
        self._context, self._claim, self._stopped_since_ms = context, claim, stopped_since_ms
        self._opened = ExitStack()
        self._step_began_ms = monotonic_ms()
        self._mover: Mover

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            self._mover = self._open(opening)
            self._opened = opening.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()
        del self._mover  # and with it its clients, whoever still holds this task

    def step(self) -> Step:
        """Have the next transaction, if there is one."""
        self._step_began_ms = monotonic_ms()
        return self._mover.step(self._context.clock())

    @property
    def waiting(self) -> int:
        """How many of its records are put off."""
        return self._mover.waiting

    def _open(self, opening: ExitStack) -> Mover:
        """Open the producer before the offsets are read: the claim before is fenced and commits no more."""
        settings, order, request = self._context.settings, self._claim.order, self._claim.order.request
        connection = _connection(settings)
        name = f"{order.id}{self._context.id_suffix}"
        producer = _producer(settings, name, request.delivery_timeout_ms, self._give_up)
        opening.callback(producer.close)
        producer.open()
        admin = AdminClient(cast("dict[str, str | int | float | bool]", connection))
        dlq_topic_id = order.dlq_topic_id or topic_id(admin, request.dlq_topic)
        require_topic = partial(require_same, admin, request.dlq_topic, dlq_topic_id)
        require_topic()  # else the reader might miss its offsets, and say that Kafka has forgotten them
        reader = Reader(connection, order.id, request.dlq_topic, intervals(order))
        opening.callback(reader.close)
        reader.open()
        if reader.resumed < self._context.counted(name):
            raise ForgottenError
        fetcher = Fetcher(connection, admin)
        opening.callback(fetcher.close)
        queue = self._queue(reader, fetcher, dlq_topic_id)
        queue.resume()
        router = self._router(admin)
        guard = self._guard(admin)
        # a target that fails is left alone for as long as trying it holds up the others
        backoff = Backoff(request.delivery_timeout_ms, 4 * request.delivery_timeout_ms)
        deadlines = TargetDeadlines(request.task_timeout_ms, backoff, self._context.rng)
        retry = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        retry_ms = partial(retry.delay_ms, rng=self._context.rng)
        parts = (reader, queue, producer, router, deadlines, guard, require_topic)
        context = TaskContext(*parts, retry_ms, telemetry=self._context.telemetry)
        topics = (request.dlq_topic, settings.kafka_cluster, settings.events_topic, dlq_topic_id)
        event_fields = EventFields(name, order.id, self._claim.epoch, *topics)
        return Mover(order, event_fields, context, user_of(settings), self._context.clock())

    def _queue(self, reader: Reader, fetcher: Fetcher, dlq_topic_id: str) -> RecordQueue:
        order, request = self._claim.order, self._claim.order.request
        expression, topic = request.selection.filter, request.dlq_topic
        matcher = None if expression is None else self._context.compile_filter(expression)
        handled = NOTHING if request.again else self._context.handled(topic, dlq_topic_id, order.cut_off)
        return RecordQueue(topic, reader, fetcher, selector(order, matcher), handled)

    def _router(self, admin: AdminClient) -> Router:
        rules = self._context.settings.target_rules(self._context.named_topics())
        router = Router(admin, self._claim.order, rules)
        router.refresh()
        return router

    def _guard(self, admin: AdminClient) -> Guard:
        order, guards = self._claim.order, self._claim.order.request.guards
        lag = None
        if guards.max_target_lag is not None and guards.lag_group is not None:
            lag = partial(group_lag, admin, guards.lag_group, user_of(self._context.settings))
        return Guard(order.id, guards, self._context.watch, lag, self._context.parallel_tasks)

    def _give_up(self) -> bool:
        """Whether an open transaction has to be left to Kafka: the order is stopped, or makes no progress."""
        now_ms, request = monotonic_ms(), self._claim.order.request
        since_ms = self._stopped_since_ms()
        if since_ms is not None:
            return now_ms - since_ms >= self._context.settings.shutdown_graceful_timeout_ms
        return now_ms - self._step_began_ms > request.task_timeout_ms + 2 * request.delivery_timeout_ms


def fence(settings: RedriveSettings, order: Order, stopped: Callable[[], bool]) -> None:
    """Fence whoever works on the order, or on a part of it: what they have open is aborted.

    ``stopped`` is asked before each part, of which there may be a thousand, and while Kafka does not answer.
    Raises as ``TransactionalProducer.open``; ``GivenUpError`` also where Kafka does not answer for one part
    within ``request_timeout_ms``.
    """
    parts = [f"-{one}" for one in intervals(order)] if order.request.engine == "spark" else [""]
    for part in parts:
        if stopped():
            raise GivenUpError
        until_ms = monotonic_ms() + settings.request_timeout_ms
        give_up = partial(_is_over, stopped, until_ms)
        producer = _producer(settings, f"{order.id}{part}", order.request.delivery_timeout_ms, give_up)
        try:
            producer.open()
        finally:
            producer.close()


def _is_over(stopped: Callable[[], bool], until_ms: int) -> bool:
    return stopped() or monotonic_ms() >= until_ms


def _connection(settings: RedriveSettings) -> Options:
    return settings.kafka.librdkafka() | {"client.id": "deadwatch-redrive"}


def _producer(
    settings: RedriveSettings, name: str, delivery_timeout_ms: int, give_up: Callable[[], bool]
) -> TransactionalProducer:
    request_timeout_ms = settings.request_timeout_ms
    timeouts = {"request.timeout.ms": request_timeout_ms, "socket.timeout.ms": request_timeout_ms}
    options = _connection(settings) | {"linger.ms": settings.linger_ms, **timeouts}
    return TransactionalProducer(options, name, delivery_timeout_ms, give_up)


def require_same(admin: AdminClient, topic: str, expected: str) -> None:
    """Raise ``MadeAnewError`` if the topic has another id than the expected one, where both are known.

    Raises ``KafkaException`` when the brokers do not answer, or there is no such topic.
    """
    if expected and (topic_id(admin, topic) or expected) != expected:
        raise MadeAnewError(topic)


def topics_named_in(engine: Engine) -> frozenset[str]:
    """Dead letter topics that configurations name, by the store."""
    with reading(engine) as connection:
        return named_topics(connection)


def counted_in(engine: Engine, name: str) -> int:
    """How many offsets an order, or a part of it, has done, by the store."""
    source = source_of(name)
    with reading(engine) as connection:
        mark = read_marks(connection, [source]).get(source)
    return 0 if mark is None or mark.epoch != POSITION_EPOCH else mark.offset


def user_of(settings: RedriveSettings) -> str:
    """Who we are, for people that grant rights."""
    return f"user {settings.kafka.sasl_username}" if settings.kafka.uses_sasl else "our client"
