"""What runs around kafka-python's own functions; a hook returns, or raises, what the function does."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kafka.coordinator.base import BaseCoordinator, MemberState
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaError, KafkaTimeoutError, RetriableError
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.producer.kafka import KafkaProducer
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.sender import Sender

from collector.clients.observations import CommitFailed, Expired, Retried, TimedOut, Watch
from collector.clients.timeouts import KAFKA_PYTHON, KAFKA_PYTHON_TOO_LATE_TO_COMMIT, Timeout

CLIENT: Final = "kafka-python"

Wrapped = Callable[..., Any]
Args = Sequence[Any]
Kwargs = Mapping[str, Any]
Hook = Callable[[Wrapped, Any, Args, Kwargs], object]


class Hooks:
    """One for each place; what fails in here stays in here."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def batch_failed(self, wrapped: Wrapped, sender: Sender, args: Args, kwargs: Kwargs) -> object:
        """The sender decides what becomes of a batch: once more, or its end."""
        attempts, pending = 0, False
        with self._watch:
            attempts, pending = args[0].attempts, args[0].final_state is None
        result = wrapped(*args, **kwargs)
        with self._watch:
            batch, error = args[0], args[1]
            if batch.attempts > attempts:
                self._retried(sender, batch, error)
            elif pending and batch.final_state is not None:
                self._lost(sender, batch, error)
        return result

    def wait_on_metadata(
        self, wrapped: Wrapped, producer: KafkaProducer, args: Args, kwargs: Kwargs
    ) -> object:
        """``send`` to a topic that nothing is known of yet."""
        try:
            return wrapped(*args, **kwargs)
        except KafkaTimeoutError as error:
            with self._watch:
                client_id = producer.config["client_id"]
                self._timed_out(client_id, Timeout.METADATA, type(error).__name__, str(error))
            raise

    def request_timed_out(
        self, wrapped: Wrapped, connection: KafkaConnection, args: Args, kwargs: Kwargs
    ) -> object:
        """A timer that ran out; it does nothing when the response has come in the meantime."""
        was_open = False
        with self._watch:
            was_open = not connection.closed
        result = wrapped(*args, **kwargs)
        with self._watch:
            if was_open and connection.closed:
                error, client_id = args[0].exception, connection.config["client_id"]
                self._timed_out(client_id, Timeout.REQUEST, type(error).__name__, str(error))
        return result

    async def commit_sync(
        self, wrapped: Wrapped, coordinator: ConsumerCoordinator, args: Args, kwargs: Kwargs
    ) -> object:
        """A commit that is waited for: the application's, before a rebalance, or at close."""
        try:
            return await wrapped(*args, **kwargs)
        except KafkaError as error:
            self._commit_failed(coordinator, error)
            raise

    def commit_async(
        self, wrapped: Wrapped, coordinator: ConsumerCoordinator, args: Args, kwargs: Kwargs
    ) -> Future:
        """A commit that is not waited for: the application's or the automatic one."""
        future = wrapped(*args, **kwargs)
        with self._watch:
            future.add_errback(partial(self._commit_failed, coordinator))
        return future

    def leave_group(
        self, wrapped: Wrapped, coordinator: BaseCoordinator, args: Args, kwargs: Kwargs
    ) -> object:
        """A member leaves by itself when ``poll`` has not been called for ``max_poll_interval_ms``."""
        with self._watch:
            if coordinator.state is MemberState.STABLE and coordinator.heartbeat.poll_timeout_expired():
                message = f"left group {coordinator.group_id}: no poll() within max_poll_interval_ms"
                self._timed_out(_client_id(coordinator), Timeout.POLL, "max_poll_interval_ms", message)
        return wrapped(*args, **kwargs)

    def _retried(self, sender: Sender, batch: ProducerBatch, error: KafkaError) -> None:
        self._watch.report(
            Retried(
                client=CLIENT,
                client_id=sender.config["client_id"],
                error=type(error).__name__,
                topic=batch.topic_partition.topic,
                records=batch.record_count,
            )
        )

    def _lost(self, sender: Sender, batch: ProducerBatch, error: KafkaError) -> None:
        """What would be tried again if there were time left has expired, whatever its last failure was."""
        accumulator = sender._accumulator  # noqa: SLF001 - the only one that knows the limit
        out_of_time = batch.has_reached_delivery_timeout(accumulator.delivery_timeout_ms)
        if out_of_time and isinstance(error, RetriableError):
            self._expired(sender, batch, error)
        elif isinstance(error, KAFKA_PYTHON):
            self._timed_out(sender.config["client_id"], Timeout.REQUEST, type(error).__name__, str(error))

    def _expired(self, sender: Sender, batch: ProducerBatch, error: KafkaError) -> None:
        self._watch.report(
            Expired(
                client=CLIENT,
                client_id=sender.config["client_id"],
                error=type(error).__name__,
                topic=batch.topic_partition.topic,
                partition=batch.topic_partition.partition,
                records=batch.record_count,
                elapsed_ms=int((time.monotonic() - batch.created) * 1_000),
                message=str(error),
            )
        )

    def _timed_out(self, client_id: str, timeout: Timeout, error: str, message: str) -> None:
        self._watch.report(
            TimedOut(client=CLIENT, client_id=client_id, error=error, timeout=timeout, message=message)
        )

    def _commit_failed(self, coordinator: ConsumerCoordinator, error: KafkaError) -> None:
        with self._watch:
            name, client_id = type(error).__name__, _client_id(coordinator)
            failed = CommitFailed(client=CLIENT, client_id=client_id, error=name, message=str(error))
            self._watch.commit_failed(failed, too_late=isinstance(error, KAFKA_PYTHON_TOO_LATE_TO_COMMIT))


def _client_id(coordinator: BaseCoordinator) -> str:
    return str(coordinator._manager.config["client_id"])  # noqa: SLF001 - it has none of its own
