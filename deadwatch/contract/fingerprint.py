"""The fingerprint that groups dead letters by cause.

    sha256(dialect US origin_topic US consumer US error_class US pattern(message)), first 16 hex digits

``pattern`` is the message with what differs from record to record taken out, by the substitutions below in
their order, and then cut: where the cut is must not depend on how long such values are. They are plain ASCII
regular expressions with one meaning in Python and in Rust, because Polars applies the same list to whole
columns: golden vectors hold the two together.
"""

import hashlib
import re
from typing import Final

SEPARATOR: Final = "\x1f"
MAX_MESSAGE_CHARS: Final = 4_000
"""Characters of a message that are looked at."""
MAX_PATTERN_CHARS: Final = 512
HEX_DIGITS: Final = 16

_BEFORE: Final = r"(^|[ (\[{<>=:,;])"
"""What a quoted value of any length stands behind, so that no apostrophe takes the rest of a message."""
_MOST: Final = 200
"""Characters of a quoted value anywhere; and the least of one that never ends, as where the message was cut:
less may as well be a text with a quotation mark in it.
"""
_LONG: Final = "|".join(rf"{mark}(?:[^{mark}]*{mark}|[^{mark}]{{{_MOST},}}$)" for mark in "'\"`")
_SHORT: Final = "|".join(rf"{mark}[^{mark}]{{0,{_MOST}}}{mark}" for mark in "'\"`")
_APOSTROPHE: Final = "\x00"
"""Stands for one in a word while quoted values are replaced."""

_SHOWN: Final = (
    (r'(\[Source: \([A-Za-z\[\]]+\))".*?"(?:\[truncated [0-9]+ [a-z]+\])?(; line: )', r"\g<1>?\g<2>"),
    (
        r"(Key \([^)]*\)=)\(.*?\)( already exists| is not present| is still referenced| conflicts with)",
        r"\g<1>(?)\g<2>",
    ),
    (r"(Failing row contains )\(.*\)\.( |$)", r"\g<1>(?).\g<2>"),
    (r"(The duplicate key value is )\(.*?\)\.( |$)", r"\g<1>(?).\g<2>"),
    (
        r"(Batch entry [0-9]+ (?:INSERT|insert) [^()]*(?:\([^()]*\) ?)?(?:VALUES|values) ?)"
        r"\(.*?\)( ON CONFLICT | on conflict | was aborted)",
        r"\g<1>(?)\g<2>",
    ),
)
"""Where Jackson, PostgreSQL (two lines), SQL Server and PostgreSQL's JDBC driver show what they could not
read or write: any marks and words may be in it, and every record has another.
"""

SUBSTITUTIONS: Final = (
    (r"[ \t\r\n\x0B\f]{2,}|[\t\r\n\x0B\f]", " "),  # one blank is what most are already
    *_SHOWN,
    (r"([A-Za-z])'(s|t|d|m|ll|re|ve)([^A-Za-z0-9_']|$)", rf"\g<1>{_APOSTROPHE}\g<2>\g<3>"),
    (rf"{_BEFORE}(?:{_LONG})|{_SHORT}", r"\g<1>?"),
    (_APOSTROPHE, "'"),
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "?"),
    (r"@[0-9a-f]{5,8}", "@?"),
    (r"0x[0-9a-fA-F]+", "?"),
    (r"[a-fA-F]{0,64}[0-9][0-9a-fA-F]{11,}", "?"),
    (r"[0-9]+", "#"),
)
"""(pattern, replacement); the order matters: quoted values go before the numbers inside them. ``\\g<1>`` in a
replacement is the first group. None makes a message longer.
"""

_COMPILED = tuple((re.compile(pattern, re.ASCII), replacement) for pattern, replacement in SUBSTITUTIONS)


def message_pattern(message: str | None) -> str:
    """The pattern of a message; "" for none."""
    text = (message or "")[:MAX_MESSAGE_CHARS]
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text[:MAX_PATTERN_CHARS].strip(" ")


def fingerprint(dialect: str, origin_topic: str, consumer: str, error_class: str, message: str | None) -> str:
    """16 hex digits that every dead letter of one cause shares."""
    parts = (dialect, origin_topic, consumer, error_class, message_pattern(message))
    return of_parts(SEPARATOR.join(parts))


def of_parts(parts: str) -> str:
    """The fingerprint, where all its parts are joined by ``SEPARATOR``."""
    return hashlib.sha256(parts.encode()).hexdigest()[:HEX_DIGITS]
