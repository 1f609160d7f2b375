"""What a validator has found, in words for who sent the value: the texts of the api and of its console.

Ours stand for those of pydantic that show a pattern or speak of its own parts; the rest are pydantic's.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from deadwatch.runtime.logs import LINE

STORABLE: Final = r"^[^\x00]*$"
"""Texts of several lines; PostgreSQL holds no null character."""
TOPIC: Final = r"^(\.*[A-Za-z0-9_-][A-Za-z0-9._-]*|\.{3,})$"
"""Every name that Kafka allows: neither . nor .. is one."""
IF_MATCH: Final = r'^\s*(\*|"[0-9]{1,18}")\s*$'

ALLOWED: Final[Mapping[str, str]] = {
    LINE: "one line without control characters",
    STORABLE: "a text without null characters",
    TOPIC: "the name of a topic, of A-Za-z0-9._-",
    IF_MATCH: 'the ETag that was read, as "3"',
    r"^[^*\x00-\x1f]{0,249}\*?$": "the name of a header, or its beginning with * behind it",
}
"""What a pattern allows, where that is more than some characters in a row."""

KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("model_attributes_type", "model_type", "dict_type"), "this takes an object with fields"),
    "tuple_type": "this takes a list",
    "timezone_aware": "must have a time zone, as in 2026-11-21T12:00:00Z",
}
"""What is said of a value of another kind."""

_CHARACTERS: Final = re.compile(r"\^\[([^\]^]+)\](?:\{(\d+)(?:,(\d+))?\}|\+)\$")


def reason(error: Mapping[str, Any]) -> str:
    """The text for one of pydantic's errors."""
    kind = str(error["type"])
    if kind == "string_pattern_mismatch":
        return f"this takes {allowed(error['ctx']['pattern']) or error['ctx']['pattern']}"
    if kind == "extra_forbidden":
        return "no field or parameter has this name"
    if kind == "json_invalid":
        return f"this is no JSON: {error['ctx']['error']}, at character {error['loc'][-1]}"
    if kind in KINDS:
        return KINDS[kind]
    if kind.startswith("datetime_"):
        return "a time is written as 2026-11-21T12:00:00Z"
    return str(error["msg"]).removeprefix("Value error, ")


def allowed(pattern: str) -> str:
    """What a pattern allows, in words; "" where it is of no kind that we know."""
    if pattern in ALLOWED:
        return ALLOWED[pattern]
    row = _CHARACTERS.fullmatch(pattern)
    if row is None:
        return ""
    characters, least, most = row.groups()
    if least is None:
        return f"characters of {characters}"
    return f"{f'{least} to {most}' if most else least} characters of {characters}"
