"""How a wrong command line is refused: in one line on standard error, as wrong settings are."""

import sys
from collections.abc import Sequence
from typing import Any

from typer import TyperException
from typer.core import TyperGroup

from collector.process import REFUSED


class OneLine(TyperGroup):
    """A group of commands whose usage errors are one line and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401 -- Typer's own signature
    ) -> Any:  # noqa: ANN401 -- Typer's own signature
        """Run; with ``standalone_mode`` the process ends here."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except TyperException as error:
            sys.stderr.write(f"deadwatch: {error.format_message()}; see deadwatch --help\n")
            code = REFUSED
        if standalone_mode:
            sys.exit(code)
        return code
