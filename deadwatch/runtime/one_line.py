"""A command line that is told in one line on standard error what was wrong with it.

What is wrong ends it with exit code 2, an output that takes no more with 1, Ctrl-C with 130.
"""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import typer
from typer import TyperException
from typer.core import TyperGroup

from deadwatch.runtime.process import REFUSED, written

INTERRUPTED: Final = 130


class OneLine(TyperGroup):
    """A group of commands whose name is how it is called; the last word of it begins each line."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:  # noqa: ANN401 -- Typer's own
        """Run; with ``standalone_mode`` the process ends here."""
        for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
            if getattr(sys, name) is None:  # a process may be started without one
                setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- for its whole life
        if isinstance(sys.stdout, TextIOWrapper):  # what its encoding has not is escaped
            sys.stdout.reconfigure(errors="backslashreplace")
        called = str(self.name)
        line = called.rpartition(" ")[2]
        with written(line):
            try:
                code = super().main(*args, **{"prog_name": called} | extra | {"standalone_mode": False})
            except TyperException as error:
                wrong = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
                told = getattr(error, "ctx", None)
                sys.stderr.write(f"{line}: {wrong}; see {told.command_path if told else called} --help\n")
                code = REFUSED
            except typer.Abort:
                code = INTERRUPTED
        if standalone_mode:
            sys.exit(code)
        return code
