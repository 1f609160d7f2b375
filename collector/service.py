"""The collector put together from its settings: positions, publisher, runtime and every source.

Log files, patterns of log files and log topics are sources of their own each.
"""

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from collector.positions import Positions
from collector.publish.dead_letters import DeadLetterWriter, KafkaDeadLetterProducer
from collector.publish.producer import KafkaEventProducer, Retries
from collector.publish.publisher import ChunkQueue, Delivery, Publisher
from collector.receiver import journal
from collector.receiver.journal import Journal
from collector.receiver.receiver import Receiver
from collector.settings import CollectorSettings, LogReading, LogSettings, LogTopicSettings
from collector.sources.brokers.dead_letter_topics import DeadLetterTopicsSource
from collector.sources.brokers.share_groups import BrokerSource
from collector.sources.connect.tasks import ConnectTasksSource
from collector.sources.connect.workers import ConnectSource
from collector.sources.logs.files import Following, LogSource
from collector.sources.logs.gone import shortened
from collector.sources.logs.patterns import LogGlob
from collector.sources.logs.scan import Scanner
from collector.sources.logs.topic import KafkaLogReader, LogTopicSource
from collector.tasks.runtime import Runtime
from collector.tasks.task import TaskContext
from collector.telemetry import Telemetry
from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.health import Health, unheard
from deadwatch.runtime.logs import Scope
from deadwatch.runtime.otel import providers_of

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
    """Collect until ``stop``; the reason if it ended before, else "". Raises ``PositionsError``."""
    with Positions(settings.data / "positions" / f"{settings.name}.sqlite") as positions:
        context = TaskContext(
            threading.Event(),
            clock,
            rng,
            Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms),
            settings.heartbeat_interval_ms,
            settings.task_timeout_ms,
            Telemetry(providers_of("collector", settings.name, settings.otel_endpoint, os.environ)),
        )
        for warning in settings.warnings():
            log.warning("%s", warning)
        chunks = ChunkQueue()
        publishing = publisher(settings, positions, context, chunks, health.work_done)
        runtime = Runtime(settings, chunks, publishing, context, positions.load(), shortened=shortened)
        Sources(runtime, settings, clock, pause).start(chunks)
        sources = (settings.logs, settings.log_topics, settings.connect, settings.brokers)
        if not any(sources) and not settings.receiver.enabled:
            log.warning("Nothing but dead letter topics to look at: set logs, connect or brokers")
        return runtime.run(stop, health.beat)


def publisher(
    settings: CollectorSettings,
    positions: Positions,
    context: TaskContext,
    chunks: ChunkQueue,
    published: Callable[[], None] = unheard,
) -> Publisher:
    """The publisher of ``chunks``, which also saves the positions."""
    retries = Retries(context.backoff, context.rng, threading.Event())
    delivery = Delivery(
        partial(KafkaEventProducer, settings),
        topic=settings.events_topic,
        kafka=settings.kafka.bootstrap_servers,
        retries=retries,
        telemetry=context.telemetry,
    )
    connect = partial(KafkaDeadLetterProducer, settings)
    dead_letters = DeadLetterWriter(connect, topic=settings.quarantine_topic, retries=retries)
    return Publisher(chunks, positions, delivery, dead_letters, retries.stopping, published=published)


@dataclass(frozen=True, slots=True)
class Sources:
    """Starts every source of the settings; ``pause`` waits that many ms."""

    runtime: Runtime
    settings: CollectorSettings
    clock: Callable[[], int]
    pause: Callable[[int], None]

    def start(self, chunks: ChunkQueue) -> None:
        """Start the sources; ``chunks`` is the queue of the receiver."""
        settings, start, publishing = self.settings, self.runtime.start, self.runtime.publishing
        for logs in settings.logs:
            self._start_files(logs)
        for log_topic in settings.log_topics:
            start(partial(self._log_topic, log_topic))
        for connect in settings.connect:
            start(partial(ConnectSource, connect, publishing, pause=self.pause))
            if connect.tasks_poll_interval_ms:
                start(partial(ConnectTasksSource, connect, settings.kafka, publishing))
        for broker in settings.brokers:
            start(partial(BrokerSource, broker, publishing))
        if settings.dlq_topics_poll_interval_ms:
            start(partial(DeadLetterTopicsSource, settings, publishing))
        if settings.receiver.enabled:
            taken = Journal(chunks, self.runtime.saved(journal.NAME), self.clock())
            start(lambda: Receiver(settings, taken, self.clock))

    def _start_files(self, logs: LogSettings) -> None:
        following = self._following(logs)

        def follow(path: Path, once: bool, taken: Callable[[], bool]) -> None:
            self.runtime.start(partial(LogSource, path, following, of_pattern=True, once=once, taken=taken))

        def follows(path: Path) -> bool:
            return self.runtime.runs(following.source(path))

        if has_magic(logs.path):
            self.runtime.start(partial(LogGlob, logs.path, following, follow, follows), Scope.CONNECTOR)
        else:
            self.runtime.start(partial(LogSource, Path(logs.path), following))

    def _log_topic(self, logs: LogTopicSettings) -> LogTopicSource:
        reader = KafkaLogReader(logs.topic, self.settings.kafka)
        return LogTopicSource(logs.topic, reader, self._following(logs))

    def _following(self, logs: LogReading) -> Following:
        form = "" if logs.format == "auto" else logs.format
        scanner = Scanner(ZoneInfo(logs.timezone), format=form, layout=logs.layout())
        return Following(self.runtime.publishing, self.settings.poll_interval_ms, scanner, logs.worker)
