"""Subclasses of confluent-kafka's producer that watch; what the producer does stays as it is.

``FailuresProducer`` asks librdkafka for delivery reports of failures alone, which costs a delivered record
nothing; a callback for a single record then hears of failures alone, too. ``ReportsProducer`` leaves all
callbacks as they are and stands between: ``callback(error, message)`` is called as ever.
"""

from types import MethodType
from typing import Any, ClassVar, Final

from confluent_kafka import cimpl

from collector.clients.deliveries import Deliveries, OnDelivery
from collector.clients.librdkafka import Config, Teller
from collector.clients.observations import Watch
from collector.clients.timeouts import Timeout

ONLY_FAILURES: Final = "delivery.report.only.error"
CALLBACKS: Final = ("callback", "on_delivery")

_produce = cimpl.Producer.produce
_produce_batch = cimpl.Producer.produce_batch


class FailuresProducer(cimpl.Producer):
    """For applications that never ask what became of a record, or ask with one ``on_delivery`` for all."""

    watch: ClassVar[Watch]

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = dict(config or {})
        self._teller = Teller(self.watch, config, options)
        self._deliveries = Deliveries(self.watch, self._teller.client_id)
        own = options.pop("on_delivery", config.get("on_delivery"))
        self._configure(config, own)
        super().__init__(config, **options)

    def _configure(self, config: Config, own: OnDelivery | None) -> None:
        config["on_delivery"] = self._deliveries.watched(own)
        if own is None:
            config[ONLY_FAILURES] = True


class ReportsProducer(FailuresProducer):
    """For applications that give records callbacks of their own."""

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        self._latest: tuple[OnDelivery | None, OnDelivery | None] = (None, None)
        super().__init__(config, **options)

    def _configure(self, config: Config, own: OnDelivery | None) -> None:
        config["on_delivery"] = self._deliveries.watched(own)

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
        """As ever; arguments are handed on by position, which pays for half of what we add."""
        if callback is None:
            callback = on_delivery
        if callback is not None:
            latest = self._latest
            callback = latest[1] if latest[0] is callback else self._watched(callback)
        try:
            _produce(self, topic, value, key, partition, callback, None, timestamp, headers)
        except BufferError as error:
            self._teller.timed_out(Timeout.BUFFER, type(error).__name__, str(error))
            raise

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: OnDelivery | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> int:
        """As ever; the library notes errors in the messages, so they are lent with our callbacks in them."""
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
        """One wrapper as long as it is the same callback; a method is a new object each time it is named."""
        latest = self._latest
        if type(callback) is MethodType and callback == latest[0]:
            return latest[1]
        wrapper = self._deliveries.watched(callback)
        self._latest = (callback, wrapper)
        return wrapper
