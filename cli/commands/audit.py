"""``deadwatch audit``: who did what, from a terminal or into a file."""

from functools import partial
from typing import Annotated

import typer

from cli.api_client import DONE, Api
from cli.commands import tables
from cli.commands.api import Limit, Output
from cli.commands.output import Format, shown

PATH = "/audit"
COLUMNS = tables.named("at who action subject outcome why address")


def audit(
    api: Api,
    *,
    who: Annotated[str, typer.Option(metavar="NAME", help="Only of this one.")] = "",
    action: Annotated[str, typer.Option(metavar="NAME", help="Only this, as redrives.create.")] = "",
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="As 2026-11-21T12:00:00Z.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="TIME", help="Left out itself.")] = "",
    limit: Limit = 50,
    export: Annotated[bool, typer.Option("--export", help="Everything, as JSON Lines.")] = False,
    output: Output = Format.TABLE,
) -> int:
    """Show who did what, when, why, and how it went, the newest first.

    deadwatch audit --action redrives.create --from 2026-11-01T00:00:00Z

    deadwatch audit --export > audit.jsonl
    """
    filters = {"who": who, "action": action, "from": since, "to": until}
    given = {name: value for name, value in filters.items() if value}
    if export:
        for line in api.lines(f"{PATH}/export", **given):
            print(line)
        return DONE
    table = partial(tables.of_items, "Audit", COLUMNS, optional=("address", "outcome"))
    return shown(api.pages(PATH, limit, **given), output, table)
