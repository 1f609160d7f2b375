"""confluent-kafka's timeouts, by putting subclasses in the place of its clients.

Clients are C types, so only those are watched that are made as ``confluent_kafka.Producer(…)``,
``SerializingProducer``, ``Consumer`` or ``DeserializingConsumer`` after ``instrument()``; a name imported
from the package before stays what it was. ``confluent_kafka.aio`` makes its clients the first way.

Told: deliveries that failed for a timeout, put together to batches (partition -1 where none was chosen yet);
commits that failed; a full buffer at ``produce`` (with ``ALL``, see below); ``max.poll.interval.ms`` as
``poll`` and ``consume`` hand it out; request timeouts where the application has an ``error_cb``.
Not told: retries and waits for metadata, which librdkafka keeps to itself.

``delivery_reports`` says what the application needs. ``ALL``, the default, takes nothing from anybody's
callbacks. With one callback for many records, given by name, it costs nothing that can be measured; given by
position a sixth of a microsecond a record, without a callback a quarter, with a new callback for each
record one: much of a bare ``produce`` of 100 bytes (0.7 µs), little of most applications' own work.
``FAILURES`` costs a delivered record nothing, but callbacks for single records then hear of failures
alone: choose it where records are given none.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final

import confluent_kafka
from opentelemetry._logs import LoggerProvider
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked
from opentelemetry.metrics import MeterProvider

from collector.clients.confluent_producers import FailuresProducer, ReportsProducer
from collector.clients.librdkafka import WatchedConsumer
from collector.clients.observations import Reporter, Watch
from collector.clients.telemetry import OpenTelemetryReporter


class DeliveryReports(StrEnum):
    """Which delivery reports librdkafka makes."""

    ALL = "all"
    FAILURES = "failures"


PRODUCERS: Final = {DeliveryReports.ALL: ReportsProducer, DeliveryReports.FAILURES: FailuresProducer}


class ConfluentKafkaTimeoutInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # Any to mypy
    """``instrument(reporters=…, meter_provider=…, logger_provider=…, delivery_reports=…)``."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """The releases whose errors are classified."""
        return ("confluent-kafka >= 2.16.1, < 3",)

    def _instrument(
        self,
        *,
        reporters: Sequence[Reporter] = (),
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        delivery_reports: DeliveryReports = DeliveryReports.ALL,
        **_: object,
    ) -> None:
        watch = Watch(reporters or [OpenTelemetryReporter(meter_provider, logger_provider)])
        classes = watched_classes(watch, delivery_reports)
        self._originals = {name: getattr(confluent_kafka, name) for name in classes}
        for name, cls in classes.items():
            setattr(confluent_kafka, name, cls)

    def _uninstrument(self, **_: object) -> None:
        for name, cls in self._originals.items():
            setattr(confluent_kafka, name, cls)


def watched_classes(watch: Watch, delivery_reports: DeliveryReports) -> dict[str, type]:
    """What takes the place of each client; a serializing one is put upon the producer that watches."""
    told = {"watch": watch}
    producer = type("Producer", (PRODUCERS[delivery_reports],), told)
    consumer = type("Consumer", (WatchedConsumer,), told)
    return {
        "Producer": producer,
        "Consumer": consumer,
        "SerializingProducer": type(
            "SerializingProducer", (confluent_kafka.SerializingProducer, producer), {}
        ),
        "DeserializingConsumer": type(
            "DeserializingConsumer", (confluent_kafka.DeserializingConsumer, consumer), {}
        ),
    }
