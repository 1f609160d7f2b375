"""How values of a redrive request are written as texts, both on a command line and in a form."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar

_Value = TypeVar("_Value")

NONE: Final = "none"
"""The text for "no limit"."""

_INTERVAL: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,19})-([0-9]{1,19})")
_PLACE: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,19})")
_ZONE: Final = re.compile(r"(?:[Zz]|[+-]\d\d:?\d\d)$")


@dataclass(frozen=True, slots=True)
class Kind:
    """A text form of a value: how it is written and read; ``form`` describes it for users.

    ``read`` raises ``ValueError`` for any other text. With ``many`` parts each part is a line.
    """

    form: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    many: bool = False

    def parts(self, value: object) -> list[str]:
        """The text of the value; the lines of one with ``many`` parts."""
        text = self.write(value)
        return text.split("\n") if self.many else [text]

    def carries(self, value: object) -> bool:
        """Whether the text expresses exactly this value, in printable characters."""
        lines = self.parts(value)
        try:
            same = bool(self.read("\n".join(lines)) == value)
        except ValueError:
            return False
        return same and all(line.isprintable() and line == line.strip() != "" for line in lines)


def choice(values: Mapping[str, object]) -> Kind:
    """The kind of a value that is one of these, by its text."""
    texts = {value: text for text, value in values.items()}

    def read(text: str) -> object:
        if text not in values:
            raise ValueError(text)
        return values[text]

    return Kind(" or ".join(values), read, lambda value: texts.get(value, ""))


def _number(text: str) -> float | None:
    number = None if text == NONE else float(text)
    if number is not None and not math.isfinite(number):
        raise ValueError(text)
    return number


def _from_number(number: float | None) -> str:
    return NONE if number is None else repr(number).removesuffix(".0")


def _milliseconds(text: str) -> int:
    if not math.isfinite(float(text)):
        raise ValueError(text)
    try:
        return round(Decimal(text) * 1_000)
    except InvalidOperation:  # an exponent beyond what Decimal holds, which is 0 as a float
        raise ValueError(text) from None


def _seconds(length_ms: int) -> str:
    seconds, rest = divmod(length_ms, 1_000)
    return f"{seconds}.{rest:03}".rstrip("0").rstrip(".")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _intervals(text: str) -> dict[str, list[int]]:
    found = [_matched(_INTERVAL, line) for line in _lines(text)]
    return _once((str(int(partition)), [int(first), int(end)]) for partition, first, end in found)


def _places(text: str) -> list[dict[str, int]]:
    found = [_matched(_PLACE, line) for line in _lines(text)]
    return [{"partition": int(partition), "offset": int(offset)} for partition, offset in found]


def _pairs(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in _lines(text.replace(",", "\n"))]
    if not all(old.strip() and new.strip() and "=" not in new for old, _, new in pairs):
        raise ValueError(text)
    return _once((old.strip(), new.strip()) for old, _, new in pairs)


def _target(text: str) -> dict[str, Any]:
    match text.partition(":"):
        case ("origin", "", ""):
            return {"kind": "origin"}
        case ("topic", _, topic) if topic:
            return {"kind": "topic", "topic": topic}
        case ("retry", _, group) if group:
            return {"kind": "retry", "consumergroup": group}
        case ("map", _, pairs) if pairs:
            return {"kind": "map", "map": _pairs(pairs)}
    raise ValueError(text)


def _from_target(target: dict[str, Any]) -> str:
    match target:
        case {"kind": "topic", "topic": topic}:
            return f"topic:{topic}"
        case {"kind": "retry", "consumergroup": group}:
            return f"retry:{group}"
        case {"kind": "map", "map": pairs}:
            return "map:" + _from_pairs(pairs).replace("\n", ",")
    return "origin"


def _from_pairs(pairs: dict[str, str]) -> str:
    return "\n".join(f"{old}={new}" for old, new in pairs.items())


def _matched(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return match.groups()


def _once(pairs: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """The pairs as a dictionary; raises ``ValueError`` for a repeated name."""
    found: dict[str, _Value] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name} twice")
        found[name] = value
    return found


TEXT: Final = Kind("a text", str, str)
NUMBER: Final = Kind("a number, as 50, or none", _number, _from_number)
WHOLE: Final = Kind("a whole number, as 50", int, str)
SECONDS: Final = Kind("a time in seconds, as 60", _milliseconds, _seconds)
TIME: Final = Kind(
    "a time, as 2026-11-21T12:00:00Z", lambda text: text if _ZONE.search(text) else f"{text}Z", str
)
SWITCH: Final = choice({"true": True, "false": False})
ENGINE: Final = choice({"local": "local", "spark": "spark"})
LINES: Final = Kind("one a line", _lines, lambda lines: "\n".join(lines or ()), many=True)
INTERVALS: Final = Kind(
    "PARTITION:FROM-TO, as 0:10-20 (20 is left out), each partition once",
    _intervals,
    lambda value: "\n".join(f"{partition}:{first}-{end}" for partition, (first, end) in value.items()),
    many=True,
)
PLACES: Final = Kind(
    "PARTITION:OFFSET, as 0:42",
    _places,
    lambda value: "\n".join(f"{one['partition']}:{one['offset']}" for one in value),
    many=True,
)
PAIRS: Final = Kind("old=new, a pair a line, each topic once", _pairs, _from_pairs, many=True)
TARGET: Final = Kind("origin, topic:NAME, map:OLD=NEW,OLD=NEW or retry:GROUP", _target, _from_target)
