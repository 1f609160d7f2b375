"""``deadwatch audit``: who did what, from a terminal or into a file."""

from typing import Annotated

import typer
from rich.table import Table

from deadwatch import redrive_tables
from deadwatch.api_client import DONE, Api
from deadwatch.api_command import EXIT_CODES, Answer, Json, Limit, of_api, shown

PATH = "/audit"
COLUMNS = ("at", "who", "action", "subject", "outcome", "why", "address")


def add_to(app: typer.Typer) -> None:
    """Add the command to the command ``deadwatch``."""
    app.command("audit", epilog=EXIT_CODES)(of_api(look))


def look(
    api: Api,
    *,
    who: Annotated[str, typer.Option(metavar="NAME", help="Only of this one.")] = "",
    action: Annotated[str, typer.Option(metavar="NAME", help="Only this, as redrives.create.")] = "",
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="As 2026-11-21T12:00:00Z.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="TIME", help="Left out itself.")] = "",
    limit: Limit = 50,
    export: Annotated[bool, typer.Option("--export", help="Everything, as JSON Lines.")] = False,
    as_json: Json = False,
) -> int:
    """Show who did what, when, why, and how it went, the newest first.

    deadwatch audit --action redrives.create --from 2026-11-01T00:00:00Z

    deadwatch audit --export > audit.jsonl
    """
    wanted = {"who": who, "action": action, "from": since, "to": until}
    said = {name: value for name, value in wanted.items() if value}
    if export:
        for line in api.lines(f"{PATH}/export", **said):
            print(line)
        return DONE
    return shown(api.pages(PATH, limit, **said), as_json, _table)


def _table(told: Answer) -> Table:
    return redrive_tables.table("Audit", COLUMNS, ([one[name] for name in COLUMNS] for one in told["items"]))
