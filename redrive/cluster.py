"""What Kafka says of its topics: partitions, ids, offsets, and how far a consumer group is behind on them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final
from uuid import UUID

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPlaces
from confluent_kafka import admin as typed_admin
from confluent_kafka.admin import AdminClient

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.guards import LagRefusedError
from deadwatch.orders.selection import Extents
from deadwatch.runtime.kafka import KafkaConnection
from redrive.librdkafka import INVALID_SETTING, TIMED_OUT

admin: Any = typed_admin  # its types leave out what is used here
OffsetSpec = Any
"""What to list of a partition: ``admin.OffsetSpec``."""
Places = int | Sequence[int]
"""How many partitions a topic has, or some of them: none is waited for that is not asked for."""

TIMEOUT_S: Final = 10.0
LAG_TIMEOUT_S: Final = 5.0
COMMITTED: Final = IsolationLevel.READ_COMMITTED
WRITTEN: Final = IsolationLevel.READ_UNCOMMITTED
"""With what open transactions have written."""
LIBRARY: Final = {"log_level": 0, "socket.timeout.ms": 10_000, "allow.auto.create.topics": False}
"""Options of librdkafka: errors are reported by us, and asking for a topic does not create it."""

RIGHTS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "READ and DESCRIBE on it",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on groups that begin with deadwatch-",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "DESCRIBE on the cluster",
}


@contextmanager
def asking(connection: KafkaConnection, trouble: str) -> Iterator[None]:
    """Inside, an error of Kafka becomes one that says what the ``trouble`` is and what to do about it.

    Raises:
        KafkaUnavailableError: with Kafka's answer, and who lacks which right, if any.
    """
    try:
        yield
    except KafkaException as raised:
        error: KafkaError = raised.args[0]
        right = RIGHTS.get(error.code())
        user = connection.sasl_username or "us"
        to_do = "try again when it is back" if right is None else f"allow {user} {right}"
        if error.code() == INVALID_SETTING:
            used = (one for one in connection.librdkafka().items() if one[0] in error.str())
            files = [f"{name} is {value}" for name, value in used if name.endswith(".location")]
            to_do = ": ".join(["correct the settings of Kafka", *files])
        raise KafkaUnavailableError(f"{trouble}: {error.str()}; {to_do}") from raised


def topic_id(client: AdminClient, topic: str) -> str:
    """Kafka's id of a topic; "" where its broker knows none. Raises ``KafkaException``."""
    return topic_ids(client, [topic])[topic]


def topic_ids(client: AdminClient, topics: Iterable[str]) -> dict[str, str]:
    """``topic_id`` of each of these topics."""
    described: Any = client.describe_topics(TopicCollection([*topics]), request_timeout=TIMEOUT_S)
    return {topic: _text_of(future.result().topic_id) for topic, future in described.items()}


def _text_of(found: Any) -> str:  # noqa: ANN401 -- a Uuid, whose types leave out what is used here
    halves = found.get_most_significant_bits(), found.get_least_significant_bits()
    high, low = (half % 2**64 for half in halves)
    return str(UUID(int=high << 64 | low)) if high or low else ""


def written_end(client: AdminClient, topic: str, partition: int) -> int:
    """Where a partition ends, with what open transactions have written. Raises ``KafkaException``."""
    places = [TopicPartition(topic, partition)]
    return _list_offsets(client, places, admin.OffsetSpec.latest(), WRITTEN, TIMEOUT_S)[topic, partition]()


class Cluster:
    """Questions to Kafka; every answer comes within ``timeout_s`` or not at all.

    Raises ``KafkaUnavailableError``: there is no client of these settings.
    """

    def __init__(self, connection: KafkaConnection, timeout_s: float = TIMEOUT_S) -> None:
        self._connection, self._timeout_s = connection, timeout_s
        with asking(connection, "no client can be made"):
            self._admin = admin.AdminClient(connection.librdkafka() | LIBRARY)

    def partitions(self) -> dict[str, int]:
        """How many partitions each topic has. Raises ``KafkaUnavailableError``."""
        servers = self._connection.bootstrap_servers
        with asking(self._connection, f"Kafka at {servers} does not tell its topics"):
            # of all topics: asking for one may create it
            topics = self._admin.list_topics(timeout=self._timeout_s).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def extents(self, topic: str, partitions: Places, isolation: IsolationLevel = COMMITTED) -> Extents:
        """The first and the end offset of each of its partitions. Raises ``KafkaUnavailableError``."""
        found = self.extents_of({topic: partitions}, isolation)[topic]
        if isinstance(found, KafkaUnavailableError):
            raise found
        return found

    def extents_of(
        self, partitions: Mapping[str, Places], isolation: IsolationLevel = COMMITTED
    ) -> dict[str, Extents | KafkaUnavailableError]:
        """``extents`` of each of these topics, all asked at once, or why it does not tell them."""
        asked = {topic: range(of) if isinstance(of, int) else of for topic, of in partitions.items()}
        places = [TopicPartition(topic, at) for topic, which in asked.items() for at in which]
        begin = _list_offsets(self._admin, places, admin.OffsetSpec.earliest(), COMMITTED, self._timeout_s)
        end = _list_offsets(self._admin, places, admin.OffsetSpec.latest(), isolation, self._timeout_s)
        found: dict[str, Extents | KafkaUnavailableError] = {}
        for topic, which in asked.items():
            try:
                with self._offsets_of(topic):
                    first, last = ({at: one[topic, at]() for at in which} for one in (begin, end))
                    found[topic] = Extents(first, last)
            except KafkaUnavailableError as error:
                found[topic] = error
        return found

    def topic_ids(self, topics: Sequence[str]) -> dict[str, str]:
        """Kafka's ids of these topics; "" where its broker knows none. Raises ``KafkaUnavailableError``."""
        with asking(self._connection, f"topic {', '.join(topics[:3])} is not described"):
            return topic_ids(self._admin, topics)

    def begin_at(self, topic: str, partitions: Iterable[int], time_ms: int) -> dict[int, int]:
        """The first offset of each partition whose record is not before a time; -1 where there is none.

        Raises ``KafkaUnavailableError``.
        """
        places = [TopicPartition(topic, partition) for partition in partitions]
        spec = admin.OffsetSpec.for_timestamp(time_ms)
        with self._offsets_of(topic):
            found = _list_offsets(self._admin, places, spec, COMMITTED, self._timeout_s)
            return {partition: offset() for (_, partition), offset in found.items()}

    def _offsets_of(self, topic: str) -> AbstractContextManager[None]:
        return asking(self._connection, f"topic {topic} does not tell its offsets")


def group_lag(client: AdminClient, group: str, user: str, topics: Iterable[str]) -> int:
    """How many records a consumer group is behind, on the topic where these are most.

    A partition without a commit counts from its beginning. A topic that has been deleted does not count, nor
    does one that the group does not read: it has no commit there, and has some on others of the topics.
    Raises ``LagRefusedError``, and ``KafkaException`` when the brokers do not answer.
    """
    known = client.list_topics(timeout=LAG_TIMEOUT_S).topics
    present = [topic for topic in topics if topic in known]
    places = [TopicPartition(topic, partition) for topic in present for partition in known[topic].partitions]
    if not places:
        return 0
    committed = _committed(client, group, user, places)
    specs = (admin.OffsetSpec.earliest(), admin.OffsetSpec.latest())
    begin, end = (_list_offsets(client, places, spec, WRITTEN, LAG_TIMEOUT_S) for spec in specs)
    read = {topic for (topic, _), offset in committed.items() if offset >= 0} or set(present)
    behind: Counter[str] = Counter()
    for place in (one for one in end if one[0] in read):
        behind[place[0]] += max(end[place]() - max(committed.get(place, 0), begin[place]()), 0)
    return max(behind.values())


def _committed(
    client: AdminClient, group: str, user: str, places: list[TopicPartition]
) -> dict[tuple[str, int], int]:
    """The committed offsets by topic and partition; a negative one stands for none."""
    asked = [GroupPlaces(group, places)]
    (answer,) = client.list_consumer_group_offsets(asked, request_timeout=LAG_TIMEOUT_S).values()
    try:
        return {(one.topic, one.partition): one.offset for one in answer.result().topic_partitions}
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise
        right = f"DESCRIBE on group {group}"
        raise LagRefusedError(f"Kafka refuses {user} {right}: grant it, then resume") from error


def _list_offsets(
    client: AdminClient,
    places: list[TopicPartition],
    spec: OffsetSpec,
    isolation: IsolationLevel,
    timeout_s: float,
) -> dict[tuple[str, int], Callable[[], int]]:
    """Ask for an offset of each of these partitions; each is waited for, or raises, when it is called."""
    specs: dict[TopicPartition, OffsetSpec] = dict.fromkeys(places, spec)
    futures = client.list_offsets(specs, isolation_level=isolation, request_timeout=timeout_s)
    return {(place.topic, place.partition): partial(_offset, future) for place, future in futures.items()}


def _offset(asked: Future[Any]) -> int:
    """Of a partition whose broker does not answer in time librdkafka tells no error, and no offset."""
    offset: int = asked.result().offset
    if offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(TIMED_OUT))
    return offset
