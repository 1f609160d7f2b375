"""kafka-python's timeouts, by wrapping the few functions in which it gives up or tries again.

A successful ``send`` runs through none of them. They are internals of the library (its public hook, an
errback for each record, would cost every ``send`` a callback): tests check that they are there and are called
as we expect, and another minor release is refused by ``instrumentation_dependencies``.

Told: expired batches with their records, request timeouts (one for each connection that is closed for it),
the wait for a topic's metadata, retries, every commit (sync, async, automatic), ``max_poll_interval_ms``.
Not told: buffer timeouts, because this library's buffer has no limit.
"""

from collections.abc import Collection, Sequence

from kafka.coordinator.base import BaseCoordinator
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.net.connection import KafkaConnection
from kafka.producer.kafka import KafkaProducer
from kafka.producer.sender import Sender
from opentelemetry._logs import LoggerProvider
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked
from opentelemetry.instrumentation.utils import unwrap
from opentelemetry.metrics import MeterProvider
from wrapt import wrap_function_wrapper

from collector.clients.kafka_python_hooks import Hook, Hooks
from collector.clients.observations import Reporter, Watch
from collector.clients.telemetry import OpenTelemetryReporter


class KafkaPythonTimeoutInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # Any to mypy
    """``instrument(reporters=…, meter_provider=…, logger_provider=…)``; the default is OpenTelemetry.

    Clients that exist already are watched too.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        """The only release line whose internals we know."""
        return ("kafka-python >= 3.0.12, < 3.1",)

    def _instrument(
        self,
        *,
        reporters: Sequence[Reporter] = (),
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        **_: object,
    ) -> None:
        watch = Watch(reporters or [OpenTelemetryReporter(meter_provider, logger_provider)])
        for (cls, name), hook in places(Hooks(watch)).items():
            wrap_function_wrapper(cls, name, hook)

    def _uninstrument(self, **_: object) -> None:
        for cls, name in places(Hooks(Watch(()))):
            unwrap(cls, name)


def places(hooks: Hooks) -> dict[tuple[type, str], Hook]:
    """What is wrapped by what."""
    return {
        (Sender, "_dispatch_error"): hooks.batch_failed,
        (KafkaProducer, "_wait_on_metadata"): hooks.wait_on_metadata,
        (KafkaConnection, "_request_timed_out"): hooks.request_timed_out,
        (ConsumerCoordinator, "_commit_offsets_sync_async"): hooks.commit_sync,
        (ConsumerCoordinator, "_do_commit_offsets_async"): hooks.commit_async,
        (BaseCoordinator, "maybe_leave_group_async"): hooks.leave_group,
    }
