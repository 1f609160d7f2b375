"""Where the demo shows its table: in place on a terminal, else a line for every row that changes."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from deadwatch.demo_table import Row, rich_table


class Screen:
    """A context; what is printed while it is open stands above the table."""

    def __init__(self) -> None:
        self._live = Live(console=Console(), auto_refresh=False) if sys.stdout.isatty() else None
        self._shown: dict[str, Row] = {}
        self._began_s = time.monotonic()
        self._caption = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        """What happens now."""
        self._caption = line
        if self._live is None:
            self._print(line)

    def present(self, table: Table) -> None:
        """A table of its own, above the other."""
        console = Console() if self._live is None else self._live.console
        console.print(table)

    def show(self, rows: Sequence[Row]) -> None:
        """The table as it is now."""
        if self._live is not None:
            self._live.update(rich_table(rows, self._caption), refresh=True)
            return
        for row in rows:
            before = self._shown.get(row.what)
            if before is not None and row != before:
                self._print(f"  {row.what}: expected {row.expected or '…'}, seen {row.seen}")
            self._shown[row.what] = row

    def _print(self, line: str) -> None:
        print(f"{time.monotonic() - self._began_s:6.1f} s  {line}", flush=True)
