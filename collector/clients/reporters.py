"""Where observations of clients go: to the events topic, or to OpenTelemetry.

``EventsReporter`` queues an event in librdkafka, as a collector publishes it that has read the client's log,
and never waits. What librdkafka cannot queue, or cannot deliver within ``delivery_timeout_ms``, is counted in
``dropped`` and logged when that begins and at exit. Retries, and commits that fail for another reason than
time, are no events: use OpenTelemetry.

Its source is the process, not the client: one sequence of positions (when the reporter connected in ms,
then 1, 2, 3 …) in one idempotent producer cannot be overtaken, however many clients and threads report. A
source that is given by name must be used by one process at a time.

``OpenTelemetryReporter`` has counters, and a log event for each timeout:

| metric | counts | attributes beside system, client and ``error.type`` |
|---|---|---|
| ``deadwatch.client.delivery_timeouts`` | batches | ``messaging.destination.name`` |
| ``deadwatch.client.delivery_timeout.records`` | records of these batches | ``messaging.destination.name`` |
| ``deadwatch.client.timeouts`` | other timeouts | ``deadwatch.timeout`` |
| ``deadwatch.client.retries`` | records sent once more | ``messaging.destination.name`` |
| ``deadwatch.client.commit_failures`` | failed commits | |

The events ``deadwatch.client.delivery_timeout`` and ``deadwatch.client.timeout`` carry these attributes,
``messaging.destination.partition.id``, ``messaging.batch.message_count`` and ``deadwatch.elapsed_ms``.
"""

import atexit
import itertools
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Final

from confluent_kafka import KafkaException, Message
from confluent_kafka.cimpl import Producer
from opentelemetry._logs import LoggerProvider, SeverityNumber, get_logger
from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.util.types import AttributeValue

from collector.clients.observations import (
    CommitFailed,
    Expired,
    Observation,
    Reporter,
    Retried,
    TimedOut,
    Watch,
)
from deadwatch.contract import topics
from deadwatch.contract.events import ClientTimeout, DeliveryTimeout, Event, Position, encode
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.kafka import KafkaConnection

log = logging.getLogger(__name__)

CLIENT_ID: Final = "deadwatch-client-events"
SCOPE: Final = "deadwatch.client"
SCHEMA_URL: Final = Schemas.V1_43_0.value
DESTINATION: Final = "messaging.destination.name"

Attributes = dict[str, AttributeValue]

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Connection:
    """The connection of one process, and its latest position."""

    producer: Producer
    source: str
    epoch_ms: int
    offsets: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: AbstractContextManager[object] = field(default_factory=threading.Lock)
    """Nothing is logged by who holds it: the application's log may go to a watched producer."""


class EventsReporter:
    """Connects at the first report, and anew in a forked process.

    ``delivery_timeout_ms`` is longer than the outages that are to be reported through it.
    """

    def __init__(
        self,
        kafka: KafkaConnection,
        *,
        kafka_cluster: str = "default",
        topic: str = topics.EVENTS,
        source: str = "",
        capacity: int = 10_000,
        delivery_timeout_ms: int = 3_600_000,
        flush_at_exit_ms: int = 5_000,
        now_ms: Callable[[], int] = clock_ms,
    ) -> None:
        self.dropped = 0
        self._cluster, self._topic, self._source, self._now_ms = kafka_cluster, topic, source, now_ms
        self._connections: dict[int, Connection] = {}
        self._config = kafka.librdkafka() | {
            "client.id": CLIENT_ID,
            "enable.idempotence": True,
            "queue.buffering.max.messages": capacity,
            "delivery.timeout.ms": delivery_timeout_ms,
            "delivery.report.only.error": True,
            "on_delivery": self._drop,
            "log_level": 0,
        }
        atexit.register(self.flush, flush_at_exit_ms)

    def report(self, seen: Observation) -> None:
        """Queue an event in librdkafka, at the next position of the source."""
        if not isinstance(seen, Expired | TimedOut):
            return
        connection = self._connections.get(os.getpid()) or self._connect(os.getpid())
        connection.producer.poll(0)
        try:
            with connection.lock:
                key, value = encode(self._event(seen, connection))
                connection.producer.produce(self._topic, value, key)
        except (BufferError, KafkaException) as error:
            self._drop(error)

    def flush(self, timeout_ms: int) -> int:
        """Wait for the events that are on their way; how many still are.

        Done at exit as well, but not in a child of ``multiprocessing``.
        """
        connection = self._connections.get(os.getpid())
        left = 0 if connection is None else connection.producer.flush(timeout_ms / 1_000)
        if left or self.dropped:
            log.warning("%d events are not published yet, %d were dropped", left, self.dropped)
        return left

    def close(self, timeout_ms: int) -> int:
        """Flush for the last time, so that nothing is left to do at exit."""
        atexit.unregister(self.flush)
        return self.flush(timeout_ms)

    def _connect(self, pid: int) -> Connection:
        """Connect this process; a parent's connection stays, as librdkafka does not survive a fork."""
        source = self._source or f"client:{socket.gethostname()}:{pid}:{next(_numbers)}"
        made = Connection(Producer(self._config), source, self._now_ms())
        return self._connections.setdefault(pid, made)

    def _event(self, seen: Expired | TimedOut, connection: Connection) -> Event:
        now_ms, facts = self._now_ms(), asdict(seen)
        del facts["error"]  # the only field of an observation that its event has not
        kind: Callable[..., Event] = ClientTimeout if isinstance(seen, TimedOut) else DeliveryTimeout
        return kind(
            source=connection.source,
            position=Position(connection.epoch_ms, next(connection.offsets)),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._cluster,
            **facts,
        )

    def _drop(self, error: object, _message: Message | None = None) -> None:
        self.dropped += 1
        if self.dropped == 1:
            log.warning("Events for %s are dropped: %s", self._topic, error)


class OpenTelemetryReporter:
    """Counts and logs observations; without providers the global ones are used."""

    def __init__(
        self, meter_provider: MeterProvider | None = None, logger_provider: LoggerProvider | None = None
    ) -> None:
        meter = get_meter(SCOPE, meter_provider=meter_provider, schema_url=SCHEMA_URL)
        counter = meter.create_counter
        self._logger = get_logger(SCOPE, logger_provider=logger_provider, schema_url=SCHEMA_URL)
        self._batches = counter(f"{SCOPE}.delivery_timeouts", "{batch}", "Batches not delivered in time.")
        self._records = counter(
            f"{SCOPE}.delivery_timeout.records", "{record}", "Records of batches not delivered in time."
        )
        self._timeouts = counter(f"{SCOPE}.timeouts", "{timeout}", "Other timeouts, by what was waited for.")
        self._retries = counter(f"{SCOPE}.retries", "{record}", "Records that are sent once more.")
        self._commit_failures = counter(f"{SCOPE}.commit_failures", "{commit}", "Commits that failed.")

    def report(self, seen: Observation) -> None:
        """Count it, and log an event where something timed out."""
        attributes: Attributes = {
            "messaging.system": "kafka",
            "messaging.client.id": seen.client_id,
            "deadwatch.client.library": seen.client,
            "error.type": seen.error,
        }
        match seen:
            case Expired():
                self._expired(seen, attributes | {DESTINATION: seen.topic})
            case TimedOut():
                attributes["deadwatch.timeout"] = seen.timeout.value
                self._timeouts.add(1, attributes)
                self._emit("timeout", seen.message, attributes)
            case Retried():
                self._retries.add(seen.records, attributes | {DESTINATION: seen.topic})
            case CommitFailed():
                self._commit_failures.add(1, attributes)

    def _expired(self, seen: Expired, attributes: Attributes) -> None:
        self._batches.add(1, attributes)
        self._records.add(seen.records, attributes)
        details: Attributes = {
            "messaging.destination.partition.id": str(seen.partition),
            "messaging.batch.message_count": seen.records,
            "deadwatch.elapsed_ms": seen.elapsed_ms,
        }
        self._emit("delivery_timeout", seen.message, attributes | details)

    def _emit(self, event: str, message: str, attributes: Attributes) -> None:
        self._logger.emit(
            event_name=f"{SCOPE}.{event}",
            severity_number=SeverityNumber.WARN,
            body=message,
            attributes=attributes,
        )


def watch_of(
    client: str,
    *,
    reporters: Sequence[Reporter] = (),
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    **_: object,
) -> Watch:
    """The watch of a library, by the options of ``instrument``; without reporters to OpenTelemetry."""
    return Watch(client, reporters or [OpenTelemetryReporter(meter_provider, logger_provider)])
