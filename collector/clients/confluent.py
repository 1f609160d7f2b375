"""Reports confluent-kafka's timeouts by putting subclasses in the place of its clients, which are C types.

Only clients are watched that are made as ``confluent_kafka.Producer(…)``, ``SerializingProducer``,
``Consumer`` or ``DeserializingConsumer`` after ``instrument()``; a name that was imported from the
package before stays what it was. ``confluent_kafka.aio`` makes its clients the first way. What another
instrumentation has put in their place before is watched, and goes on.

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
no callbacks. Those of ``confluent_kafka.aio`` have: who awaits one would wait for ever.
"""

from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from functools import partial
from types import GenericAlias, MethodType
from typing import Any, ClassVar, Final
from weakref import ref

import confluent_kafka
from confluent_kafka import KafkaException, Message, cimpl
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked

from collector.clients.librdkafka import CallbackReporter, Config, Deliveries, OnDelivery, watch_callback
from collector.clients.observations import Timeout, Watch
from collector.clients.reporters import watch_of

CALLBACKS: Final = ("callback", "on_delivery")


class DeliveryReports(StrEnum):
    """Which delivery reports librdkafka makes."""

    ALL = "all"
    FAILURES = "failures"


class WatchedProducer(cimpl.Producer):
    """confluent-kafka's producer, which reports its errors; it behaves as the library's.

    What is ours in it has names that no subclass of an application has.
    """

    deadwatch: ClassVar[Watch]
    deadwatch_reports: ClassVar[DeliveryReports]
    __produce: ClassVar[Callable[..., None]]

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - those of other bases
        """Look up once what ``produce`` calls; ``super()`` would at every record."""
        super().__init_subclass__(**options)
        following = super().produce
        cls.__produce = following if following is cimpl.Producer.produce else by_name(following)

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = {**(config or {}), **options}
        self.__reporter = CallbackReporter(self.deadwatch, config)
        self.__deliveries = Deliveries(self.deadwatch, self.__reporter.client_id)
        if "on_delivery" not in config and self.deadwatch_reports is DeliveryReports.FAILURES:
            config["delivery.report.only.error"] = True
        watched = partial(self.__deliveries.reported, config.get("on_delivery"))
        self.__latest = ref(watched)  # weak, as a callback may belong to who holds the producer
        watch_callback(config, "on_delivery", watched)
        super().__init__(config)

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
            latest = self.__latest()
            same = latest is not None and latest.args[0] is callback
            callback = latest if same else self.__watched(callback)
        try:
            self.__produce(topic, value, key, partition, callback, None, timestamp, headers)
        except BufferError as error:
            self.__reporter.timed_out(Timeout.BUFFER, type(error).__name__, str(error))
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
        with self.deadwatch:
            own += [(each, name, each[name]) for each in messages for name in CALLBACKS if each.get(name)]
        for message, name, callback_of_it in own:
            message[name] = self.__watched(callback_of_it)
        try:
            return super().produce_batch(topic, messages, partition, given and self.__watched(given))
        finally:
            for message, name, callback_of_it in own:
                message[name] = callback_of_it

    def __watched(self, callback: OnDelivery) -> partial[None]:
        """The same wrapper while the callback is the same; a bound method is a new object at each access."""
        latest = self.__latest()
        if latest is not None and type(callback) is MethodType and callback == latest.args[0]:
            return latest
        wrapper = partial(self.__deliveries.reported, callback)
        self.__latest = ref(wrapper)
        return wrapper


def by_name(produce: Callable[..., None]) -> Callable[..., None]:
    """Give another instrumentation the headers by name; by position it may look for them at the time's."""

    def produce_by_name(producer: object, *args: Any) -> None:  # noqa: ANN401 - as the library
        *first, _, timestamp, headers = args
        produce(producer, *first, timestamp=timestamp, headers=headers)

    return produce_by_name


class WatchedConsumer(cimpl.Consumer):
    """confluent-kafka's consumer, which reports its errors; it behaves as the library's."""

    deadwatch: ClassVar[Watch]

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = {**(config or {}), **options}
        self.__reporter = CallbackReporter(self.deadwatch, config)
        watch_callback(config, "on_commit", self.__reporter.committed)  # also for automatic commits
        super().__init__(config)

    def poll(self, *args: Any, **options: Any) -> Message | None:  # noqa: ANN401 - as the library
        """Poll as the library does; the error of a message is reported."""
        message = super().poll(*args, **options)
        if message is not None:
            self.__look_at((message,))
        return message

    def consume(self, *args: Any, **options: Any) -> list[Message]:  # noqa: ANN401 - as the library
        """Consume as the library does; errors of messages are reported."""
        messages = super().consume(*args, **options)
        self.__look_at(messages)
        return messages

    def commit(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library
        """Commit as the library does; a failed commit is reported."""
        try:
            return super().commit(*args, **options)
        except KafkaException as error:
            self.__reporter.commit_failed(error.args[0])
            raise

    def __look_at(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None:
                self.__reporter.failed(error)


class ConfluentKafkaTimeoutInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # Any to mypy
    """``instrument(reporters=…, meter_provider=…, logger_provider=…, delivery_reports=…)``."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """The releases whose errors are classified."""
        return ("confluent-kafka >= 2.16.1, < 3",)

    def _instrument(self, *, delivery_reports: DeliveryReports = DeliveryReports.ALL, **options: Any) -> None:  # noqa: ANN401 - see watch_of
        classes = watched_classes(watch_of("librdkafka", **options), delivery_reports)
        self._originals = {cls: getattr(confluent_kafka, name) for name, cls in classes.items()}
        for name, cls in classes.items():
            setattr(confluent_kafka, name, cls)

    def _uninstrument(self, **_: object) -> None:
        for cls, original in self._originals.items():
            if getattr(confluent_kafka, cls.__name__) is cls:  # what came later stays
                setattr(confluent_kafka, cls.__name__, original)


def watched_classes(watch: Watch, delivery_reports: DeliveryReports) -> dict[str, type]:
    """The class that replaces each client, and is based on it: it may be one of another instrumentation.

    A serializing client is based on the watching one, too.
    """
    library = confluent_kafka
    known = {"deadwatch": watch, "deadwatch_reports": delivery_reports, "__module__": library.__name__}
    unwatched = {name: getattr(library.Producer, name) for name in ("produce", "produce_batch")}
    own = known if delivery_reports is DeliveryReports.ALL else {**known, **unwatched}
    producer = type("Producer", (WatchedProducer, library.Producer), own)
    consumer = type("Consumer", (WatchedConsumer, library.Consumer), known)
    generic = {**known, "__class_getitem__": classmethod(GenericAlias)}
    serializing = type("SerializingProducer", (library.SerializingProducer, producer), generic)
    deserializing = type("DeserializingConsumer", (library.DeserializingConsumer, consumer), generic)
    return {cls.__name__: cls for cls in (producer, consumer, serializing, deserializing)}
