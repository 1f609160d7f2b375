"""What one line of a log says has happened, and when a later mention of it is the same thing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collector.contract.events import Event

ALWAYS_NEW: Final = -1
ANY_NUMBER: Final = 0


@dataclass(frozen=True, slots=True)
class Mention:
    """The latest mention of a cause: its log time, and how many mentions stand in a row."""

    at_ms: int
    in_a_row: int = 1


@dataclass(frozen=True, slots=True)
class Cause:
    """An event that still lacks its place and its times.

    ``event`` takes what ``Event`` itself declares. Two mentions in one entry with the same ``identity`` are
    one. A mention in a later entry, within ``window_ms`` of the previous one by the log's own clock, is the
    same too, until ``mentions`` of them have been seen (``ANY_NUMBER``: without limit). ``also``
    is the identity of a later mention that does not say whose it is.
    """

    event: Callable[..., Event]
    identity: tuple[str, ...]
    also: tuple[str, ...] = ()
    window_ms: int = ALWAYS_NEW
    mentions: int = ANY_NUMBER


def mention(cause: Cause, previous: Mention | None, at_ms: int) -> tuple[Mention, bool]:
    """The mention to remember, and whether it is something new."""
    if previous is None or abs(at_ms - previous.at_ms) > cause.window_ms:
        return Mention(at_ms), True
    full = cause.mentions != ANY_NUMBER and previous.in_a_row % cause.mentions == 0
    return Mention(at_ms, previous.in_a_row + 1), full
