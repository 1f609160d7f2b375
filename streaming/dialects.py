"""Dialects of dead letters: which headers say where a record failed, and why.

A dialect is one entry of ``DIALECTS``. The last header of a record that has a dialect's prefix decides the
dialect; of several headers of one name the last counts. Values are UTF-8 text; numbers are decimal text, or
big-endian bytes, four for a partition and eight for an offset (Spring Kafka).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from collector.contract import headers
from streaming.refusals import MESSAGES

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The header of every field of a dead letter; a field without header is empty.

    ``error_classes`` names the causes of a dialect that tells them by message alone. Two entries may have one
    name: they are told apart by their prefixes.
    """

    name: str
    prefix: str
    source_topic: str
    source_partition: str
    source_offset: str
    message: str
    consumergroup: str = ""
    connector: str = ""
    error_class: str = ""
    error_classes: Mapping[str, str] = field(default_factory=dict)
    binary_numbers: bool = False


CONNECT: Final = Dialect(
    name="connect",
    prefix=headers.CONNECT,
    source_topic=headers.CONNECT_TOPIC,
    source_partition=headers.CONNECT_PARTITION,
    source_offset=headers.CONNECT_OFFSET,
    connector=headers.CONNECT_CONNECTOR,
    error_class=headers.CONNECT_EXCEPTION,
    message=headers.CONNECT_MESSAGE,
)

SHARE_GROUP: Final = Dialect(
    name="share_group",
    prefix=headers.SHARE,
    source_topic=headers.SHARE_TOPIC,
    source_partition=headers.SHARE_PARTITION,
    source_offset=headers.SHARE_OFFSET,
    consumergroup=headers.SHARE_GROUP,
    message=headers.SHARE_MESSAGE,
    error_classes={
        "Offset rejected by client.": "rejected",
        "Offset delivery count exceeded the threshold.": "delivery_count_exceeded",
        **{message: reason for reason, message in MESSAGES.items()},
    },
)

STREAMS: Final = Dialect(
    name="streams",
    prefix=headers.STREAMS,
    source_topic=headers.STREAMS_TOPIC,
    source_partition=headers.STREAMS_PARTITION,
    source_offset=headers.STREAMS_OFFSET,
    error_class=headers.STREAMS_EXCEPTION,
    message=headers.STREAMS_MESSAGE,
)

SPRING: Final = Dialect(
    name="spring",
    prefix=headers.SPRING_DLT,
    source_topic=headers.SPRING_DLT + "original-topic",
    source_partition=headers.SPRING_DLT + "original-partition",
    source_offset=headers.SPRING_DLT + "original-offset",
    consumergroup=headers.SPRING_DLT + "original-consumer-group",
    error_class=headers.SPRING_DLT + "exception-fqcn",
    message=headers.SPRING_DLT + "exception-message",
    binary_numbers=True,
)

SPRING_ORIGINAL: Final = replace(
    SPRING,
    prefix=headers.SPRING_ORIGINAL,
    source_topic=headers.SPRING_ORIGINAL + "topic",
    source_partition=headers.SPRING_ORIGINAL + "partition",
    source_offset=headers.SPRING_ORIGINAL + "offset",
    error_class=headers.SPRING_EXCEPTION + "fqcn",
    message=headers.SPRING_EXCEPTION + "message",
)

DIALECTS: Final = (CONNECT, SHARE_GROUP, STREAMS, SPRING, SPRING_ORIGINAL)
