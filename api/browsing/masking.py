"""The structure of JSON, and of what is like it, without a value of it.

The names and the types stay; a name that looks like data (a map by address or by number) is masked as well.
A name that an object of JSON has twice is there twice, the second time with its place in the object.
"""

import json
import re
from typing import Any, Final

from api.browsing.exact_json import refuse

MOST_NAMES: Final = 1_000
"""Of one object, one masked list or one message of Protobuf; the rest is counted."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z_.-]*[0-9]{0,3}")
_NAME_CHARS: Final = 64


class _Masked(dict[str, Any]):
    """An object whose names and values are masked."""


def structure(text: str) -> Any:  # noqa: ANN401 -- JSON
    """The JSON with its objects masked, without the digits of its numbers. Raises ``ValueError``."""
    return json.loads(
        text,
        parse_constant=refuse,
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
