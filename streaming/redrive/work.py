"""One claim's work: everything that it takes, opened in the order that fences a predecessor first."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Self, cast

from confluent_kafka.admin import AdminClient

from collector.contract.backoff import Backoff
from collector.health import unheard
from collector.kafka import Options
from streaming.redrive.claim import Claim
from streaming.redrive.cluster import topic_id
from streaming.redrive.fetch import Fetcher
from streaming.redrive.guards import GroupLag, Guard, Watch
from streaming.redrive.handled import NOTHING, Handled
from streaming.redrive.intake import Intake
from streaming.redrive.mover import Mover, Parts
from streaming.redrive.order import Order
from streaming.redrive.patience import Patiences
from streaming.redrive.reading import Reader
from streaming.redrive.report import Frame
from streaming.redrive.routes import Routes
from streaming.redrive.selection import Matcher, intervals, selector
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.steps import Step
from streaming.redrive.targets import TargetRules
from streaming.redrive.telemetry import SILENT, Telemetry
from streaming.redrive.transaction import Transactions

AdminOptions = dict[str, str | int | float | bool]
Compile = Callable[[str], Matcher]
"""Makes an order's filter executable."""
Before = Callable[[Order, str], Handled]
"""What was done with records of an order's topic, which has this id."""


@dataclass(frozen=True, slots=True)
class House:
    """What all orders of a worker share; ``beat`` says that the worker goes on."""

    settings: RedriveSettings
    compile_filter: Compile
    watch: Watch
    clock: Callable[[], int]
    rng: Random
    beat: Callable[[], None] = unheard
    lane: str = ""
    """What tells this part of an order from its others; "": it is the whole."""
    telemetry: Telemetry = SILENT
    lanes: int = 1
    """How many work on an order at the same time."""
    handled: Before = lambda _order, _topic_id: NOTHING


class Work:
    """Use it in a with statement; ``step`` until it is finished or paused."""

    def __init__(self, house: House, claim: Claim, stopped_since_ms: Callable[[], int | None]) -> None:
        self._house, self._claim, self._stopped_since_ms = house, claim, stopped_since_ms
        self._held = ExitStack()
        self._step_began_ms = house.clock()
        self._mover: Mover | None = None

    def __enter__(self) -> Self:
        """Raises what the brokers answer."""
        with ExitStack() as opening:
            self._mover = self._open(opening)
            self._held = opening.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._held.close()

    def step(self) -> Step:
        """The next transaction, if there is one."""
        if self._mover is None:
            raise ValueError("open it first: use it in a with statement")
        self._step_began_ms = self._house.clock()
        return self._mover.step(self._step_began_ms)

    @property
    def moved(self) -> int:
        """How many records the order has moved."""
        return self._mover.moved if self._mover else 0

    @property
    def waiting(self) -> int:
        """How many of its records are put off."""
        return self._mover.waiting if self._mover else 0

    def _open(self, opening: ExitStack) -> Mover:
        settings, order = self._house.settings, self._claim.order
        connection = _connection(settings)
        request = order.request
        producing = connection | {
            "linger.ms": settings.linger_ms,
            "request.timeout.ms": settings.request_timeout_ms,
            "socket.timeout.ms": settings.request_timeout_ms,
        }
        name = f"{order.id}{self._house.lane}"
        transactions = Transactions(producing, name, request.delivery_timeout_ms, self._give_up)
        transactions.open()  # fences whoever had the order, before their last offsets are read
        reader = Reader(connection, order.id, request.dlq_topic, intervals(order))
        opening.callback(reader.close)
        reader.open()
        fetcher = Fetcher(connection)
        opening.callback(fetcher.close)
        matcher = (
            None if request.selection.filter is None else self._house.compile_filter(request.selection.filter)
        )
        admin = AdminClient(cast("AdminOptions", settings.kafka.librdkafka()))
        dlq_topic_id = topic_id(admin, request.dlq_topic)
        handled = NOTHING if request.again else self._house.handled(order, dlq_topic_id)
        intake = Intake(request.dlq_topic, reader, fetcher, selector(order, matcher), handled)
        intake.resume()
        routes = Routes(admin, order, partial(_rules, settings))
        routes.refresh()
        lag = _lag(connection, order, user_of(settings))
        guard = Guard(order.id, request.guards, self._house.watch, lag, self._house.lanes)
        frame = Frame(
            name,
            order.id,
            self._claim.epoch,
            request.dlq_topic,
            settings.kafka_cluster,
            settings.events_topic,
            dlq_topic_id,
        )
        parts = Parts(
            reader, intake, transactions, routes, self._patiences(order), guard, self._house.telemetry
        )
        return Mover(order, frame, parts, user_of(settings), self._house.clock())

    def _patiences(self, order: Order) -> Patiences:
        """A target that fails is left alone for as long as trying it holds up the others."""
        delivery_timeout_ms = order.request.delivery_timeout_ms
        backoff = Backoff(delivery_timeout_ms, 4 * delivery_timeout_ms)
        return Patiences(order.request.task_timeout_ms, backoff, self._house.rng)

    def _give_up(self) -> bool:
        """Whether an open transaction has to be left to Kafka: the order is stopped, or makes no progress."""
        now_ms, request = self._house.clock(), self._claim.order.request
        since_ms = self._stopped_since_ms()
        if since_ms is not None:
            return now_ms - since_ms >= self._house.settings.shutdown_graceful_timeout_ms
        return now_ms - self._step_began_ms > request.task_timeout_ms + 2 * request.delivery_timeout_ms


def _connection(settings: RedriveSettings) -> Options:
    return settings.kafka.librdkafka() | {"client.id": "deadwatch-redrive"}


def _rules(settings: RedriveSettings, partitions: dict[str, int]) -> TargetRules:
    return TargetRules(
        partitions=partitions,
        allow=settings.targets_allow,
        dlq_patterns=settings.dlq_topics,
        dlq_deny=settings.dlq_topics_deny,
    )


def _lag(connection: Options, order: Order, user: str) -> GroupLag | None:
    guards = order.request.guards
    if guards.max_target_lag is None or guards.lag_group is None:
        return None
    return GroupLag(connection, guards.lag_group, user)


def user_of(settings: RedriveSettings) -> str:
    """Who we are, for people that grant rights."""
    return f"user {settings.kafka.sasl_username}" if settings.kafka.uses_sasl else "our client"
