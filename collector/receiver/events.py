"""Events that clients report as JSON, read strictly: a known kind, every field of it, nothing else, each of
its type.

An error names its JSON pointer. Numbers are counts, durations and times: none is negative except an
unknown partition or remaining time, and none is too large for 64 bits. A body is taken as a whole or not
at all.

The source of a reported event is ``events:<the client's name>``; its position and its time of observation
are the collector's.
"""

import dataclasses
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, Final, cast

from collector.receiver.body import Reason, RefusedError
from collector.receiver.state import EventsSubmission, Origin, key_of
from collector.sources.logs.records import MAX_TIME_MS
from deadwatch.contract.events import KINDS, VERSION, Event, Position

MAX_NUMBER: Final = 2**63 - 1

_TYPES: Final[Mapping[object, str]] = {str: "text", int: "an integer", bool: "true or false"}

MAX_EVENTS: Final = 1_000
"""The most events of one body: fewer than the ids that are remembered."""

MAX_ID_CHARS: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9._:@/-]{1,100}")


class InvalidEventError(Exception):
    """JSON that is no event; ``pointer`` is the place in the body."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer or 'the body'}: {problem}")
        self.pointer = pointer


def event_of(body: object, pointer: str = "") -> Event:
    """The event that ``body`` is. Raises ``InvalidEventError``."""
    fields = dict(mapping(body, pointer))
    version, kind = fields.pop("v", VERSION), fields.pop("kind", None)
    if version != VERSION:
        raise InvalidEventError(f"{pointer}/v", f"must be {VERSION}, or left out")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidEventError(f"{pointer}/kind", f"must be one of {', '.join(KINDS)}")
    return cast("Event", _made(KINDS[kind], fields, pointer))


def mapping(body: object, pointer: str) -> Mapping[str, Any]:
    """``body`` as a JSON object. Raises ``InvalidEventError``."""
    if not isinstance(body, dict):
        raise InvalidEventError(pointer, "must be a JSON object")
    return body


def text(value: object, pointer: str) -> str:
    """``value`` as text that can be written as UTF-8. Raises ``InvalidEventError``."""
    if not isinstance(value, str):
        raise InvalidEventError(pointer, "must be text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidEventError(pointer, "must not hold half a surrogate pair") from None
    return value


def _made(cls: type, fields: Mapping[str, object], pointer: str) -> object:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    for name in sorted(set(fields) - set(names)):
        escaped = name.replace("~", "~0").replace("/", "~1")[:100].encode(errors="replace").decode()
        raise InvalidEventError(f"{pointer}/{escaped}", f"is unknown; known: {', '.join(names)}")
    for name in names:
        if name not in fields:
            raise InvalidEventError(f"{pointer}/{name}", "is missing")
    return cls(**{name: _value(hints[name], fields[name], f"{pointer}/{name}") for name in names})


def _value(hint: object, value: object, pointer: str) -> object:
    if hint is str:
        return text(value, pointer)
    if hint is int:
        return _number(value, pointer)
    if hint is bool and isinstance(value, bool):
        return value
    if hint is Position:
        return _position(value, pointer)
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        inner = typing.get_args(hint)[0]
        return tuple(
            _made(inner, mapping(item, f"{pointer}/{number}"), f"{pointer}/{number}")
            for number, item in enumerate(value)
        )
    raise InvalidEventError(pointer, f"must be {_TYPES.get(hint, 'a JSON array')}")


def _number(value: object, pointer: str) -> int:
    lowest = -1 if pointer.endswith(("/partition", "/remaining_ms")) else 0
    highest = MAX_TIME_MS if pointer.endswith("_at_ms") else MAX_NUMBER
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidEventError(pointer, f"must be an integer from {lowest} to {highest}")
    return value


def _position(value: object, pointer: str) -> Position:
    if not isinstance(value, list) or len(value) != len(Position._fields):
        raise InvalidEventError(pointer, "must be an array of three integers, or left out")
    return Position(*(_number(part, f"{pointer}/{number}") for number, part in enumerate(value)))


def reports_of(body: object, origin: Callable[[str], Origin]) -> EventsSubmission:
    """The events of a body, one or an array; ``origin`` is made of a source. Raises ``RefusedError``."""
    reports = body if isinstance(body, list) else [body]
    if len(reports) > MAX_EVENTS:
        raise RefusedError(Reason.TOO_LARGE, f"a body may hold {MAX_EVENTS} events; send several")
    try:
        pointers = [f"/{number}" if reports is body else "" for number in range(len(reports))]
        return EventsSubmission(tuple(map(_report, reports, pointers, repeat(origin))))
    except InvalidEventError as error:
        raise RefusedError(
            Reason.INVALID_EVENT, str(error), excerpt=str(error).encode(), pointer=error.pointer
        ) from None


def _report(body: object, pointer: str, origin: Callable[[str], Origin]) -> tuple[str, Event]:
    fields = dict(mapping(body, pointer))
    name = text(fields.get("source", ""), f"{pointer}/source")
    if not _NAME.fullmatch(name):
        problem = "must be the client's name: 1 to 100 letters, digits or . _ : @ / -"
        raise InvalidEventError(f"{pointer}/source", problem)
    key = text(fields.pop("id", ""), f"{pointer}/id")
    if not 0 < len(key) <= MAX_ID_CHARS:
        raise InvalidEventError(f"{pointer}/id", f"must be text of 1 to {MAX_ID_CHARS} characters")
    given = origin(f"events:{name}")
    defaults = {
        "position": list(Position(0)),
        "observed_at_ms": given.now_ms,
        "kafka_cluster": given.kafka_cluster,
    }
    event = event_of(defaults | fields | {"source": given.source}, pointer)
    return key_of(name.encode(), key.encode()), replace(event, observed_at_ms=given.now_ms)
