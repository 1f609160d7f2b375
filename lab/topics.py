"""Topics of the lab's broker: make them, fill them, see how far they reach."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.processes import LabError, until

Config = dict[str, str | int | float | bool]

_WITHIN_S: Final = 30.0
_ANSWERS_WITHIN_S: Final = 5.0  # once: it is asked again
_GROWS_WITHIN_S: Final = 60.0
_ASK_AGAIN: Final = frozenset(
    {KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError.TOPIC_ALREADY_EXISTS}  # noqa: SLF001
)
"""No answer, or that to a request before: the topics that are there tell."""
_QUIET: Final = 0  # the lab stalls its broker on purpose: the client need not log it


class Topics:
    """Topics by a client of the listener without encryption."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._config: Config = {"bootstrap.servers": bootstrap_servers, "log_level": _QUIET}
        self._admin = AdminClient(self._config)

    def create(self, *names: str, partitions: int = 2, config: Mapping[str, str] | None = None) -> None:
        """Create topics; those that exist stay as they are. Returns when the broker tells of all of them."""
        settings = dict(config or {})

        def exist() -> bool:
            """Whether the broker tells of all; if not, ask it for what is missing: one that was stopped may
            keep a request for a minute.
            """
            known = self._admin.list_topics(timeout=_WITHIN_S).topics
            missing = [name for name in names if name not in known or not known[name].partitions]
            if not missing:
                return True
            wanted = [NewTopic(name, partitions, 1, config=settings) for name in missing]
            asked = {"request_timeout": _ANSWERS_WITHIN_S}
            try:
                for future in self._admin.create_topics(wanted, **asked).values():
                    future.result(_WITHIN_S)
            except KafkaException as error:
                if error.args[0].code() not in _ASK_AGAIN:
                    raise
            return False

        until(exist, f"the broker does not create {names}, or does not tell of them", _GROWS_WITHIN_S)

    def produce(self, topic: str, values: Iterable[bytes]) -> None:
        """Write records and return when the broker has them all."""
        producer = Producer(self._config | {"linger.ms": 0, "enable.idempotence": True})
        for value in values:
            producer.produce(topic, value)
        unsent = producer.flush(_WITHIN_S)
        if unsent:
            raise LabError(f"{unsent} records for {topic} were not acknowledged in {_WITHIN_S:.0f} s")

    def end(self, topic: str) -> int:
        """The sum of the end offsets; 0 for a topic that does not exist."""
        metadata = self._admin.list_topics(timeout=_WITHIN_S).topics.get(topic)
        if metadata is None:
            return 0
        ends: dict[int, int] = {}

        def known() -> bool:
            """Ask with a new client: a broker that was stopped leads its partitions again, and answers
            clients that were waiting for it, only after a moment.
            """
            with closing(Consumer(self._config | {"group.id": "lab"})) as consumer, suppress(KafkaException):
                for partition in metadata.partitions:
                    place = TopicPartition(topic, partition)
                    ends[partition] = consumer.get_watermark_offsets(place, timeout=_ANSWERS_WITHIN_S)[1]
            return len(ends) == len(metadata.partitions)

        until(known, f"the end of {topic} could not be read", _GROWS_WITHIN_S)
        return sum(ends.values())

    @contextmanager
    def growing(self, topic: str, count: int) -> Iterator[None]:
        """A context that ends when the topic has ``count`` records more than at its beginning."""
        before = self.end(topic)
        yield
        self.wait_beyond(topic, before + count - 1)

    def wait_beyond(self, topic: str, offset: int) -> None:
        """Return when the topic reaches further than ``offset``."""
        until(lambda: self.end(topic) > offset, f"{topic} did not grow beyond {offset}", _GROWS_WITHIN_S)
