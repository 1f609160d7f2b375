"""What Kafka tells an order at its creation: topics, and the first and the last offset of each partition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka import admin as typed_admin

from collector.kafka import KafkaConnection
from streaming.redrive.errors import KafkaUnavailableError

admin: Any = typed_admin  # its types leave out what is used here

TIMEOUT_S: Final = 10.0
LIBRARY: Final = {"log_level": 0, "socket.timeout.ms": 10_000, "allow.auto.create.topics": False}
"""Of librdkafka: what goes wrong is told by us; nothing is created by being asked for."""

RIGHTS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "READ and DESCRIBE on it",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on groups that begin with deadwatch-",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "DESCRIBE on the cluster",
}


@dataclass(frozen=True, slots=True)
class Extents:
    """First offsets and, of what is committed, end offsets of a topic by partition."""

    begin: Mapping[int, int]
    end: Mapping[int, int]


def unavailable(what: str, error: KafkaError, connection: KafkaConnection) -> KafkaUnavailableError:
    """What was asked, what Kafka said, and what to do; which right is missing, and for whom."""
    right = RIGHTS.get(error.code())
    user = connection.sasl_username or "us"
    to_do = "try again when it is back" if right is None else f"allow {user} {right}"
    return KafkaUnavailableError(f"{what}: {error.str()}; {to_do}")


def topic_id(client: Any, topic: str) -> str:  # noqa: ANN401 -- an AdminClient, whose types leave this out
    """Kafka's id of a topic; "" where its broker knows none. Raises ``KafkaException``."""
    asked = client.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT_S)
    found = asked[topic].result().topic_id
    halves = found.get_most_significant_bits(), found.get_least_significant_bits()
    high, low = (half % 2**64 for half in halves)
    return str(UUID(int=high << 64 | low)) if high or low else ""


class Cluster:
    """Questions to Kafka; every answer comes within ten seconds or not at all."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._admin = admin.AdminClient(connection.librdkafka() | LIBRARY)

    def partitions(self) -> dict[str, int]:
        """How many partitions each topic has. Raises ``KafkaUnavailableError``."""
        try:
            topics = self._admin.list_topics(timeout=TIMEOUT_S).topics  # of all: asking for one may create it
        except KafkaException as error:
            where = self._connection.bootstrap_servers
            raise unavailable(
                f"Kafka at {where} does not tell its topics", error.args[0], self._connection
            ) from error
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def extents(self, topic: str, partitions: int) -> Extents:
        """What the topic holds now. Raises ``KafkaUnavailableError``."""
        every = [TopicPartition(topic, partition) for partition in range(partitions)]
        try:
            begin = self._offsets(every, admin.OffsetSpec.earliest())
            return Extents(begin, self._offsets(every, admin.OffsetSpec.latest()))
        except KafkaException as error:
            raise self._untold(topic, error) from error

    def written(self, topic: str, partitions: int) -> Extents:
        """Its first offsets, and the end offsets also of transactions whose end is not written yet.

        Raises ``KafkaUnavailableError``.
        """
        every = [TopicPartition(topic, partition) for partition in range(partitions)]
        begin, end = admin.OffsetSpec.earliest(), admin.OffsetSpec.latest()
        try:
            return Extents(
                self._offsets(every, begin), self._offsets(every, end, IsolationLevel.READ_UNCOMMITTED)
            )
        except KafkaException as error:
            raise self._untold(topic, error) from error

    def topic_id(self, topic: str) -> str:
        """Kafka's id of a topic; "" where its broker knows none. Raises ``KafkaUnavailableError``."""
        try:
            return topic_id(self._admin, topic)
        except KafkaException as error:
            what = f"topic {topic} is not described"
            raise unavailable(what, error.args[0], self._connection) from error

    def begin_at(self, topic: str, partitions: Iterable[int], time_ms: int) -> dict[int, int]:
        """The first offset of each partition at or after a time; -1: there is none.

        Raises ``KafkaUnavailableError``.
        """
        places = [TopicPartition(topic, partition) for partition in partitions]
        try:
            return self._offsets(places, admin.OffsetSpec.for_timestamp(time_ms))
        except KafkaException as error:
            raise self._untold(topic, error) from error

    def _untold(self, topic: str, error: KafkaException) -> KafkaUnavailableError:
        return unavailable(f"topic {topic} does not tell its offsets", error.args[0], self._connection)

    def _offsets(
        self,
        places: list[TopicPartition],
        spec: object,
        isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[int, int]:
        asked = self._admin.list_offsets(
            dict.fromkeys(places, spec),
            isolation_level=isolation_level,
            request_timeout=TIMEOUT_S,
        )
        return {place.partition: found.result().offset for place, found in asked.items()}
