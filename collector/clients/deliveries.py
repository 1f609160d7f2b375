"""Failed deliveries of librdkafka, put together again: it reports record by record and tells no batch.

It looks for expired records once a second; so what expires for one partition within ``GROUP_WITHIN_MS`` of
the first is one batch. A process that ends waits that long for its last one.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, Message

from collector.clients.librdkafka import CLIENT
from collector.clients.observations import UNKNOWN_PARTITION, Expired, Observation, TimedOut, Watch
from collector.clients.timeouts import LIBRDKAFKA, Timeout

GROUP_WITHIN_MS: Final = 200

OnDelivery = Callable[[KafkaError | None, Message], None]
Group = tuple[str, int, str]
"""Topic, partition, name of the error."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a group has come to."""

    records: int
    elapsed_ms: int
    message: str


class Deliveries:
    """Those of one producer; called in the threads that poll it."""

    def __init__(self, watch: Watch, client_id: str) -> None:
        self._watch = watch
        self._client_id = client_id
        self._lock = threading.Lock()
        self._groups: dict[Group, Tally] = {}

    def watched(self, callback: OnDelivery | None) -> OnDelivery:
        """A delivery report for us and for the application."""
        return self.reported if callback is None else partial(self.both, callback)

    def both(self, callback: OnDelivery, error: KafkaError | None, message: Message) -> None:
        """A delivery report that the application asks for."""
        if error is not None:
            self.failed(error, message)
        callback(error, message)

    def reported(self, error: KafkaError | None, message: Message) -> None:
        """A delivery report that the application does not ask for."""
        if error is not None:
            self.failed(error, message)

    def failed(self, error: KafkaError, message: Message) -> None:
        """A delivery report with an error; others than timeouts are none of our business."""
        with self._watch:
            if error.name() in LIBRDKAFKA:
                self._add(error, message)

    def _add(self, error: KafkaError, message: Message) -> None:
        partition = message.partition()
        group = (message.topic() or "", UNKNOWN_PARTITION if partition is None else partition, error.name())
        elapsed_ms = int((message.latency() or 0) * 1_000)
        with self._lock:
            is_first = not self._groups
            tally = self._groups.get(group, Tally(0, 0, error.str()))
            longest_ms = max(tally.elapsed_ms, elapsed_ms)
            self._groups[group] = replace(tally, records=tally.records + 1, elapsed_ms=longest_ms)
        if is_first:
            self._close_soon()

    def _close_soon(self) -> None:
        try:
            threading.Timer(GROUP_WITHIN_MS / 1_000, self._close).start()
        except RuntimeError:  # the interpreter is ending and starts no thread any more
            self._close()

    def _close(self) -> None:
        with self._lock:
            groups, self._groups = self._groups, {}
        for group, tally in groups.items():
            self._watch.report(self._observation(*group, tally))

    def _observation(self, topic: str, partition: int, error: str, tally: Tally) -> Observation:
        timeout = LIBRDKAFKA[error]
        message = (
            f"{tally.records} record(s) for {topic}-{partition} after {tally.elapsed_ms} ms: {tally.message}"
        )
        if timeout is not Timeout.DELIVERY:
            return TimedOut(
                client=CLIENT, client_id=self._client_id, error=error, timeout=timeout, message=message
            )
        return Expired(
            client=CLIENT,
            client_id=self._client_id,
            error=error,
            topic=topic,
            partition=partition,
            records=tally.records,
            elapsed_ms=tally.elapsed_ms,
            message=message,
        )
