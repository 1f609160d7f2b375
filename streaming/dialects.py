"""Dialects of dead letters: which headers say where a record failed, and why.

A dialect is one entry of ``DIALECTS``, told by the prefix of its headers, or one of a user's own, told by
their whole names. The last header of a record that belongs to a dialect decides the dialect; of several
headers of one name the last counts, or the first where that is set. Values are UTF-8 text; numbers are
decimal text, or big-endian bytes, four for a partition and eight for an offset (Spring Kafka).

How a process reads is set once, before its first record (``read_as``): Spark's expressions and the plain
Python of the redrive ask for the same ``reading``.
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
    name: they are told apart by their prefixes. Without a prefix only the headers named here belong to it.
    """

    name: str
    prefix: str = ""
    source_topic: str = ""
    source_partition: str = ""
    source_offset: str = ""
    message: str = ""
    consumergroup: str = ""
    connector: str = ""
    error_class: str = ""
    error_classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    binary_numbers: bool = False

    @property
    def headers(self) -> tuple[str, ...]:
        """The names of its headers, each once."""
        named = (
            self.source_topic,
            self.source_partition,
            self.source_offset,
            self.message,
            self.consumergroup,
            self.connector,
            self.error_class,
        )
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def key(self) -> str:
        """What tells it from all other dialects."""
        return self.prefix or self.name

    def has(self, header: str) -> bool:
        """Whether a header belongs to it."""
        return header.startswith(self.prefix) if self.prefix else header in self.headers


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


@dataclass(frozen=True, slots=True)
class Reading:
    """The dialects that are known, and which of several headers of one name counts."""

    dialects: tuple[Dialect, ...] = DIALECTS
    first_counts: bool = False


_readings = [Reading()]


def reading() -> Reading:
    """How this process reads headers."""
    return _readings[-1]


def read_as(chosen: Reading) -> None:
    """Choose how this process reads headers; before its first record."""
    _readings[-1] = chosen
