"""An answer of the api as people or programs want it: a table, JSON, CSV or YAML; and questions to people."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.api_client import DONE, UsageError
from deadwatch.runtime.csv_cells import csv_row

if TYPE_CHECKING:
    from rich.console import RenderableType

Answer = Mapping[str, Any]


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"


def ask_terminal(question: str, about: "RenderableType" = "") -> bool:
    """Ask the person at the terminal, on standard error: the output may be a file. ``about`` is shown before.

    Raises:
        UsageError: nobody is there.
    """
    from rich.console import Console

    if not sys.stdin.isatty():
        raise UsageError("nobody is there to confirm: say --yes")
    if about:
        Console(stderr=True).print(about)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def text_of(file: Path, what: str = "") -> str:
    """The text of a file that somebody has named. Raises ``UsageError``."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"cannot read {what}{file}: {reason}") from None


def shown(answer: Answer, output: Format, table: "Callable[[Answer], RenderableType]") -> int:
    """Print an answer; the exit code."""
    if output is Format.TABLE:
        from rich.console import Console

        Console().print(table(answer))
    else:
        write(answer, output)
    return DONE


def write(answer: Answer, output: Format) -> None:
    """Print an answer for programs; of a table nothing is printed."""
    match output:
        case Format.JSON:
            print(json.dumps(answer))
        case Format.YAML:
            import yaml

            print(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True), end="")
        case Format.CSV:
            print("".join(_csv(answer)), end="")


def _csv(answer: Answer) -> Iterator[str]:
    """A row for each item of a list, or one for the answer itself; what is nested is JSON."""
    items = answer.get("items", [answer])
    if items:
        yield csv_row(items[0])
    for item in items:
        yield csv_row(json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in item.values())
