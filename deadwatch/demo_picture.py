"""The demo's table as a picture (SVG), for a README or a ticket. It asks no other host for a font."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from deadwatch.demo_table import Row, rich_table

WIDTH: Final = 76
FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def save(file: Path, rows: Sequence[Row], caption: str) -> None:
    """Write the picture of a table."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(rich_table(rows, caption))
    file.write_text(console.export_svg(title="make demo", code_format=FORMAT))
