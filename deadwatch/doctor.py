"""``deadwatch doctor``: one line a check, and what to do about it."""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.checks.finding import Check, Finding, Level

COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


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
