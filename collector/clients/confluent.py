"""Reports confluent-kafka's timeouts by putting subclasses in the place of its clients, which are C types.

Only clients are watched that are made as ``confluent_kafka.Producer(…)``, ``SerializingProducer``,
``Consumer`` or ``DeserializingConsumer`` after ``instrument()``; a name that was imported from the
package before stays what it was. ``confluent_kafka.aio`` makes its clients the first way.

Reported: deliveries that failed for a timeout, put together to batches (partition -1 if none was chosen
yet); commits that failed; a full buffer at ``produce`` (only with ``ALL``); ``max.poll.interval.ms`` as
``poll`` and ``consume`` return it; request timeouts if the application has an ``error_cb``. Not reported:
retries and waits for metadata, which librdkafka does not expose.

``delivery_reports`` depends on what the application needs. With ``ALL``, the default, every callback is
called as before. One callback for many records costs nothing measurable when it is given by name; given
by position it costs a sixth of a microsecond a record, without a callback a quarter, with a new callback
for each record one: much of a bare ``produce`` of 100 bytes (0.7 µs), little of most applications' own
work. With ``FAILURES`` librdkafka makes delivery reports of failures alone, which costs a delivered
record nothing; callbacks for single records are then called for failures alone: choose it if records have
no callbacks.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from types import MethodType
from typing import Any, ClassVar, Final

import confluent_kafka
from confluent_kafka import KafkaException, Message, cimpl
from opentelemetry._logs import LoggerProvider
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked
from opentelemetry.metrics import MeterProvider

from collector.clients.librdkafka import CallbackReporter, Config, Deliveries, OnDelivery
from collector.clients.observations import Reporter, Timeout, Watch
from collector.clients.reporters import OpenTelemetryReporter

CALLBACKS: Final = ("callback", "on_delivery")

_produce = cimpl.Producer.produce
_produce_batch = cimpl.Producer.produce_batch


class FailuresProducer(cimpl.Producer):
    """For applications that never ask what became of a record, or ask with one ``on_delivery`` for all."""

    watch: ClassVar[Watch]
    only_failures: ClassVar[bool] = True

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = dict(config or {})
        self._reporter = CallbackReporter(self.watch, config, options)
        self._deliveries = Deliveries(self.watch, self._reporter.client_id)
        self._latest: tuple[OnDelivery | None, OnDelivery | None] = (None, None)
        own = options.pop("on_delivery", config.get("on_delivery"))
        config["on_delivery"] = self._deliveries.watched(own)
        if own is None and self.only_failures:
            config["delivery.report.only.error"] = True
        super().__init__(config, **options)


class ReportsProducer(FailuresProducer):
    """For applications that give records callbacks of their own."""

    only_failures = False

    def produce(  # noqa: PLR0917 - as the library
        self,
        topic: str,
        value: Any = None,  # noqa: ANN401 - as the library
        key: Any = None,  # noqa: ANN401 - as the library
        partition: int = -1,
        callback: OnDelivery | None = None,
        on_delivery: OnDelivery | None = None,
        timestamp: int = 0,
        headers: Any = None,  # noqa: ANN401 - as the library
    ) -> None:
        """Produce as the library does; passing arguments by position saves half of the time that we add."""
        if callback is None:
            callback = on_delivery
        if callback is not None:
            latest = self._latest
            callback = latest[1] if latest[0] is callback else self._watched(callback)
        try:
            _produce(self, topic, value, key, partition, callback, None, timestamp, headers)
        except BufferError as error:
            self._reporter.timed_out(Timeout.BUFFER, type(error).__name__, str(error))
            raise

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: OnDelivery | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> int:
        """Produce as the library does; it writes errors into the messages, so they carry our callbacks."""
        given = callback or on_delivery
        own: list[tuple[dict[str, Any], str, OnDelivery]] = []
        with self.watch:
            own += [(each, name, each[name]) for each in messages for name in CALLBACKS if each.get(name)]
        for message, name, callback_of_it in own:
            message[name] = self._watched(callback_of_it)
        try:
            return _produce_batch(self, topic, messages, partition, self._watched(given) if given else None)
        finally:
            for message, name, callback_of_it in own:
                message[name] = callback_of_it

    def _watched(self, callback: OnDelivery) -> OnDelivery | None:
        """The same wrapper while the callback is the same; a bound method is a new object at each access."""
        latest = self._latest
        if type(callback) is MethodType and callback == latest[0]:
            return latest[1]
        wrapper = self._deliveries.watched(callback)
        self._latest = (callback, wrapper)
        return wrapper


class WatchedConsumer(cimpl.Consumer):
    """confluent-kafka's consumer, which reports its errors; it behaves as the library's."""

    watch: ClassVar[Watch]

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = dict(config or {})
        self._reporter = CallbackReporter(self.watch, config, options)
        config["on_commit"] = self._reporter.committed  # also for asynchronous and automatic commits
        super().__init__(config, **options)

    def poll(self, *args: Any, **options: Any) -> Message | None:  # noqa: ANN401 - as the library
        """Poll as the library does; the error of a message is reported."""
        message = super().poll(*args, **options)
        if message is not None:
            self._look_at((message,))
        return message

    def consume(self, *args: Any, **options: Any) -> list[Message]:  # noqa: ANN401 - as the library
        """Consume as the library does; errors of messages are reported."""
        messages = super().consume(*args, **options)
        self._look_at(messages)
        return messages

    def commit(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library
        """Commit as the library does; a failed commit is reported."""
        try:
            return super().commit(*args, **options)
        except KafkaException as error:
            self._reporter.commit_failed(error.args[0])
            raise

    def _look_at(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None:
                self._reporter.failed(error)


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
        watch = Watch("librdkafka", reporters or [OpenTelemetryReporter(meter_provider, logger_provider)])
        classes = watched_classes(watch, delivery_reports)
        self._originals = {name: getattr(confluent_kafka, name) for name in classes}
        for name, cls in classes.items():
            setattr(confluent_kafka, name, cls)

    def _uninstrument(self, **_: object) -> None:
        for name, cls in self._originals.items():
            setattr(confluent_kafka, name, cls)


def watched_classes(watch: Watch, delivery_reports: DeliveryReports) -> dict[str, type]:
    """The class that replaces each client; a serializing client is based on the watching one."""
    producer = type("Producer", (PRODUCERS[delivery_reports],), {"watch": watch})
    consumer = type("Consumer", (WatchedConsumer,), {"watch": watch})
    serializing = type("SerializingProducer", (confluent_kafka.SerializingProducer, producer), {})
    deserializing = type("DeserializingConsumer", (confluent_kafka.DeserializingConsumer, consumer), {})
    return {cls.__name__: cls for cls in (producer, consumer, serializing, deserializing)}
