"""Our own dead letter queue, by the rules of KIP-1191: which names it may have, and what its records carry.

A record tells where its original stood and why it was given up. What is not known has no header: neither
partition nor offset has a record that no broker ever took.
"""

from dataclasses import dataclass
from typing import Final

from collector.contract import headers
from collector.contract.topics import is_internal

GROUP: Final = "deadwatch"
PREFIX: Final = "dlq."

TOPIC_CONFIGS: Final = {"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}
"""Of a queue that is created automatically, as brokers create theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What stands in the headers; -1: not known."""

    topic: str
    partition: int = -1
    offset: int = -1
    delivery_count: int = -1
    message: str = ""

    def headers(self) -> list[tuple[str, bytes]]:
        """The headers, all UTF-8 text."""
        numbers = {
            headers.SHARE_PARTITION: self.partition,
            headers.SHARE_OFFSET: self.offset,
            headers.SHARE_DELIVERY_COUNT: self.delivery_count,
        }
        known = {name: str(number) for name, number in numbers.items() if number >= 0}
        texts = {headers.SHARE_TOPIC: self.topic, **known, headers.SHARE_GROUP: GROUP}
        texts |= {headers.SHARE_MESSAGE: self.message} if self.message else {}
        return [(name, text.encode(errors="replace")) for name, text in texts.items()]


def refuse_name(topic: str, prefix: str) -> None:
    """Do nothing for a name that a dead letter queue may have, else ``ValueError``; prefix "" allows any."""
    if is_internal(topic):
        raise ValueError(f"quarantine_topic must not start with '__', as {topic} does: that is Kafka's own")
    if not topic.startswith(prefix):
        raise ValueError(
            f"quarantine_topic {topic} does not begin with {prefix}; rename it or set quarantine_topic_prefix"
        )
