"""Our own dead letter queue, by the rules of KIP-1191: which names it may have, and what its records carry.

A record names the place of its original and the reason. What is unknown has no header: a record that no
broker ever took has neither partition nor offset.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from deadwatch.contract import headers
from deadwatch.contract.topics import is_internal

GROUP: Final = "deadwatch"
PREFIX: Final = "dlq."

TOPIC_CONFIGS: Final = {"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}
"""The configuration of a queue that is created automatically, as brokers create theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The content of the headers; -1 stands for "not known"."""

    topic: str
    partition: int = -1
    offset: int = -1
    delivery_count: int = -1
    message: str = ""

    def headers(self) -> list[tuple[str, bytes]]:
        """The headers; all values are UTF-8 text."""
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


NOT_JSON: Final = "not_json"
UNKNOWN_KIND: Final = "unknown_kind"
INCOMPLETE: Final = "incomplete"

MESSAGES: Final[Mapping[str, str]] = {
    NOT_JSON: "The event is not a JSON object.",
    UNKNOWN_KIND: "The event's kind is not known.",
    INCOMPLETE: "The event lacks a field or has one of another type.",
}
"""Why an event is refused: the reason, and the message in the header of its record."""
