"""JSON that is shown as it is in the record, or not at all.

Python's reader drops a name that comes twice, rounds numbers and refuses long ones.
"""

import json
import re
import sys
from decimal import Decimal, InvalidOperation
from typing import Any, Final

HALF_PAIR: Final = re.compile(r"\\u[dD][89A-Fa-f]")
"""The escape in JSON of a half of a surrogate pair, or of a whole pair."""


def loads(text: str) -> Any:  # noqa: ANN401 -- JSON
    """The JSON as what it is. Raises ``ValueError``: ``InexactError`` where it cannot be shown so."""
    content = json.loads(
        text,
        parse_constant=refuse,
        parse_float=_exact,
        parse_int=_exact_whole,
        object_pairs_hook=_named_once,
    )
    return _escaped(content) if HALF_PAIR.search(text) else content


def _escaped(content: Any) -> Any:  # noqa: ANN401 -- JSON
    r"""The content with half surrogate pairs written as ``\ud800``: no encoding has them."""
    if isinstance(content, dict):
        return _named_once([(_escaped(name), _escaped(value)) for name, value in content.items()])
    if isinstance(content, list):
        return [_escaped(item) for item in content]
    return content.encode(errors="backslashreplace").decode() if isinstance(content, str) else content


class InexactError(ValueError):
    """Python's JSON would drop, round or refuse something; the text says what, without naming it."""


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


def refuse(constant: str) -> Any:  # noqa: ANN401 -- never returns
    """``NaN`` and ``Infinity``: Python takes them."""
    raise ValueError(f"{constant} is no JSON")
