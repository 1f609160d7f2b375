"""What a failed transaction says about the target that failed it."""

from enum import Enum, auto
from typing import Final

from confluent_kafka import KafkaError

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
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "WRITE on topic {topic}",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on group {group}",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE on transactional id {group}",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on the cluster",
}
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


def missing_right(aborted: AbortedError, order: str, user: str) -> str:
    """One line for people: which right, for whom; "" where none is missing."""
    group = f"deadwatch-redrive-{order}"
    places = {**aborted.failures, ("", -1): aborted.error}
    for (topic, _), error in places.items():
        if error.code() in RIGHTS:
            right = RIGHTS[error.code()].format(topic=topic or "deadwatch.events", group=group)
            return f"Kafka refuses {user} {right}: grant it, then resume"
    return ""
