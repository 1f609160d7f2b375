"""What a check saw, and what to do about it.

A check that fails never stops the next one: a caller sees everything at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a check ended; only FAIL keeps the service from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw; ``advice`` says what to do and is empty when there is nothing to do."""

    level: Level
    subject: str
    seen: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(subject: str, seen: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, subject, seen)


def warn(subject: str, seen: str, advice: str) -> Finding:
    """The service works, but sees less than it could."""
    return Finding(Level.WARN, subject, seen, advice)


def fail(subject: str, seen: str, advice: str) -> Finding:
    """The service cannot work so."""
    return Finding(Level.FAIL, subject, seen, advice)


def short(error: Exception) -> str:
    """An error in one line of bounded length."""
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
