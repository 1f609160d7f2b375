"""Our own topics on Kafka: made where they are missing and that is allowed; what exists stays as it is."""

from collections.abc import Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import InvalidConfigurationError, KafkaError, TopicAlreadyExistsError

from collector.contract import quarantine
from collector.kafka import Options
from collector.settings import CollectorSettings

BROKER_DEFAULT: Final = -1

BOOTSTRAP_TIMEOUT_MS: Final = 3_000
"""How long one attempt to reach the cluster may take; whoever connects makes the next one."""


class NoQueueError(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """Our dead letter queue does not exist, and we may not create it."""


def client_options(settings: CollectorSettings) -> Options:
    """What all our clients of Kafka are given."""
    return {
        **settings.kafka.kafka_python(),
        "client_id": f"deadwatch-collector-{settings.name}",
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "request_timeout_ms": settings.request_timeout_ms,
        "reconnect_backoff_ms": settings.retry_backoff_ms,
        "reconnect_backoff_max_ms": settings.retry_backoff_max_ms,
    }


def create_events_topic(settings: CollectorSettings) -> None:
    """Create the events topic if it is missing. Raises ``KafkaError``."""
    admin = KafkaAdminClient(**client_options(settings))
    try:
        if settings.events_topic not in admin.list_topics():
            _create(admin, settings.events_topic, settings.events_topic_partitions, {})
    finally:
        admin.close()


def require_queue(settings: CollectorSettings) -> None:
    """See that our dead letter queue exists, as KIP-1191 has it: it is created only where that is allowed.

    Raises ``NoQueueError``, which is not retriable, or another ``KafkaError``.
    """
    admin = KafkaAdminClient(**client_options(settings))
    try:
        if settings.quarantine_auto_create_topics_enable:
            create_queue(admin, settings.quarantine_topic)
        elif settings.quarantine_topic not in admin.list_topics():
            raise NoQueueError(
                "it does not exist; create it, or set quarantine_auto_create_topics_enable: true"
            )
    finally:
        admin.close()


def create_queue(admin: KafkaAdminClient, topic: str) -> None:
    """Create a dead letter queue as brokers create theirs, if it is missing. Raises ``KafkaError``."""
    if topic in admin.list_topics():
        return
    try:
        _create(admin, topic, 1, quarantine.TOPIC_CONFIGS)
    except InvalidConfigurationError:  # a broker before 4.4 does not know dead letter queues
        _create(admin, topic, 1, {})


def _create(admin: KafkaAdminClient, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
    new = NewTopic(
        topic, num_partitions=partitions, replication_factor=BROKER_DEFAULT, topic_configs=dict(configs)
    )
    try:
        admin.create_topics([new], wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return
