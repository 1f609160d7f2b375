"""What every client on librdkafka can report: errors, failed commits, ``max.poll.interval.ms``, and
deliveries.

Without ``error_cb`` librdkafka logs its errors; so ours is set only if the application has one.

librdkafka reports failed deliveries record by record and not by batch. It looks for expired records once
a second: so what expires for one partition within ``GROUP_WITHIN_MS`` of the first is one batch. A
process that ends waits that long for its last one.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, Message, TopicPartition

from collector.clients.observations import (
    LIBRDKAFKA,
    LIBRDKAFKA_TOO_LATE_TO_COMMIT,
    UNKNOWN_PARTITION,
    Expired,
    TimedOut,
    Timeout,
    Watch,
)

DEFAULT_CLIENT_ID: Final = "rdkafka"
GROUP_WITHIN_MS: Final = 200

Config = dict[str, Any]
OnDelivery = Callable[[KafkaError | None, Message], None]
Group = tuple[str, int, str, str]
"""Topic, partition, name of the error, its text."""


def watch_callback(config: Config, name: str, ours: Callable[..., None]) -> None:
    """Have librdkafka call ``ours``, unless the application has set what the library refuses."""
    if name not in config or callable(config[name]):
        config[name] = ours


class CallbackReporter:
    """Reports the errors of one client; called in place of the application's ``error_cb``, which it calls."""

    def __init__(self, watch: Watch, config: Config) -> None:
        self.client_id = str(config.get("client.id") or DEFAULT_CLIENT_ID)
        self._watch = watch
        self._on_error: Any = config.get("error_cb")
        self._on_commit = config.get("on_commit")
        if self._on_error is not None:
            watch_callback(config, "error_cb", self.error)

    def error(self, error: KafkaError) -> None:
        """Called by librdkafka as ``error_cb``."""
        self.failed(error)
        self._on_error(error)

    def committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Called by librdkafka as ``on_commit``, also for automatic commits; calls the application's."""
        if error is not None:
            self.commit_failed(error)
        if self._on_commit is not None:
            self._on_commit(error, partitions)

    def failed(self, error: KafkaError) -> None:
        """Report an error if it is a timeout."""
        with self._watch:
            timeout = LIBRDKAFKA.get(error.name())
            if timeout is not None:
                self.timed_out(timeout, error.name(), error.str())

    def timed_out(self, timeout: Timeout, error: str, message: str) -> None:
        """Report a timeout of the client."""
        self._watch.report(TimedOut, self.client_id, error, timeout=timeout, message=message)

    def commit_failed(self, error: KafkaError) -> None:
        """Report a failed commit."""
        with self._watch:
            name = error.name()
            too_late = name in LIBRDKAFKA_TOO_LATE_TO_COMMIT
            self._watch.commit_failed(self.client_id, name, error.str(), too_late=too_late)


class Deliveries:
    """The failed deliveries of one producer; called in the threads that poll it."""

    def __init__(self, watch: Watch, client_id: str) -> None:
        self._watch = watch
        self._client_id = client_id
        self._lock = threading.Lock()
        self._groups: dict[Group, list[int]] = {}
        """The ages of the failed records so far, in ms."""

    def reported(self, callback: OnDelivery | None, error: KafkaError | None, message: Message) -> None:
        """A delivery report for us and for the application, where that has a ``callback``."""
        if error is not None:
            with self._watch:
                if error.name() in LIBRDKAFKA:
                    self._add(error, message)
        if callback is not None:
            callback(error, message)

    def _add(self, error: KafkaError, message: Message) -> None:
        partition = message.partition()
        place = message.topic() or "", UNKNOWN_PARTITION if partition is None else partition
        with self._lock:
            is_first = not self._groups
            ages_ms = self._groups.setdefault((*place, error.name(), error.str()), [])
            ages_ms.append(int((message.latency() or 0) * 1_000))
        current = threading.current_thread()
        if current is threading.main_thread() and not current.is_alive():  # atexit: no thread is waited for
            self._close()
        elif is_first:
            try:
                threading.Timer(GROUP_WITHIN_MS / 1_000, self._close).start()
            except RuntimeError:  # the interpreter is ending and starts none any more
                self._close()

    def _close(self) -> None:
        with self._lock:
            groups, self._groups = self._groups, {}
        for (topic, partition, error, text), ages_ms in groups.items():
            records, elapsed_ms = len(ages_ms), max(ages_ms)
            message = f"{records} record(s) for {topic}-{partition} after {elapsed_ms} ms: {text}"
            report, timeout = partial(self._watch.report, message=message), LIBRDKAFKA[error]
            if timeout is not Timeout.DELIVERY:
                report(TimedOut, self._client_id, error, timeout=timeout)
                continue
            batch = {"topic": topic, "partition": partition, "records": records}
            report(Expired, self._client_id, error, elapsed_ms=elapsed_ms, **batch)
