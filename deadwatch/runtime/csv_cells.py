"""Rows of CSV (RFC 4180) that no spreadsheet takes for formulas."""

import csv
import io
from collections.abc import Iterable
from typing import Final

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell must not begin with (OWASP, CSV injection)."""


def csv_row(cells: Iterable[object]) -> str:
    """One row with its end of line; a text that a spreadsheet would run begins with an apostrophe."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([_harmless(cell) for cell in cells])
    return line.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
