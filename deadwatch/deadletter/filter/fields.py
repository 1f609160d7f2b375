"""The fields of a dead letter that a filter can use: one closed table of names, each with its type.

A field that the headers do not have is "" for a text and -1 for a number. Of a key, a value or a header only
the first 64 KiB are seen, of the headers the last 256.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from cel_expr_python import cel

from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.deadletter.dialects import DIALECTS, UNKNOWN
from deadwatch.deadletter.record import DeadLetter

MAX_BYTES: Final = 65_536
"""The bytes of a key, a value or a header that a filter sees."""
MAX_HEADERS: Final = 256
"""The headers of one dead letter that a filter sees: the last ones."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NOT_KNOWN: Final = -1
"""A number that the headers do not have, and the size of a null."""

PAYLOAD: Final = frozenset({"key", "value", "headers"})
"""Fields with which a payload could be guessed that is shown masked."""

TEXTS: Final = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)


@dataclass(frozen=True, slots=True)
class Field:
    """A name of the filter language: its type, its value for a dead letter, and a line of documentation."""

    kind: Any
    of: Callable[[DeadLetter], object]
    help: str


def _text(raw: bytes | None) -> str:
    return (raw or b"")[:MAX_BYTES].decode(errors="replace")


def _size(raw: bytes | None) -> int:
    return NOT_KNOWN if raw is None else len(raw)


def _number(number: int | None) -> int:
    return NOT_KNOWN if number is None else number


def _time(record: DeadLetter) -> datetime:
    """The record's time; the epoch for a time beyond the calendar."""
    try:
        return EPOCH + timedelta(milliseconds=record.timestamp_ms)
    except OverflowError:
        return EPOCH


def _headers(record: DeadLetter) -> dict[str, str]:
    return {
        name.encode(errors="replace").decode()[:MAX_TEXT_CHARS]: _text(raw)
        for name, raw in record.headers[-MAX_HEADERS:]
    }


STRING, INT = cel.Type.STRING, cel.Type.INT
FIELDS: Final[Mapping[str, Field]] = {
    "dialect": Field(
        STRING, attrgetter("dialect"), ", ".join((*dict.fromkeys(known.name for known in DIALECTS), UNKNOWN))
    ),
    "topic": Field(STRING, attrgetter("topic"), "the dead letter topic"),
    "partition": Field(INT, attrgetter("partition"), "on the dead letter topic"),
    "offset": Field(INT, attrgetter("offset"), "on the dead letter topic"),
    "timestamp": Field(cel.Type.TIMESTAMP, _time, "on the dead letter topic"),
    "source_topic": Field(STRING, attrgetter("source_topic"), "where the record failed"),
    "source_partition": Field(INT, lambda record: _number(record.source_partition), "-1: not known"),
    "source_offset": Field(INT, lambda record: _number(record.source_offset), "-1: not known"),
    "consumergroup": Field(STRING, attrgetter("consumergroup"), "the group that failed"),
    "connector": Field(STRING, attrgetter("connector"), "the connector that failed"),
    "error_class": Field(STRING, attrgetter("error_class"), "the class of the exception that was thrown"),
    "wrapper": Field(STRING, attrgetter("wrapper"), "the class of the one around it, as Spring's"),
    "message": Field(STRING, attrgetter("message"), "the exception's message, its first 1000 characters"),
    "fingerprint": Field(STRING, attrgetter("fingerprint"), "the group of its cause"),
    "attempts": Field(INT, attrgetter("attempts"), "how often a redrive has moved it before"),
    "headers": Field(TEXTS, _headers, "by name, as text; of several of one name the last"),
    "key": Field(STRING, lambda record: _text(record.key), "as text"),
    "value": Field(STRING, lambda record: _text(record.value), "as text"),
    "key_size": Field(INT, lambda record: _size(record.key), "bytes; -1: null"),
    "value_size": Field(INT, lambda record: _size(record.value), "bytes; -1: null"),
}
