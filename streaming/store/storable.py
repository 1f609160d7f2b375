"""Texts and numbers as every database takes them: bounded, no NUL, no half of a character."""

import hashlib
import json
import re
from collections.abc import Mapping

MAX_LABEL_CHARS = 1_024
MAX_KEY_BYTES = 320
"""Of one of at most seven parts of a key: PostgreSQL's indexes hold 2 700 bytes a row."""
KEPT_KEY_BYTES = 140
"""Of a key that is too long; JSON may double it."""
DIGEST_CHARS = 16
CONTROL = re.compile(r"[\x00-\x1f]")
MAX_INTEGER = 2**63 - 1
"""What a column holds: no event makes a total overflow."""
REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """Text that every database takes: no NUL, no half of a character, bounded."""
    clean = text[:MAX_LABEL_CHARS].replace("\x00", REPLACEMENT)
    return clean if clean.isascii() else clean.encode(errors="replace").decode()


def storable_key(text: str) -> str:
    """Text that may be a key, also inside JSON: what has to be cut still differs from all others."""
    if _plain(text):
        return text
    stored = storable(text)
    clean = CONTROL.sub(REPLACEMENT, stored)
    size = len(json.dumps(clean, ensure_ascii=False).encode())
    if clean == stored and size <= MAX_KEY_BYTES:
        return stored
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:DIGEST_CHARS]
    kept = clean.encode()[:KEPT_KEY_BYTES].decode(errors="ignore")
    return f"{kept}~{digest}"


def _plain(text: str) -> bool:
    """Whether JSON writes the text as it is, and it is short: so are nearly all, and this is seen quickly."""
    short = len(text) + len('""') <= MAX_KEY_BYTES
    return short and text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def clamped(number: int) -> int:
    """A number that every database holds."""
    return max(-MAX_INTEGER, min(MAX_INTEGER, number))


def counted(number: int) -> int:
    """A number that a counter may grow by."""
    return max(0, clamped(number))


def storable_values(values: Mapping[str, object]) -> dict[str, object]:
    """A row whose texts are storable and whose numbers fit."""
    return {name: _storable(value) for name, value in values.items()}


def storable_keys(values: Mapping[str, str]) -> dict[str, str]:
    """The key of a row, every part of it bounded."""
    return {name: storable_key(value) for name, value in values.items()}


def _storable(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    return clamped(value) if isinstance(value, int) and not isinstance(value, bool) else value
