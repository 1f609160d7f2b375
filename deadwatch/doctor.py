"""``deadwatch doctor``: one line a check, and what to do about it; nothing is written anywhere.

A check that fails never stops the next one: a caller sees everything at once.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Level(StrEnum):
    """How a check ended; only FAIL keeps the service from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


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


def findings(checks: Sequence[Check]) -> Iterator[Finding]:
    """What every check saw, as it comes."""
    for check in checks:
        yield from check()


def exit_code(found: Sequence[Finding]) -> int:
    """1 where something fails."""
    return int(any(finding.level is Level.FAIL for finding in found))


def report(checks: Sequence[Check]) -> int:
    """Print a table on a terminal, else a plain line a finding as it comes; the exit code."""
    if sys.stdout.isatty():
        console = Console()
        with console.status("looking"):
            found = list(findings(checks))
        console.print(table(found))
        return exit_code(found)
    seen = []
    for finding in findings(checks):
        print(line(finding), flush=True)
        seen.append(finding)
    return exit_code(seen)


def line(finding: Finding) -> str:
    """A finding as plain text."""
    advice = f"; {finding.advice}" if finding.advice else ""
    return f"{finding.level:4}  {finding.subject}: {finding.seen}{advice}"


def table(found: Sequence[Finding]) -> Table:
    """All findings for a terminal."""
    grid = Table("", "what", "seen", "what to do", box=None, pad_edge=False)
    for finding in found:
        level = Text(finding.level, style=COLOURS[finding.level])
        grid.add_row(level, Text(finding.subject), Text(finding.seen), Text(finding.advice))
    return grid


def short(error: Exception) -> str:
    """An error in one line of bounded length."""
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
