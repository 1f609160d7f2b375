"""Describing and creating topics, and reading settings, with Kafka's admin interface; nothing is consumed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import InvalidConfigurationError, KafkaError, TopicAlreadyExistsError

from deadwatch.contract import quarantine
from deadwatch.runtime.kafka import KafkaConnection

TIMEOUT_MS: Final = 5_000
"""The timeout of one request, and of reaching the cluster."""

BROKER_DEFAULT: Final = -1
NO_ID: Final = "00000000-0000-0000-0000-000000000000"
"""The topic id that a broker older than 2.8 gives."""
_NO_LEADER: Final = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A topic's partitions, whether all have leaders and may be read, and on which brokers each is."""

    partitions: list[TopicPartition]
    led: bool
    replicas: tuple[tuple[int, ...], ...]
    readable: bool = True


class Admin(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """An admin client that ends its thread when it cannot reach the cluster; kafka-python 3.0.12 leaks it."""

    def __init__(self, **options: object) -> None:
        try:
            super().__init__(**options)
        except KafkaError:
            self._closed = not hasattr(self, "_net")
            self.close()
            raise


def connect(connection: KafkaConnection) -> Admin:
    """An admin client whose calls time out after ``TIMEOUT_MS``, and which knows a new broker as soon.

    Raises ``KafkaError``.
    """
    limits = ("bootstrap_timeout_ms", "request_timeout_ms", "metadata_max_age_ms")
    return Admin(**connection.kafka_python(), **dict.fromkeys(limits, TIMEOUT_MS))


def topics(admin: KafkaAdminClient) -> dict[str, Layout]:
    """Every topic that we may see. Raises ``KafkaError``."""
    return {topic["name"]: _layout(topic) for topic in admin.describe_topics()}


def is_readable(topic: Mapping[str, Any]) -> bool:
    """Whether we may read a topic that was described; yes, if the broker does not report rights."""
    return "READ" in (topic.get("authorized_operations") or ("READ",))


def _layout(topic: Mapping[str, Any]) -> Layout:
    name, partitions = topic["name"], topic["partitions"]
    return Layout(
        partitions=[TopicPartition(name, one["partition_index"]) for one in partitions],
        led=all(one["leader_id"] >= _NO_LEADER for one in partitions),
        replicas=tuple(
            tuple(one["replica_nodes"]) for one in sorted(partitions, key=itemgetter("partition_index"))
        ),
        readable=is_readable(topic),
    )


def create_queue(admin: KafkaAdminClient, topic: str) -> None:
    """Create a dead letter queue as brokers create theirs, if it is missing. Raises ``KafkaError``."""
    if topic in admin.list_topics():
        return
    try:
        create(admin, topic, 1, quarantine.TOPIC_CONFIGS)
    except InvalidConfigurationError:  # a broker before 4.4 does not know dead letter queues
        create(admin, topic, 1, {})


def create(admin: KafkaAdminClient, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Create a topic with the brokers' replication factor; one that exists stays. Raises ``KafkaError``."""
    new = NewTopic(
        topic, num_partitions=partitions, replication_factor=BROKER_DEFAULT, topic_configs=dict(configs)
    )
    try:
        admin.create_topics([new], wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return


def settings_of(
    admin: KafkaAdminClient, kind: ConfigResourceType, names: Iterable[str], settings: Iterable[str]
) -> dict[str, dict[str, str]]:
    """The values of these settings, by the name of the topic, group or broker. Raises ``KafkaError``.

    kafka-python 3.0.12 hides that a resource may not be read: its settings are empty then.
    """
    asked = dict.fromkeys(settings)
    resources = [ConfigResource(kind, name, asked) for name in names]
    answer = admin.describe_configs(resources, config_filter="all") if resources else {}
    described = answer.get(kind.name.lower(), {})
    return {
        resource.name: {
            name: entry["value"] or "" for name, entry in described.get(resource.name, {}).items()
        }
        for resource in resources
    }
