"""What the service needs of its environment, checked for ``deadwatch doctor`` and the console.

The checks write nothing anywhere. A check that fails never stops the next one: the caller sees all findings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final


class Level(StrEnum):
    """The result of a check; only FAIL keeps the service from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; ``advice`` says what to do, empty: nothing. Passwords in addresses are masked."""

    level: Level
    subject: str
    seen: str
    advice: str = ""

    def __post_init__(self) -> None:
        for name in ("seen", "advice"):
            object.__setattr__(self, name, PASSWORD.sub(r"\1:***@", getattr(self, name)))


PASSWORD: Final = re.compile(r"(://[^/\s:@]*):[^/\s]*@")
"""The user's name and the password of an address."""

NAMED: Final = 3
"""Topics that one line names; the others are counted."""


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


Check = Callable[[], Iterable[Finding]]


ok: Final = partial(Finding, Level.OK)
"""A finding that needs no action."""
warn: Final = partial(Finding, Level.WARN)
"""A finding with which the service works, but sees less than it could."""
fail: Final = partial(Finding, Level.FAIL)
"""A finding with which the service cannot work."""


def short(error: Exception) -> str:
    """The error's text in one line of bounded length."""
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
