"""Names of our own topics, and which topics of a cluster are dead letter queues."""

import re
from collections.abc import Iterable

EVENTS = "deadwatch.events"
OWN_DLQ = "dlq.deadwatch"
PARKED_SUFFIX = ".parked"

DLQ_PATTERNS = (r"dlq\..*", r".*[-.](dlq|DLQ|dlt|DLT)", r"error\..+\..+", r"dead-letter-.+")
"""Regular expressions valid in Python and in Java; a topic matches as a whole.

Besides what people call them: ``error.<destination>.<group>`` of Spring Cloud Stream, whose second part keeps
a topic of log lines such as ``error.log`` out, and ``dead-letter-topic-<channel>`` of SmallRye.
"""


LOG_TOPIC = "log-topic:"


def log_partition(topic: str, partition: int) -> str:
    """The source of the events that a partition of a topic of log lines brings."""
    return f"{LOG_TOPIC}{topic}/{partition}"


def is_internal(topic: str) -> bool:
    """Whether the name is Kafka's own: share-group DLQs may not begin so either (KIP-1191)."""
    return topic.startswith("__")


def is_dead_letter_topic(
    topic: str, patterns: Iterable[str] = DLQ_PATTERNS, deny: Iterable[str] = ()
) -> bool:
    """Whether ``topic`` is read for dead letters: it matches a pattern and is on no deny-list.

    What was parked has been counted as a dead letter before.
    """
    if is_internal(topic) or topic.endswith(PARKED_SUFFIX) or topic in set(deny):
        return False
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


def refuse_broken(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns, if every one is a regular expression; else ``ValueError``."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return patterns
