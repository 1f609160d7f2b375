"""What one line of a log reports, and when a later mention of it is the same thing."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from deadwatch.contract.events import Event, Quarantined

ALWAYS_NEW: Final = -1
ANY_NUMBER: Final = 0
MAX_KEY_CHARS: Final = 500
_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Mention:
    """The latest mention of a cause: its log time, and how many mentions stand in a row."""

    at_ms: int
    in_a_row: int = 1


@dataclass(frozen=True, slots=True)
class Cause:
    """An event without its position and times.

    ``event`` takes what ``Event`` itself declares. Two mentions in one entry with the same ``identity`` are
    one. A mention in a later entry, within ``window_ms`` of the previous one by the log's own clock, is the
    same too, until ``mentions`` of them have been seen (``ANY_NUMBER``: without limit). ``also``
    is the identity of a later mention that does not say whose it is. What is always new and has no later
    mention is not remembered.
    """

    event: Callable[..., Event]
    identity: tuple[str, ...]
    also: tuple[str, ...] = ()
    window_ms: int = ALWAYS_NEW
    mentions: int = ANY_NUMBER


def reported(kind: type[Event], *identity: str, **facts: str | int) -> Cause:
    """An event of this kind with these facts, identified by its kind and ``identity``."""
    event: Callable[..., Event] = kind
    return Cause(partial(event, **facts), identity=(kind.kind, *identity))


def unread(reason: str, excerpt: str, *place: str) -> Cause:
    """The event that input could not be read; ``place`` tells it apart from others with this reason."""
    return Cause(partial(Quarantined, reason=reason, excerpt=excerpt), (reason, *place))


def key_of(identity: tuple[str, ...]) -> str:
    """What is remembered of an identity: its parts, or a hash of them where they are long."""
    key = _SEPARATOR.join(identity)
    return key if len(key) <= MAX_KEY_CHARS else hashlib.sha256(key.encode()).hexdigest()


def mention(cause: Cause, previous: Mention | None, at_ms: int) -> tuple[Mention, bool]:
    """The mention to remember, and whether it is something new."""
    if previous is None or abs(at_ms - previous.at_ms) > cause.window_ms:
        return Mention(at_ms), True
    full = cause.mentions != ANY_NUMBER and previous.in_a_row % cause.mentions == 0
    return Mention(at_ms, previous.in_a_row + 1), full
