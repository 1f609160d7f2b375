"""A record of a dead letter topic, and what its headers say of it; without Spark.

Dialect, texts and fingerprint are the ones that streaming computes (``streaming.dead_letter``): the last
header of a dialect decides, of several headers of one name the last counts (or the first, as is set; of ours
always the last), text that is not UTF-8 keeps what can be read of it, a number that is none is None and the
letter ``broken``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from collector.contract import headers as names
from collector.contract.events import MAX_TEXT_CHARS
from collector.contract.fingerprint import fingerprint
from streaming.dialects import UNKNOWN, Dialect, reading

Headers = tuple[tuple[str, bytes | None], ...]

REPLACEMENT: Final = "\ufffd"
INT_BYTES: Final = 4
LONG_BYTES: Final = 8
OURS: Final = frozenset(
    {
        names.REDRIVE_ID,
        names.REDRIVE_ATTEMPTS,
        names.REDRIVE_NOT_BEFORE_MS,
        names.REDRIVE_ORIGIN,
        names.REDRIVE_MOVED_AT_MS,
        names.REDRIVE_GROUP,
        names.REDRIVE_PARKED_REASON,
        names.REDRIVE_PARKED_AT_MS,
    }
)
"""Headers that a redrive writes."""

_DECIMAL = re.compile(rb"[\x00-\x20\x7f]*([+-]?[0-9]+)[\x00-\x20\x7f]*")
_NONE: Final = Dialect(name=UNKNOWN)


@dataclass(frozen=True, slots=True)
class Cause:
    """What records that failed alike have in common; texts are "" and numbers None where nothing tells them.

    ``attempts`` is how often a redrive has moved the record before, ``order`` the one that did it last,
    ``origin`` where it was read first, ``<topic>/<partition>/<offset>``; ``marked`` whether it has a
    header of ours.
    """

    dialect: str
    source_topic: str
    source_partition: int | None
    consumergroup: str
    connector: str
    error_class: str
    message: str
    broken: bool
    fingerprint: str
    attempts: int
    not_before_ms: int
    order: str
    origin: str
    marked: bool


class Letter(NamedTuple):
    """One dead letter; what its cause tells is told by it as well."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    source_offset: int | None
    cause: Cause

    def __repr__(self) -> str:
        """Without what the record holds."""
        return f"Letter({self.topic}/{self.partition}/{self.offset}, {self.cause})"

    @property
    def dialect(self) -> str:
        """Who wrote it: a name of ``streaming.dialects``."""
        return self.cause.dialect

    @property
    def source_topic(self) -> str:
        """Where the record was read."""
        return self.cause.source_topic

    @property
    def source_partition(self) -> int | None:
        """Where the record was read."""
        return self.cause.source_partition

    @property
    def consumergroup(self) -> str:
        """The group that failed."""
        return self.cause.consumergroup

    @property
    def connector(self) -> str:
        """The connector that failed."""
        return self.cause.connector

    @property
    def error_class(self) -> str:
        """The exception."""
        return self.cause.error_class

    @property
    def message(self) -> str:
        """What the exception says."""
        return self.cause.message

    @property
    def broken(self) -> bool:
        """Whether a header cannot be read as what it is."""
        return self.cause.broken

    @property
    def fingerprint(self) -> str:
        """The group that it belongs to."""
        return self.cause.fingerprint

    @property
    def attempts(self) -> int:
        """How often it was moved before."""
        return self.cause.attempts

    @property
    def consumer(self) -> str:
        """Who failed: the connector, else the group."""
        return self.cause.connector or self.cause.consumergroup

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")


def letter_of(  # noqa: PLR0917 -- in the order in which every client of Kafka tells them
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] | None,
) -> Letter:
    """What a consumer gives for one record, decoded; no header is bad enough to fail."""
    pairs: Headers = tuple((name, None if raw is None else bytes(raw)) for name, raw in headers or ())
    last, how = dict(pairs), reading()
    counting = dict(reversed(pairs)) if how.first_counts else last
    dialect = _dialect(pairs, how.dialects)
    source_topic, consumergroup, connector, message = (
        text_of(_raw(counting, name))
        for name in (dialect.source_topic, dialect.consumergroup, dialect.connector, dialect.message)
    )
    error_class = _error_class(dialect, counting)
    source_partition = _number(dialect, _raw(counting, dialect.source_partition), INT_BYTES)
    source_offset = _number(dialect, _raw(counting, dialect.source_offset), LONG_BYTES)
    cause = Cause(
        dialect=dialect.name,
        source_topic=source_topic,
        source_partition=source_partition,
        consumergroup=consumergroup,
        connector=connector,
        error_class=error_class,
        message=message,
        broken=_broken(dialect, counting, (source_partition, source_offset)),
        fingerprint=fingerprint(dialect.name, source_topic, connector or consumergroup, error_class, message),
        attempts=_own_number(last, names.REDRIVE_ATTEMPTS),
        not_before_ms=_own_number(last, names.REDRIVE_NOT_BEFORE_MS),
        order=text_of(last.get(names.REDRIVE_ID)),
        origin=text_of(last.get(names.REDRIVE_ORIGIN)),
        marked=not OURS.isdisjoint(last),
    )
    return Letter(topic, partition, offset, timestamp_ms, key, value, pairs, source_offset, cause)


def _dialect(pairs: Headers, known: Iterable[Dialect]) -> Dialect:
    """The dialect of the last header that belongs to one."""
    for name, _ in reversed(pairs):
        for dialect in known:
            if dialect.has(name):
                return dialect
    return _NONE


def _raw(told: Mapping[str, bytes | None], name: str) -> bytes | None:
    return told.get(name) if name else None


def text_of(raw: bytes | None) -> str:
    """What can be read of a header, as the store takes it."""
    text = (raw or b"").decode(errors="replace").replace("\x00", REPLACEMENT)
    return text[:MAX_TEXT_CHARS]


def _error_class(dialect: Dialect, told: Mapping[str, bytes | None]) -> str:
    """The dialect's header, or the short name of its message where it tells causes by message alone."""
    raw = _raw(told, dialect.error_class)
    if raw is not None:
        return text_of(raw)
    message = (_raw(told, dialect.message) or b"").decode(errors="replace")
    return dialect.error_classes.get(message, "")


def _number(dialect: Dialect, raw: bytes | None, width: int) -> int | None:
    if raw is None:
        return None
    if dialect.binary_numbers:
        return int.from_bytes(raw, "big", signed=True) if len(raw) == width else None
    return _decimal(raw, width)


def _decimal(raw: bytes, width: int) -> int | None:
    """A number that fits into ``width`` bytes; the length is looked at first, since text may be long."""
    match = _DECIMAL.fullmatch(raw)
    digits = b"" if match is None else match[1]
    if match is None or len(digits.lstrip(b"+-0")) > len(str(1 << 8 * width)):
        return None
    number = int(digits)
    bound = 1 << (8 * width - 1)
    return number if -bound <= number < bound else None


def _own_number(last: Mapping[str, bytes | None], name: str) -> int:
    return max(0, _decimal(last.get(name) or b"", LONG_BYTES) or 0)


def _broken(
    dialect: Dialect, told: Mapping[str, bytes | None], numbers: tuple[int | None, int | None]
) -> bool:
    """Whether a header is there that cannot be read as what it is."""
    texts = (
        dialect.source_topic,
        dialect.consumergroup,
        dialect.connector,
        dialect.message,
        dialect.error_class,
    )
    placed = zip((dialect.source_partition, dialect.source_offset), numbers, strict=True)
    return any(not _is_utf8(_raw(told, name)) for name in texts) or any(
        number is None and _raw(told, name) is not None for name, number in placed
    )


def _is_utf8(raw: bytes | None) -> bool:
    try:
        (raw or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
