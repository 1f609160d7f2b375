"""``deadwatch token`` and ``audit``: who may call the api, and who did what.

Over the api an admin makes tokens; on the store, who may write to it. The first admin's token is made on
the store, when there is nobody yet whom the api would let make one.
"""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from api.auth.role import Role
from cli.api_client import DONE, Api, UsageError
from cli.commands import tables
from cli.commands.api import Limit, Output, group
from cli.commands.output import Answer, Format, shown
from cli.options import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.commands.store_tokens import StoreTokens

PATH: Final = "/tokens"
AUDIT: Final = "/audit"
DAYS: Final = 90
ENTRY_COLUMNS: Final = tables.named("at who action subject outcome why address")
T = TypeVar("T")

OnStore = Annotated[bool, typer.Option("--on-store", help="Not over the api: for the first admin.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="With --on-store: as of deadwatch up.")]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="With --on-store: as of deadwatch up.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="The 12 digits behind dw_ of the token.")]


def _state(token: Answer) -> str:
    if token["revoked_at"]:
        return "revoked"
    return "valid" if token["valid"] else "expired"


COLUMNS: Final[tables.Columns] = {
    "id": "id",
    "name": "name",
    "role": "role",
    "state": _state,
    "made by": "created_by",
    "made": "created_at",
    "expires": lambda token: token["expires_at"] or "never",
    "last used": lambda token: token["used_at"] or "never",
}
_table: Final = partial(tables.of_items, "Tokens", COLUMNS, optional=("made", "made by", "last used"))


def create(
    api: Api,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of who will have it; the audit shows it.")],
    *,
    role: Annotated[Role, typer.Option(help="viewer reads, operator changes, admin makes tokens.")],
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="Valid for so long.", show_default=str(DAYS))
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="Valid until it is revoked.")
    ] = False,
    on_store: OnStore = False,
    data: Data = DATA,
    config: Config = None,
    output: Output = Format.TABLE,
) -> int:
    """Make a token; it is printed once, and kept nowhere.

    deadwatch token create ann --role admin --on-store

    DEADWATCH_TOKEN=$(deadwatch token create pipeline --role operator --days 30)
    """
    if never_expires and days is not None:
        raise UsageError("say --days or --never-expires, not both")
    body = {"name": name, "role": role, "expires_in_days": None if never_expires else days or DAYS}
    made = _on_store(data, config, lambda tokens: tokens.create(body)) if on_store else api.post(PATH, body)
    if output is Format.TABLE:
        until = tables.brief_time(made["expires_at"] or "it is revoked")
        sys.stderr.write(f"token {made['id']} of {made['name']}, {made['role']}, valid until {until}:\n")
        print(made["token"])
        return DONE
    return shown(made, output, _table)


def listed(
    api: Api,
    *,
    limit: Limit = 100,
    on_store: OnStore = False,
    data: Data = DATA,
    config: Config = None,
    output: Output = Format.TABLE,
) -> int:
    """List the tokens: whose, since when, used when.

    deadwatch token list
    """
    if on_store:
        return shown(_on_store(data, config, lambda tokens: tokens.listed(limit)), output, _table)
    return shown(api.pages(PATH, limit), output, _table)


def revoke(
    api: Api, token_id: TokenId, *, on_store: OnStore = False, data: Data = DATA, config: Config = None
) -> int:
    """Revoke a token: within a second it opens nothing any more.

    deadwatch token revoke 5f2a9c01d4e7
    """
    if on_store:
        _on_store(data, config, lambda tokens: tokens.revoke(token_id))
    else:
        api.delete(f"{PATH}/{token_id}")
    return DONE


def whoami(api: Api, *, output: Output = Format.TABLE) -> int:
    """Say who the api takes us for.

    deadwatch token whoami
    """
    return shown(api.get("/me"), output, lambda me: tables.FittedTable("Me", ("", ""), list(me.items())))


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
        for line in api.lines(f"{AUDIT}/export", **given):
            print(line)
        return DONE
    table = partial(tables.of_items, "Audit", ENTRY_COLUMNS, optional=("address", "why"))
    return shown(api.pages(AUDIT, limit, **given), output, table)


app: Final = group(
    "Who may call the api, as what.", {"create": create, "list": listed, "revoke": revoke, "whoami": whoami}
)


def _on_store(data: Path, config: Path | None, work: "Callable[[StoreTokens], T]") -> T:
    """Work on the tokens of the settings' store. Raises ``RefusedError``, ``UsageError``."""
    from cli.commands import store_tokens

    return store_tokens.on_store(data, config, work)
