"""How numbers, times and texts from outside are written on a page.

Texts of topics, messages, headers and payloads are other people's: what could reorder a line, ring a bell or
move a cursor is shown by its name, and what is endless is cut.
"""

import re
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

MAX_CHARS: Final = 20_000
"""Of one text on a page."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_THOUSAND: Final = 1_000
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def plain(text: str) -> str:
    """The text with what cannot be seen made visible, cut at ``MAX_CHARS``."""
    shown = _CONTROLS.sub(_named, text[:MAX_CHARS])
    rest = len(text) - MAX_CHARS
    return shown if rest <= 0 else f"{shown} … and {number(rest)} characters more"


def finalized(value: object) -> object:
    """What a template puts out: every text plain, nothing for None; markup of our own as it is."""
    if value is None:
        return ""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def number(value: float) -> str:
    """With thin separators, as 12,345."""
    return f"{value:,}"


def size(count: int | None) -> str:
    """Bytes as people say them; None is null."""
    if count is None:
        return "null"
    amount, unit = float(count), 0
    while amount >= _THOUSAND and unit < len(_UNITS) - 1:
        amount, unit = amount / _THOUSAND, unit + 1
    return f"{count} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def duration(length_ms: int | None) -> str:
    """The two greatest units, as 2 h 5 min."""
    if length_ms is None:
        return "not known"
    if length_ms < _SECOND:
        return f"{length_ms} ms"
    for unit_ms, name, part_ms, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", _SECOND, "s"),
    ):
        if length_ms >= unit_ms:
            rest = length_ms % unit_ms // part_ms
            return f"{length_ms // unit_ms} {name}" + (f" {rest} {part}" if rest else "")
    return f"{length_ms / _SECOND:.1f} s"


def time(at: datetime | None) -> Markup:
    """A time that the page's script writes in the reader's zone; UTC on hover and without the script."""
    if at is None:
        return Markup('<span class="muted">never</span>')
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime("%Y-%m-%d %H:%M"),
    )


def short_class(name: str) -> str:
    """An exception's name without its package."""
    return name.rpartition(".")[2] or name


def _named(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"
