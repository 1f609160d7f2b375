"""The fingerprint that groups dead letters by cause.

    sha256(dialect US origin_topic US consumer US error_class US pattern(message)), first 16 hex digits

``pattern`` is the message with what differs from record to record taken out, by the substitutions below in
their order. They are plain ASCII regular expressions with one meaning in Python and in Rust, because Polars
applies the same list to whole columns: golden vectors hold the two together.
"""

import hashlib
import re
from typing import Final

SEPARATOR: Final = "\x1f"
MAX_MESSAGE_CHARS: Final = 512
HEX_DIGITS: Final = 16

SUBSTITUTIONS: Final = (
    (r"[ \t\r\n\x0B\f]+", " "),
    (r"'[^']{0,200}'|\"[^\"]{0,200}\"|`[^`]{0,200}`", "?"),
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "?"),
    (r"@[0-9a-f]{5,8}", "@?"),
    (r"0x[0-9a-fA-F]+", "?"),
    (r"[0-9a-fA-F]*[0-9][0-9a-fA-F]{11,}", "?"),
    (r"[0-9]+", "#"),
)
"""(pattern, replacement); the order matters: quoted values go before the numbers inside them."""

_COMPILED = tuple((re.compile(pattern, re.ASCII), replacement) for pattern, replacement in SUBSTITUTIONS)


def message_pattern(message: str | None) -> str:
    """The pattern of the first 512 characters of a message; "" for none."""
    text = (message or "")[:MAX_MESSAGE_CHARS]
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text.strip(" ")


def fingerprint(dialect: str, origin_topic: str, consumer: str, error_class: str, message: str | None) -> str:
    """16 hex digits that every dead letter of one cause shares."""
    return of_pattern(dialect, origin_topic, consumer, error_class, message_pattern(message))


def of_pattern(dialect: str, origin_topic: str, consumer: str, error_class: str, pattern: str) -> str:
    """The fingerprint, where the pattern of the message is known."""
    parts = (dialect, origin_topic, consumer, error_class, pattern)
    return hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()[:HEX_DIGITS]
