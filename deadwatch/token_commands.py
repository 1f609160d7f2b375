"""``deadwatch token``: who may call the api. Over the api an admin may; on the store, who may write to it.

The first admin's token is made on the store, when there is nobody yet whom the api would let make one.
"""

import getpass
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table
from sqlalchemy import Connection

from api.app import system_now_ms
from api.auth import Role
from api.errors import ApiError
from api.routes.tokens import DAY_MS, told_of
from api.settings import ApiSettings
from api.store import Store, Writer
from api.token_desk import TokenDesk
from api.token_schemas import NewToken, TokenRequest
from collector.settings_file import SettingsError, load
from deadwatch import redrive_tables
from deadwatch.api_client import DONE, Api, RefusedError, SaidError
from deadwatch.api_command import EXIT_CODES, Answer, Json, Limit, of_api, shown
from deadwatch.one_line import OneLine
from deadwatch.service import DATA, store_url
from streaming.store import audit
from streaming.store.audit import Entry, Witness
from streaming.store.tokens import TokenError

PATH = "/tokens"
T = TypeVar("T")

OnStore = Annotated[bool, typer.Option("--on-store", help="Not over the api: for the first admin.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="With --on-store: as of deadwatch up.")]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="With --on-store: as of deadwatch up.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="The 12 digits behind dw_ of the token.")]

app = typer.Typer(cls=OneLine, help="Who may call the api, as what.", no_args_is_help=True)


def create(
    api: Api,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of who will have it; the audit shows it.")],
    *,
    role: Annotated[Role, typer.Option(help="viewer reads, operator changes, admin makes tokens.")],
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Valid for so long.")] = 90,
    never_expires: Annotated[bool, typer.Option("--never-expires")] = False,
    on_store: OnStore = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Make a token; it is printed once, and kept nowhere.

    deadwatch token create ann --role admin --on-store

    DEADWATCH_TOKEN=$(deadwatch token create pipeline --role operator --days 30)
    """
    body = {"name": name, "role": role, "expires_in_days": None if never_expires else days}
    told = _on_store(data, config, lambda desk: desk.create(body)) if on_store else api.post(PATH, body)
    if not as_json:
        until = told["expires_at"] or "it is revoked"
        sys.stderr.write(f"token {told['id']} of {told['name']}, {told['role']}, valid until {until}:\n")
        print(told["token"])
        return DONE
    return shown(told, as_json, _table)


def listed(
    api: Api,
    *,
    limit: Limit = 100,
    on_store: OnStore = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """List the tokens: whose, since when, used when.

    deadwatch token list
    """
    told = _on_store(data, config, lambda desk: desk.listed(limit)) if on_store else api.pages(PATH, limit)
    return shown(told, as_json, _table)


def revoke(
    api: Api, token_id: TokenId, *, on_store: OnStore = False, data: Data = DATA, config: Config = None
) -> int:
    """Revoke a token: within a second it opens nothing any more.

    deadwatch token revoke 5f2a9c01d4e7
    """
    if on_store:
        _on_store(data, config, lambda desk: desk.revoke(token_id))
    else:
        api.delete(f"{PATH}/{token_id}")
    return DONE


def whoami(api: Api, *, as_json: Json = False) -> int:
    """Say who the api takes us for.

    deadwatch token whoami
    """
    return shown(api.get("/me"), as_json, _me)


COMMANDS: dict[str, Callable[..., int]] = {
    "create": create,
    "list": listed,
    "revoke": revoke,
    "whoami": whoami,
}
for command, run in COMMANDS.items():
    app.command(command, epilog=EXIT_CODES)(of_api(run))


class Desk:
    """The tokens of the store itself, as the api answers; what is done is in the audit."""

    def __init__(self, settings: ApiSettings) -> None:
        store = Store(settings.store_url)
        pepper = settings.token_pepper.get_secret_value()
        self._desk = TokenDesk(store, Writer(settings.store_url, store), system_now_ms, pepper)
        self._who = f"{getpass.getuser()} (on the store)"

    def create(self, body: dict[str, Any]) -> Answer:
        """Make one. Raises ``ApiError``, ``TokenError``."""
        try:
            request = TokenRequest.model_validate(body)
        except ValueError as error:
            raise SaidError(f"NAME is one line of 100 characters at most: {body['name']!r} is not") from error
        now_ms, days = system_now_ms(), request.expires_in_days
        expires_at_ms = 0 if days is None else now_ms + days * DAY_MS
        also = self._witness("tokens.create", f"{request.role} for {request.name}")
        made, credential = self._desk.create(request.name, request.role, expires_at_ms, self._who, also)
        told = NewToken(**dict(told_of(made, now_ms)), token=credential.text)
        return told.model_dump(mode="json")

    def listed(self, limit: int) -> Answer:
        """The newest of them. Raises ``ApiError``, ``TokenError``."""
        rows = self._desk.every()
        now_ms = system_now_ms()
        return {"items": [told_of(row, now_ms).model_dump(mode="json") for row in rows[:limit]], "next": None}

    def revoke(self, token: str) -> None:
        """Revoke one. Raises ``ApiError``, ``TokenError``."""
        self._desk.revoke(token, self._who, self._witness("tokens.revoke", ""))

    def close(self) -> None:
        """Let go of the store."""
        self._desk.close()

    def _witness(self, action: str, why: str) -> Witness:
        return partial(self._keep, action, why)

    def _keep(self, action: str, why: str, connection: Connection, subject: str) -> None:
        entry = Entry(at_ms=system_now_ms(), who=self._who, action=action, subject=subject, why=why)
        audit.write(connection, entry)


def _on_store(data: Path, config: Path | None, work: Callable[[Desk], T]) -> T:
    """Do it to the tokens of the settings' store. Raises ``RefusedError``."""
    try:
        settings = load(ApiSettings, config)
    except SettingsError as error:
        raise SaidError(str(error)) from None
    desk = Desk(settings.model_copy(update={"store_url": store_url(settings, data)}))
    try:
        return work(desk)
    except (ApiError, TokenError) as error:
        raise RefusedError(str(error)) from None
    finally:
        desk.close()


def _table(told: Answer) -> Table:
    rows = (
        (
            one["id"],
            one["name"],
            one["role"],
            _state(one),
            one["created_by"],
            one["created_at"],
            one["expires_at"] or "never",
            one["used_at"] or "never",
        )
        for one in told["items"]
    )
    headings = ("id", "name", "role", "state", "made by", "made", "expires", "last used")
    return redrive_tables.table("Tokens", headings, rows)


def _state(one: Answer) -> str:
    if one["revoked_at"]:
        return "revoked"
    return "valid" if one["valid"] else "expired"


def _me(told: Answer) -> Table:
    return redrive_tables.table("Me", ("", ""), list(told.items()))
