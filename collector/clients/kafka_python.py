"""Reports kafka-python's timeouts by wrapping the few functions in which it gives up or tries again.

A successful ``send`` runs through none of them. They are internals of the library (its public hook, an
errback for each record, would cost every ``send`` a callback): tests check that they exist and are called
as we expect, and ``instrumentation_dependencies`` refuses another minor release. A hook returns, or
raises, what the function does.

Reported: expired batches with their records, request timeouts (one for each connection that is closed for
it), the wait for a topic's metadata, retries, every failed commit (sync, async, automatic),
``max_poll_interval_ms``. Not reported: buffer timeouts, because this library's buffer has no limit.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from kafka.coordinator.base import BaseCoordinator, MemberState
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaError, KafkaTimeoutError, RetriableError
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.producer.kafka import KafkaProducer
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.sender import Sender
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked
from opentelemetry.instrumentation.utils import unwrap
from wrapt import wrap_function_wrapper

from collector.clients.observations import (
    KAFKA_PYTHON,
    KAFKA_PYTHON_TOO_LATE_TO_COMMIT,
    Expired,
    Observation,
    Retried,
    TimedOut,
    Timeout,
    Watch,
)
from collector.clients.reporters import watch_of

Wrapped = Callable[..., Any]
Args = Sequence[Any]
Kwargs = Mapping[str, Any]
Hook = Callable[[Wrapped, Any, Args, Kwargs], object]


class Hooks:
    """A hook for each wrapped function; what fails in a hook does not reach the application."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._sent = threading.local()

    def batch_failed(self, wrapped: Wrapped, sender: Sender, args: Args, kwargs: Kwargs) -> object:
        """The sender decides what becomes of a batch: once more, or its end."""
        attempts, pending = 0, False
        with self._watch:
            attempts, pending = args[0].attempts, args[0].final_state is None
        result = wrapped(*args, **kwargs)
        with self._watch:
            batch, error = args[0], args[1]
            if batch.attempts > attempts:
                topic, records = batch.topic_partition.topic, batch.record_count
                self._report(Retried, sender.config, error, topic=topic, records=records)
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
                self._timed_out(producer.config, Timeout.METADATA, error)
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
                self._timed_out(connection.config, Timeout.REQUEST, args[0].exception)
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
            self._sent.commit = future
        return future

    def search_and_commit(
        self, wrapped: Wrapped, coordinator: ConsumerCoordinator, args: Args, kwargs: Kwargs
    ) -> Future:
        """The same; it ends with the search for its coordinator where that is not known, and not found."""
        future = wrapped(*args, **kwargs)
        with self._watch:
            if future is not getattr(self._sent, "commit", None):
                future.add_errback(partial(self._commit_failed, coordinator))
        return future

    def leave_group(
        self, wrapped: Wrapped, coordinator: BaseCoordinator, args: Args, kwargs: Kwargs
    ) -> object:
        """A member leaves by itself when ``poll`` has not been called for ``max_poll_interval_ms``."""
        with self._watch:
            if coordinator.state is MemberState.STABLE and coordinator.heartbeat.poll_timeout_expired():
                message = f"left group {coordinator.group_id}: no poll() within max_poll_interval_ms"
                client_id, error = _client_id(coordinator), "max_poll_interval_ms"
                self._watch.report(TimedOut, client_id, error, timeout=Timeout.POLL, message=message)
        return wrapped(*args, **kwargs)

    def _lost(self, sender: Sender, batch: ProducerBatch, error: KafkaError) -> None:
        """What would be tried again if there were time left has expired, whatever its last failure was."""
        accumulator = sender._accumulator  # noqa: SLF001 - the only one that knows the limit
        out_of_time = batch.has_reached_delivery_timeout(accumulator.delivery_timeout_ms)
        if out_of_time and isinstance(error, RetriableError):
            place = batch.topic_partition._asdict()
            elapsed_ms = int((time.monotonic() - batch.created) * 1_000)
            details = {"records": batch.record_count, "elapsed_ms": elapsed_ms, "message": str(error)}
            self._report(Expired, sender.config, error, **place, **details)
        elif isinstance(error, KAFKA_PYTHON):
            self._timed_out(sender.config, Timeout.REQUEST, error)

    def _timed_out(self, config: Kwargs, timeout: Timeout, error: KafkaError) -> None:
        self._report(TimedOut, config, error, timeout=timeout, message=str(error))

    def _report(self, kind: type[Observation], config: Kwargs, error: KafkaError, **details: object) -> None:
        self._watch.report(kind, config["client_id"], type(error).__name__, **details)

    def _commit_failed(self, coordinator: ConsumerCoordinator, error: KafkaError) -> None:
        with self._watch:
            name, client_id = type(error).__name__, _client_id(coordinator)
            too_late = isinstance(error, KAFKA_PYTHON_TOO_LATE_TO_COMMIT)
            self._watch.commit_failed(client_id, name, str(error), too_late=too_late)


def _client_id(coordinator: BaseCoordinator) -> str:
    return str(coordinator._manager.config["client_id"])  # noqa: SLF001 - it has none of its own


class KafkaPythonTimeoutInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # Any to mypy
    """``instrument(reporters=…, meter_provider=…, logger_provider=…)``; the default is OpenTelemetry.

    Clients that exist already are watched too.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """The only release line whose internals are known."""
        return ("kafka-python >= 3.0.12, < 3.1",)

    def _instrument(self, **options: Any) -> None:  # noqa: ANN401 - see watch_of
        watch = watch_of("kafka-python", **options)
        for (cls, name), hook in places(Hooks(watch)).items():
            wrap_function_wrapper(cls, name, hook)

    def _uninstrument(self, **_: object) -> None:
        for cls, name in places(Hooks(Watch("", ()))):
            unwrap(cls, name)


def places(hooks: Hooks) -> dict[tuple[type, str], Hook]:
    """The wrapped functions and their hooks."""
    return {
        (Sender, "_dispatch_error"): hooks.batch_failed,
        (KafkaProducer, "_wait_on_metadata"): hooks.wait_on_metadata,
        (KafkaConnection, "_request_timed_out"): hooks.request_timed_out,
        (ConsumerCoordinator, "_commit_offsets_sync_async"): hooks.commit_sync,
        (ConsumerCoordinator, "_do_commit_offsets_async"): hooks.commit_async,
        (ConsumerCoordinator, "commit_offsets_async"): hooks.search_and_commit,
        (BaseCoordinator, "maybe_leave_group_async"): hooks.leave_group,
    }
