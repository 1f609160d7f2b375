"""What is seen of a payload by those who may not read it: its structure, never a value.

Of JSON, Avro and Protobuf the names and the types stay; a name that looks like data (a map by address or by
number) is masked as well. Of text and bytes only the size is told. Headers that tell of the failure are no
payload: they stay.
"""

import re
from dataclasses import replace
from typing import Any, Final

from api.browsing.payload import Format, Shown
from collector.contract.headers import SPRING_EXCEPTION
from streaming.dialects import DIALECTS, reading
from streaming.letter import OURS

MOST_NAMES: Final = 1_000
"""Of one object; the rest is counted."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z_.-]*[0-9]{0,3}")
_NAME_CHARS: Final = 64
_STRUCTURED: Final = frozenset({Format.JSON, Format.AVRO, Format.PROTOBUF})
_PREFIXES: Final = (*(dialect.prefix for dialect in DIALECTS), SPRING_EXCEPTION)


def masked(shown: Shown) -> Shown:
    """The payload without its values."""
    if shown.format is Format.PROTOBUF:
        fields = [{"field": one["field"], "value": _hidden(one["value"])} for one in shown.content]
        return replace(shown, content=fields)
    return replace(shown, content=_hidden(shown.content) if shown.format in _STRUCTURED else None)


def is_open(header: str) -> bool:
    """Whether everybody may see the header's value: it tells how the record failed or was moved."""
    named = any(header in dialect.headers for dialect in reading().dialects)
    return named or header in OURS or header.startswith(_PREFIXES)


def _hidden(content: Any) -> Any:  # noqa: ANN401 -- JSON
    if isinstance(content, dict):
        return _names(content)
    if isinstance(content, list):
        kept = [_hidden(one) for one in content[:MOST_NAMES]]
        rest = len(content) - len(kept)
        return [*kept, f"<{rest} more>"] if rest else kept
    if isinstance(content, bool):
        return "<boolean>"
    if isinstance(content, int | float):
        return "<number>"
    return f"<text of {len(content)}>" if isinstance(content, str) else content


def _names(content: dict[str, Any]) -> dict[str, Any]:
    hidden: dict[str, Any] = {}
    for number, (name, value) in enumerate(content.items(), 1):
        if number > MOST_NAMES:
            hidden["<more>"] = f"<{len(content) - MOST_NAMES} more>"
            break
        plain = len(name) <= _NAME_CHARS and _NAME.fullmatch(name)
        hidden[name if plain else f"<name {number}>"] = _hidden(value)
    return hidden
