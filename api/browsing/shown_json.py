"""JSON as it is shown: exactly as it is in the record, or only its structure, without a value of it.

Python's reader drops a name that comes twice, rounds numbers and refuses long ones: ``exact`` fails then.

Of the structure the names and the types stay; a name that looks like data (a map by address or by number) is
masked as well. A name that an object has twice is there twice, the second time with its place in the object.
"""

import json
import re
import sys
from decimal import Decimal, InvalidOperation
from typing import Any, Final

MOST_NAMES: Final = 1_000
"""Of one object, one masked list or one message of Protobuf; the rest is counted."""
HALF_PAIR: Final = re.compile(r"\\u[dD][89A-Fa-f]")
"""The escape in JSON of a half of a surrogate pair, or of a whole pair."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z_.-]*[0-9]{0,3}")
_NAME_CHARS: Final = 64


class InexactError(ValueError):
    """Python's JSON would drop, round or refuse something; the text says what, without naming it."""


class _Masked(dict[str, Any]):
    """An object whose names and values are masked."""


def exact(text: str) -> Any:  # noqa: ANN401 -- JSON
    """The JSON as what it is. Raises ``ValueError``: ``InexactError`` where it cannot be shown so."""
    content = json.loads(
        text,
        parse_constant=_refuse,
        parse_float=_exact,
        parse_int=_exact_whole,
        object_pairs_hook=_named_once,
    )
    return _escaped(content) if HALF_PAIR.search(text) else content


def structure(text: str) -> Any:  # noqa: ANN401 -- JSON
    """The JSON with its objects masked, without the digits of its numbers. Raises ``ValueError``."""
    return json.loads(
        text,
        parse_constant=_refuse,
        parse_float=lambda _: 0,
        parse_int=lambda _: 0,
        object_pairs_hook=_names,
    )


def hidden(content: Any) -> Any:  # noqa: ANN401 -- JSON
    """Names and types; what is masked already stays as it is."""
    if isinstance(content, dict):
        return content if isinstance(content, _Masked) else _names(list(content.items()))
    if isinstance(content, list):
        shown = [hidden(item) for item in content[:MOST_NAMES]]
        rest = len(content) - len(shown)
        return [*shown, f"<{rest} more>"] if rest else shown
    if isinstance(content, bool):
        return "<boolean>"
    if isinstance(content, int | float):
        return "<number>"
    return f"<text of {len(content)}>" if isinstance(content, str) else content


def _escaped(content: Any) -> Any:  # noqa: ANN401 -- JSON
    r"""The content with half surrogate pairs written as ``\ud800``: no encoding has them."""
    if isinstance(content, dict):
        return _named_once([(_escaped(name), _escaped(value)) for name, value in content.items()])
    if isinstance(content, list):
        return [_escaped(item) for item in content]
    return content.encode(errors="backslashreplace").decode() if isinstance(content, str) else content


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise InexactError("a name that an object has twice would be shown once")
    return content


def _exact(digits: str) -> float:
    number = float(digits)
    try:
        if Decimal(digits) == Decimal(repr(number)):
            return number
    except InvalidOperation:
        pass
    raise InexactError("a number would be rounded")


def _exact_whole(digits: str) -> int | float:
    try:
        return -0.0 if digits == "-0" else int(digits)
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise InexactError(f"a number of more than {most} digits would not be read") from None


def _refuse(constant: str) -> Any:  # noqa: ANN401 -- never returns
    """``NaN`` and ``Infinity``: Python takes them."""
    raise ValueError(f"{constant} is no JSON")


def _names(pairs: list[tuple[str, Any]]) -> _Masked:
    masked = _Masked()
    for number, (name, value) in enumerate(pairs, 1):
        if number > MOST_NAMES:
            masked["<more>"] = f"<{len(pairs) - MOST_NAMES} more>"
            break
        plain = len(name) <= _NAME_CHARS and _NAME.fullmatch(name)
        shown = name if plain else f"<name {number}>"
        masked[f"{shown} <{number}>" if shown in masked else shown] = hidden(value)
    return masked
