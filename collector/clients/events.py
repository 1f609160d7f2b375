"""Reports straight to the events topic, as a collector would that had read the client's log.

librdkafka is the queue and the thread: ``report`` leaves an event with it and never waits. What it cannot
take, or cannot deliver within ``delivery_timeout_ms``, is counted in ``dropped``, and said when it begins and
at exit. Retries, and commits that fail for another reason than time, are no events: use OpenTelemetry.

The source is the process, not the client: one sequence of positions (when the reporter connected in ms, then
1, 2, 3 …) in one idempotent producer cannot be overtaken, whatever number of clients and threads reports. A
source that is given by name must be used by one process at a time.
"""

import atexit
import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.cimpl import Producer

from collector.clients.observations import Expired, Observation, TimedOut
from collector.contract import topics
from collector.contract.events import ClientTimeout, DeliveryTimeout, Event, Position, encode
from collector.kafka import KafkaConnection

log = logging.getLogger(__name__)

CLIENT_ID: Final = "deadwatch-client-events"

_numbers = itertools.count(1)


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
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.dropped = 0
        self._cluster, self._topic, self._source, self._now_ms = kafka_cluster, topic, source, now_ms
        self._flush_at_exit_ms = flush_at_exit_ms
        self._lines: dict[int, Line] = {}
        self._config = kafka.librdkafka() | {
            "client.id": CLIENT_ID,
            "enable.idempotence": True,
            "queue.buffering.max.messages": capacity,
            "delivery.timeout.ms": delivery_timeout_ms,
            "delivery.report.only.error": True,
            "on_delivery": self._not_delivered,
            "log_level": 0,
        }

    def report(self, seen: Observation) -> None:
        """Leave it with librdkafka, as the next position of the source."""
        if not isinstance(seen, Expired | TimedOut):
            return
        line = self._lines.get(os.getpid()) or self._connect(os.getpid())
        with line.lock:
            key, value = encode(self._event(seen, line))
            line.producer.poll(0)
            try:
                line.producer.produce(self._topic, value, key)
            except (BufferError, KafkaException) as error:
                self._drop(error)

    def flush(self, timeout_ms: int) -> int:
        """Wait for the events that are on their way; how many still are. Done at exit as well."""
        line = self._lines.get(os.getpid())
        left = 0 if line is None else line.producer.flush(timeout_ms / 1_000)
        if left or self.dropped:
            log.warning("%d events are not published yet, %d were dropped", left, self.dropped)
        return left

    def close(self, timeout_ms: int) -> int:
        """Flush for the last time, so that nothing is left to do at exit."""
        atexit.unregister(self.flush)
        return self.flush(timeout_ms)

    def _connect(self, pid: int) -> "Line":
        """The line of a parent stays where it is: what librdkafka holds does not survive a fork."""
        source = self._source or f"client:{socket.gethostname()}:{pid}:{next(_numbers)}"
        line = self._lines.setdefault(pid, Line(Producer(self._config), source, self._now_ms()))
        atexit.register(self.flush, self._flush_at_exit_ms)
        return line

    def _event(self, seen: Expired | TimedOut, line: "Line") -> Event:
        now_ms = self._now_ms()
        if isinstance(seen, TimedOut):
            return ClientTimeout(
                source=line.source,
                position=line.next_position(),
                happened_at_ms=now_ms,
                observed_at_ms=now_ms,
                kafka_cluster=self._cluster,
                client=seen.client,
                client_id=seen.client_id,
                timeout=seen.timeout.value,
                message=seen.message,
            )
        return DeliveryTimeout(
            source=line.source,
            position=line.next_position(),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._cluster,
            client=seen.client,
            client_id=seen.client_id,
            topic=seen.topic,
            partition=seen.partition,
            records=seen.records,
            elapsed_ms=seen.elapsed_ms,
            message=seen.message,
        )

    def _not_delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._drop(error)

    def _drop(self, error: object) -> None:
        self.dropped += 1
        if self.dropped == 1:
            log.warning("Events for %s are dropped: %s", self._topic, error)


class Line:
    """One process's connection, and how far it has counted."""

    def __init__(self, producer: Producer, source: str, epoch_ms: int) -> None:
        self.lock = threading.Lock()
        self.producer = producer
        self.source = source
        self._epoch_ms = epoch_ms
        self._offsets = itertools.count(1)

    def next_position(self) -> Position:
        """Beyond every one before it."""
        return Position(self._epoch_ms, next(self._offsets))
