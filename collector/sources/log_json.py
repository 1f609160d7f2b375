"""What a log line says: its text, or every text in it when it is a JSON object.

A JSON layout keeps message, thread, context and stack trace in fields of its own names (ECS, Logstash,
JsonTemplateLayout): all of them are read, so that no name has to be known but that of the time.
"""

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from collector.dialects.layout import time_ms

TIMES: Final = ("@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "asctime", "date")
MAX_DEPTH: Final = 16
_SECONDS_UP_TO: Final = 100_000_000_000
_MILLISECONDS_UP_TO: Final = _SECONDS_UP_TO * 1_000


class Record(NamedTuple):
    """The lines of an entry's text, what stands for its first line, its time, and what was wrong with it."""

    lines: tuple[str, ...]
    header: str
    at_ms: int | None
    trouble: str = ""


def text_of(raw: bytes) -> str:
    """The text without line end and NUL bytes; what is not UTF-8 is replaced."""
    return raw.decode(errors="replace").strip("\r\n\0")


def parsed(text: str) -> dict[str, Any] | None:
    """The object in the line; None if there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def record_of(text: str, at_ms: int | None, zone: tzinfo) -> Record:
    """What ``text`` says, be it a JSON object; ``at_ms`` is the wrapper's time and goes first."""
    found = parsed(text) if text.startswith('{"') else None
    if found is None:
        return Record((text,), text, at_ms)
    texts = [text.splitlines() or [""] for text in _texts(found)]
    lines = tuple(line for lines in texts for line in lines)
    header = " ".join(lines[0] for lines in texts)
    return Record(lines or ("",), header, _time(found, zone) if at_ms is None else at_ms)


def encodable(text: str) -> str:
    """The text without the halves of characters that JSON can spell."""
    return text.encode(errors="replace").decode()


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield encodable(value)
    elif isinstance(value, dict | list) and depth < MAX_DEPTH:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one, depth + 1)


def _time(found: dict[str, Any], zone: tzinfo) -> int | None:
    for name in TIMES:
        value = found.get(name)
        if isinstance(value, str):
            return time_ms(value, zone)
        if isinstance(value, dict):
            value = value.get("epochSecond")
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MILLISECONDS_UP_TO:
            return int(value * 1_000 if value < _SECONDS_UP_TO else value)
    return None
