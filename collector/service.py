"""The collector put together: sources by the settings, positions, publisher, runtime."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from collector import receiver
from collector.log_context import Scope
from collector.outbox import Parcels
from collector.positions import Positions
from collector.producer import KafkaEvents
from collector.publisher import Publisher
from collector.receiver import Receiver, journal_of
from collector.runtime import Runtime, backoff
from collector.settings import BrokerSettings, CollectorSettings, ConnectSettings, LogSettings
from collector.sources import brokers, dead_letter_topics
from collector.sources.brokers import BrokerSource
from collector.sources.connect import ConnectSource, source_name
from collector.sources.dead_letter_topics import DeadLetterTopicsSource
from collector.sources.log_glob import LogGlob, is_pattern
from collector.sources.log_scan import Scanner
from collector.sources.logs import LogSource
from collector.task import Surroundings

log = logging.getLogger(__name__)


def run(
    settings: CollectorSettings,
    stop: threading.Event,
    *,
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
        )
        for warning in settings.warnings():
            log.warning("%s", warning)
        parcels = Parcels()
        runtime = _runtime(settings, positions, around, parcels)
        for logs in settings.logs:
            _start_logs(runtime, settings, logs, clock)
        _start_connect(runtime, settings, clock, pause)
        _start_kafka(runtime, settings, clock)
        _start_receiver(runtime, settings, clock, parcels)
        if not (settings.logs or settings.connect or settings.brokers or settings.receiver.enabled):
            log.warning("Nothing but dead letter topics to look at: set logs, connect or brokers")
        return runtime.run(stop)


def _runtime(
    settings: CollectorSettings, positions: Positions, around: Surroundings, parcels: Parcels
) -> Runtime:
    publisher = Publisher(
        parcels,
        positions,
        partial(KafkaEvents, settings),
        kafka=settings.kafka.bootstrap_servers,
        backoff=around.backoff,
        rng=around.rng,
    )
    return Runtime(settings, parcels, publisher, around, positions.load())


def _start_logs(
    runtime: Runtime, settings: CollectorSettings, logs: LogSettings, clock: Callable[[], int]
) -> None:
    def follow(path: Path) -> None:
        runtime.start(
            lambda: LogSource(
                path,
                saved=runtime.saved(f"log:{path}"),
                scanner=_scanner(logs),
                worker=logs.worker,
                kafka_cluster=settings.kafka_cluster,
                poll_interval_ms=settings.poll_interval_ms,
                clock=clock,
            )
        )

    if not is_pattern(logs.path):
        follow(Path(logs.path))
        return

    def glob() -> LogGlob:
        saved = runtime.saved(f"log:{logs.path}")
        interval_ms = settings.poll_interval_ms
        return LogGlob(logs.path, saved=saved, follow=follow, poll_interval_ms=interval_ms)

    runtime.start(glob, Scope.CONNECTOR)


def _scanner(logs: LogSettings) -> Scanner:
    form = "" if logs.format == "auto" else logs.format
    return Scanner(ZoneInfo(logs.timezone), format=form, layout=logs.layout())


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
