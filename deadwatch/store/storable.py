"""Texts, numbers and events as every database takes them: bounded, no NUL, no half of a character.

Events are made storable before states are followed, so that what is compared is what is stored. So no event,
whatever it claims, makes a batch fail for ever.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from deadwatch.contract.event import field_values

MAX_LABEL_CHARS = 1_024
MAX_WRITTEN_CHARS = 5_000
"""Of what people write, a note or a filter: more than the api takes of any."""
WRITTEN_COLUMNS = frozenset({"comment", "why"})
"""Columns that hold it."""
MAX_KEY_BYTES = 320
"""The bound of one of at most seven parts of a key: an index of PostgreSQL holds 2 700 bytes a row."""
KEPT_KEY_BYTES = 140
"""What is kept of a key that is too long; JSON may double its size."""
DIGEST_CHARS = 16
CONTROL = re.compile(r"[\x00-\x1f]")
MAX_INTEGER = 2**63 - 1
"""The most that a column holds: no event makes a total overflow."""
REPLACEMENT = "\ufffd"


def storable(text: str, most: int = MAX_LABEL_CHARS) -> str:
    """Text that every database takes: no NUL, no half of a character, bounded."""
    clean = text[:most].replace("\x00", REPLACEMENT)
    return clean if clean.isascii() else clean.encode(errors="replace").decode()


def storable_key(text: str) -> str:
    """Text that may be a key, also inside JSON: a text that is cut gets a digest, so it still differs."""
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
    """Whether the text is short and JSON writes it unchanged: nearly all are, and this check is quick."""
    short = len(text) + len('""') <= MAX_KEY_BYTES
    return short and text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def clamped(number: int) -> int:
    """The number within the bounds of a column."""
    return max(-MAX_INTEGER, min(MAX_INTEGER, number))


def counted(number: int) -> int:
    """The number within the bounds by which a counter may grow."""
    return max(0, clamped(number))


def storable_values(values: Mapping[str, object]) -> dict[str, object]:
    """The values of a row, with texts that are storable and numbers that fit."""
    return {name: _storable(name, value) for name, value in values.items()}


def storable_keys(values: Mapping[str, str]) -> dict[str, str]:
    """The key of a row, with every part bounded."""
    return {name: storable_key(value) for name, value in values.items()}


def _storable(name: str, value: object) -> object:
    if isinstance(value, str):
        return storable(value, MAX_WRITTEN_CHARS if name in WRITTEN_COLUMNS else MAX_LABEL_CHARS)
    return clamped(value) if isinstance(value, int) and not isinstance(value, bool) else value


T = TypeVar("T")

KEY_FIELDS = frozenset(
    {
        *("source", "subject", "kafka_cluster", "worker", "connector", "task", "broker", "consumergroup"),
        *("topic", "application", "streams_client", "thread", "collector", "name"),
        *("target_topic", "order", "dlq_topic", "dlq_topic_id"),
    }
)


def storable_event(event: T) -> T:
    """The event with bounded keys and numbers; the same object when nothing had to be changed."""
    changes = {
        name: new
        for name, old in field_values(event).items()
        if (new := _storable_field(name, old)) is not old
    }
    return replace(event, **changes) if changes else event  # type: ignore[type-var]  # a dataclass


def _storable_field(name: str, value: Any) -> Any:  # noqa: ANN401 -- of the type it has
    if isinstance(value, str):
        key = storable_key(value) if name in KEY_FIELDS else value
        return value if key == value else key
    if isinstance(value, int) and not isinstance(value, bool):
        return value if clamped(value) == value else clamped(value)
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        return tuple(storable_event(one) for one in value)
    return value
