"""What a failed transaction says about the target that failed it."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from confluent_kafka import KafkaError

from streaming.redrive.order import Order
from streaming.redrive.transaction import AbortedError


class Blame(Enum):
    """Whose fault it is."""

    RIGHTS = auto()
    """Ours, in Kafka's eyes: somebody has to grant something."""
    RECORD = auto()
    """The record's: it will never be taken."""
    TARGET = auto()
    """The target's, for now."""


RIGHTS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "WRITE on {topic}",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on group {group}",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE on transactional id {group}",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on the cluster",
}
TOO_LONG: Final = (
    "delivery_timeout_ms and a minute are more than the brokers' transaction.max.timeout.ms: "
    "raise it, then resume; or make an order with less"
)
OF_THE_RECORD: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
    }
)


def blame(code: int) -> Blame:
    """By the error's code."""
    if code in RIGHTS:
        return Blame.RIGHTS
    return Blame.RECORD if code in OF_THE_RECORD else Blame.TARGET


def missing_right(aborted: AbortedError, order: str, user: str, topics: Iterable[str] = ()) -> str:
    """One line for people: which right, for whom; "" where none is missing.

    Where Kafka does not say which topic it refuses, it is one of ``topics``.
    """
    unnamed = _one_of(list(topics) or ["deadwatch.events"])
    group = f"deadwatch-redrive-{order}"
    places = {**aborted.failures, ("", -1): aborted.error}
    for (topic, _), error in places.items():
        if error.code() in RIGHTS:
            right = RIGHTS[error.code()].format(topic=f"topic {topic}" if topic else unnamed, group=group)
            return f"Kafka refuses {user} {right}: grant it, then resume"
    return ""


def _one_of(topics: list[str]) -> str:
    return f"topic {topics[0]}" if len(topics) == 1 else f"one of the topics {', '.join(topics)}"


def refused_right(error: KafkaError, order: Order, user: str) -> str:
    """As ``missing_right``, of what was refused outside of a transaction; "" where no right is missing.

    A transaction that may last longer than brokers allow is such a refusal, too.
    """
    if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        topic = order.request.dlq_topic
        return f"Kafka refuses {user} READ on topic {topic} or on an origin: grant it, then resume"
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return TOO_LONG
    if error.code() not in RIGHTS:
        return ""
    right = RIGHTS[error.code()].format(topic="", group=f"deadwatch-redrive-{order.id}")
    return f"Kafka refuses {user} {right}: grant it, then resume"
