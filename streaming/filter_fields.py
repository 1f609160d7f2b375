"""What a filter can ask of a dead letter: one closed table of names, each with its type.

Texts are "" and numbers -1 where the headers do not tell them; of a key, a value or a header only the first
64 KiB are seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cel_expr_python import cel

from streaming.letter import Letter

MAX_BYTES: Final = 65_536
"""Of a key, a value or a header."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNKNOWN: Final = -1
"""A number that the headers do not tell, and the size of a null."""

TEXTS: Final = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)


@dataclass(frozen=True, slots=True)
class Field:
    """A name of the language, its type and how a letter tells it."""

    kind: Any
    of: Callable[[Letter], object]
    help: str


def _text(raw: bytes | None) -> str:
    return (raw or b"")[:MAX_BYTES].decode(errors="replace")


def _size(raw: bytes | None) -> int:
    return UNKNOWN if raw is None else len(raw)


def _number(number: int | None) -> int:
    return UNKNOWN if number is None else number


def _time(timestamp_ms: int) -> datetime:
    """The record's time; one that no calendar has is the epoch."""
    try:
        return EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return EPOCH


def _headers(letter: Letter) -> dict[str, str]:
    return {name.encode(errors="replace").decode(): _text(raw) for name, raw in letter.headers}


FIELDS: Final[Mapping[str, Field]] = {
    "dialect": Field(
        cel.Type.STRING, lambda one: one.dialect, "connect, streams, share_group, spring, unknown"
    ),
    "topic": Field(cel.Type.STRING, lambda one: one.topic, "the dead letter topic"),
    "partition": Field(cel.Type.INT, lambda one: one.partition, "on the dead letter topic"),
    "offset": Field(cel.Type.INT, lambda one: one.offset, "on the dead letter topic"),
    "timestamp": Field(cel.Type.TIMESTAMP, lambda one: _time(one.timestamp_ms), "on the dead letter topic"),
    "source_topic": Field(cel.Type.STRING, lambda one: one.source_topic, "where the record failed"),
    "source_partition": Field(cel.Type.INT, lambda one: _number(one.source_partition), "-1: not known"),
    "source_offset": Field(cel.Type.INT, lambda one: _number(one.source_offset), "-1: not known"),
    "consumergroup": Field(cel.Type.STRING, lambda one: one.consumergroup, "the group that failed"),
    "connector": Field(cel.Type.STRING, lambda one: one.connector, "the connector that failed"),
    "error_class": Field(cel.Type.STRING, lambda one: one.error_class, "the exception's class"),
    "message": Field(
        cel.Type.STRING, lambda one: one.message, "the exception's message, its first 1000 characters"
    ),
    "fingerprint": Field(cel.Type.STRING, lambda one: one.fingerprint, "the group of its cause"),
    "attempts": Field(cel.Type.INT, lambda one: one.attempts, "how often a redrive has moved it before"),
    "headers": Field(TEXTS, _headers, "by name, as text; of several of one name the last"),
    "key": Field(cel.Type.STRING, lambda one: _text(one.key), "as text"),
    "value": Field(cel.Type.STRING, lambda one: _text(one.value), "as text"),
    "key_size": Field(cel.Type.INT, lambda one: _size(one.key), "bytes; -1: null"),
    "value_size": Field(cel.Type.INT, lambda one: _size(one.value), "bytes; -1: null"),
}
