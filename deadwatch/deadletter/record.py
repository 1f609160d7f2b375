"""A record of a dead letter topic, parsed by its headers one at a time, without Spark.

Dialect, texts and fingerprint are the same as those that streaming computes on whole columns. The last header
of a dialect decides; of several headers of one name the newest counts (or the oldest, where that is set; of
our own headers always the last). In text that is not UTF-8 the broken bytes are replaced. A number that
cannot be read is None, and makes the dead letter ``broken``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple

from deadwatch.contract import headers as names
from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.contract.fingerprint import MAX_MESSAGE_CHARS, fingerprint
from deadwatch.deadletter.dialects import DIALECTS, UNKNOWN, Dialect, reading
from deadwatch.deadletter.dialects.dialect import CAUSES, NUMBERS, TEXTS
from deadwatch.deadletter.thrown import printed_causes, thrown

Headers = tuple[tuple[str, bytes | None], ...]

REPLACEMENT: Final = "\ufffd"
INT_BYTES: Final = 4
LONG_BYTES: Final = 8
OURS: Final = frozenset(header for name, header in vars(names).items() if name.startswith("REDRIVE_"))
"""Headers that a redrive writes."""
_PREFIXES: Final = tuple(prefix for dialect in DIALECTS for prefix in dialect.names("prefix"))
_DECIMAL = re.compile(rb"[\x00-\x20\x7f]*([+-]?[0-9]+)[\x00-\x20\x7f]*")
_NONE: Final = Dialect(name=UNKNOWN)


def describes_failure(header: str) -> bool:
    """Whether a header says how a record failed or was moved: then it is no payload."""
    named = any(header in dialect.headers for dialect in reading().dialects)
    return named or header in OURS or header.startswith(_PREFIXES)


@dataclass(frozen=True, slots=True)
class Cause:
    """What the headers of a dead letter say; unknown texts are "", unknown numbers None.

    ``attempts`` is how often a redrive has moved the record before, ``order`` the one that did it last,
    ``origin`` where it was read first, ``<topic>/<partition>/<offset>``; ``marked`` whether it has a
    header of ours. ``wrapper`` is the class of the exception around the thrown one, which ``error_class`` and
    ``message`` are about. ``headers_unreadable`` is whether the client could not read any header: then
    nothing else is known.
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
    order: str
    origin: str
    marked: bool
    wrapper: str = ""
    headers_unreadable: bool = False


def _of_cause(name: str) -> Any:  # noqa: ANN401 -- of the type that the field of the cause has
    return property(attrgetter(f"cause.{name}"))


class _Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    source_offset: int | None
    cause: Cause


class DeadLetter(_Record):
    """One dead letter record, with its cause; most fields of the cause are properties of it."""

    __slots__ = ()

    dialect: str = _of_cause("dialect")
    source_topic: str = _of_cause("source_topic")
    source_partition: int | None = _of_cause("source_partition")
    consumergroup: str = _of_cause("consumergroup")
    connector: str = _of_cause("connector")
    error_class: str = _of_cause("error_class")
    wrapper: str = _of_cause("wrapper")
    message: str = _of_cause("message")
    broken: bool = _of_cause("broken")
    fingerprint: str = _of_cause("fingerprint")
    attempts: int = _of_cause("attempts")
    headers_unreadable: bool = _of_cause("headers_unreadable")

    def __repr__(self) -> str:
        """The place and the cause, without key, value and headers."""
        return f"DeadLetter({self.topic}/{self.partition}/{self.offset}, {self.cause})"

    @property
    def size(self) -> int:
        """The bytes of key and value together."""
        return len(self.key or b"") + len(self.value or b"")


def parse_record(  # noqa: PLR0917 -- in the order of every Kafka client
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] | None,
) -> DeadLetter:
    """The dead letter of one consumed record; no header makes it fail."""
    pairs: Headers = tuple((name, None if raw is None else bytes(raw)) for name, raw in headers or ())
    last, how = dict(pairs), reading()
    dialect = _dialect(pairs, how.dialects)
    counting = dict(reversed(pairs)) if how.first(dialect) else last
    raw = {name: _raw(counting, dialect.names(name)) for name in (*TEXTS, *NUMBERS)}
    texts = {name: _text(raw[name]) for name in TEXTS}
    if raw["error_class"] is None:
        texts["error_class"] = dialect.error_classes.get(texts["message"], "")
    texts |= {name: made.of(topic) for name, made in dialect.from_topic.items() if raw[name] is None}
    wrapper = texts["error_class"] if texts["error_class"] in dialect.wrappers else ""
    if wrapper:
        name, message, trace = (_text(_raw(counting, dialect.names(name))) for name in CAUSES)
        found, why = thrown(wrapper, name, message, printed_causes(trace), dialect.wrappers)
        texts |= {"error_class": found, "message": texts["message"] if why is None else why}
    source_topic, consumergroup, connector, message, error_class = (storable(texts[name]) for name in TEXTS)
    whole_message = storable(texts["message"], MAX_MESSAGE_CHARS)
    is_binary = dialect.binary_numbers
    source_partition = number_of(raw["source_partition"], INT_BYTES, is_binary=is_binary)
    source_offset = number_of(raw["source_offset"], LONG_BYTES, is_binary=is_binary)
    cause = Cause(
        dialect=dialect.name,
        source_topic=source_topic,
        source_partition=source_partition,
        consumergroup=consumergroup,
        connector=connector,
        error_class=error_class,
        message=message,
        broken=not all(is_utf8(raw[name]) for name in TEXTS)
        or (source_partition is None and raw["source_partition"] is not None)
        or (source_offset is None and raw["source_offset"] is not None),
        fingerprint=fingerprint(
            dialect.name, source_topic, connector or consumergroup, error_class, whole_message
        ),
        attempts=own_number(last, names.REDRIVE_ATTEMPTS),
        order=storable(_text(last.get(names.REDRIVE_ID))),
        origin=storable(_text(last.get(names.REDRIVE_ORIGIN))),
        marked=not OURS.isdisjoint(last),
        wrapper=wrapper if wrapper != error_class else "",
    )
    return DeadLetter(topic, partition, offset, timestamp_ms, key, value, pairs, source_offset, cause)


def _dialect(pairs: Headers, known: Iterable[Dialect]) -> Dialect:
    """The dialect of the last header that belongs to one."""
    for name, _ in reversed(pairs):
        for dialect in known:
            if dialect.has(name):
                return dialect
    return _NONE


def _raw(counting: Mapping[str, bytes | None], names: tuple[str, ...]) -> bytes | None:
    """The value of the first of these headers that the record has with a value."""
    for name in names:
        raw = counting.get(name)
        if raw is not None:
            return raw
    return None


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def storable(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """A text that the store takes: without NUL, cut to ``most`` characters."""
    return text[:most].replace("\x00", REPLACEMENT)


def number_of(raw: bytes | None, width: int, *, is_binary: bool) -> int | None:
    """A number of at most ``width`` bytes, as decimal text or big-endian; None where it is none."""
    if raw is None:
        return None
    if is_binary:
        return int.from_bytes(raw, "big", signed=True) if len(raw) == width else None
    return _decimal(raw, width)


def _decimal(raw: bytes, width: int) -> int | None:
    """A number that fits into ``width`` bytes; only digits that count are read, and only if they are few.

    Python refuses to read more than some thousand digits, zeros in front included.
    """
    match = _DECIMAL.fullmatch(raw)
    if match is None:
        return None
    significant = match[1].lstrip(b"+-").lstrip(b"0") or b"0"
    if len(significant) > len(str(1 << 8 * width)):
        return None
    number = -int(significant) if match[1].startswith(b"-") else int(significant)
    bound = 1 << (8 * width - 1)
    return number if -bound <= number < bound else None


def own_number(last: Mapping[str, bytes | None], name: str) -> int:
    """The number in a header of ours; 0 where there is none, or none that is positive."""
    return max(0, _decimal(last.get(name) or b"", LONG_BYTES) or 0)


def is_utf8(raw: bytes | None) -> bool:
    """Whether a value is text, or null."""
    try:
        (raw or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
