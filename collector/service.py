"""The collector put together: sources by the settings, positions, publisher, runtime."""

import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from random import Random

from collector import logs_service, receiver
from collector.dead_letters import DeadLetters
from collector.delivery import Delivery
from collector.health import Health, unheard
from collector.letter_producer import KafkaLetters
from collector.outbox import Parcels
from collector.positions import Positions
from collector.producer import KafkaEvents
from collector.publisher import Publisher
from collector.receiver import Receiver, journal_of
from collector.runtime import Runtime, backoff
from collector.settings import BrokerSettings, CollectorSettings, ConnectSettings
from collector.sources import brokers, connect_tasks, dead_letter_topics
from collector.sources.brokers import BrokerSource
from collector.sources.connect import ConnectSource, source_name
from collector.sources.connect_tasks import ConnectTasksSource
from collector.sources.dead_letter_topics import DeadLetterTopicsSource
from collector.task import Surroundings
from collector.telemetry import telemetry_of

log = logging.getLogger(__name__)


def run(
    settings: CollectorSettings,
    stop: threading.Event,
    *,
    health: Health,
    clock: Callable[[], int],
    pause: Callable[[int], None],
    rng: Random,
) -> str:
    """Collect until ``stop``; the reason if it ended before, else "".

    Raises:
        PositionsError: the positions cannot be read or kept.
    """
    with Positions(settings.data / "positions" / f"{settings.name}.sqlite") as positions:
        around = Surroundings(
            threading.Event(),
            clock,
            rng,
            backoff(settings),
            settings.heartbeat_interval_ms,
            settings.task_timeout_ms,
            telemetry_of(settings.otel_endpoint, settings.name, os.environ),
        )
        for warning in settings.warnings():
            log.warning("%s", warning)
        parcels = Parcels()
        runtime = _runtime(settings, positions, around, parcels, health)
        logs_service.start(runtime, settings, clock)
        _start_connect(runtime, settings, clock, pause)
        _start_connect_tasks(runtime, settings, clock)
        _start_kafka(runtime, settings, clock)
        _start_receiver(runtime, settings, clock, parcels)
        if not (
            settings.logs
            or settings.log_topics
            or settings.connect
            or settings.brokers
            or settings.receiver.enabled
        ):
            log.warning("Nothing but dead letter topics to look at: set logs, connect or brokers")
        return runtime.run(stop, health.beat)


def _runtime(
    settings: CollectorSettings,
    positions: Positions,
    around: Surroundings,
    parcels: Parcels,
    health: Health,
) -> Runtime:
    publishing = publisher(settings, positions, around, parcels, health.work_done)
    return Runtime(settings, parcels, publishing, around, positions.load())


def publisher(
    settings: CollectorSettings,
    positions: Positions,
    around: Surroundings,
    parcels: Parcels,
    published: Callable[[], None] = unheard,
) -> Publisher:
    """What publishes ``parcels`` to Kafka and saves the positions."""
    stopping = threading.Event()
    delivery = Delivery(
        partial(KafkaEvents, settings),
        topic=settings.events_topic,
        kafka=settings.kafka.bootstrap_servers,
        backoff=around.backoff,
        rng=around.rng,
        stopping=stopping,
        telemetry=around.telemetry,
    )
    letters = DeadLetters(
        partial(KafkaLetters, settings),
        topic=settings.quarantine_topic,
        backoff=around.backoff,
        rng=around.rng,
        stopping=stopping,
    )
    return Publisher(parcels, positions, delivery, letters, stopping, published=published)


def _start_connect(
    runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int], pause: Callable[[int], None]
) -> None:
    def connect_source(connect: ConnectSettings) -> ConnectSource:
        return ConnectSource(
            connect,
            saved=runtime.saved(source_name(connect)),
            kafka_cluster=settings.kafka_cluster,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            clock=clock,
            pause=pause,
        )

    for connect in settings.connect:
        runtime.start(partial(connect_source, connect))


def _start_connect_tasks(runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int]) -> None:
    def tasks_source(connect: ConnectSettings) -> ConnectTasksSource:
        return ConnectTasksSource(
            connect,
            settings.kafka,
            saved=runtime.saved(connect_tasks.source_name(connect)),
            kafka_cluster=settings.kafka_cluster,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            clock=clock,
        )

    for connect in settings.connect:
        if connect.tasks_poll_interval_ms:
            runtime.start(partial(tasks_source, connect))


def _start_kafka(runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int]) -> None:
    def broker_source(broker: BrokerSettings) -> BrokerSource:
        return BrokerSource(
            broker,
            saved=runtime.saved(brokers.source_name(broker)),
            kafka_cluster=settings.kafka_cluster,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            clock=clock,
        )

    def topics_source() -> DeadLetterTopicsSource:
        saved = runtime.saved(dead_letter_topics.source_name(settings))
        return DeadLetterTopicsSource(settings, saved=saved, clock=clock)

    for broker in settings.brokers:
        runtime.start(partial(broker_source, broker))
    if settings.dlq_topics_poll_interval_ms:
        runtime.start(topics_source)


def _start_receiver(
    runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int], parcels: Parcels
) -> None:
    if settings.receiver.enabled:
        journal = journal_of(parcels, runtime.saved(receiver.NAME), clock())
        runtime.start(lambda: Receiver(settings, journal, clock))
