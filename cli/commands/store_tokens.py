"""``deadwatch token --on-store``: the tokens in the store itself, for users who may write to it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from api import cursor
from api.auth.authenticator import named_user
from api.auth.tokens import TokenService
from api.errors import ApiError, StoreUnavailableError
from api.routes.tokens import TokenRequest, new_token, token_answer
from api.settings import ApiSettings
from api.store import Store, Writer
from cli.api_client import RefusedError, UsageError
from cli.commands.output import Answer
from cli.service import store_url
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.settings_file import load
from deadwatch.store.engine import parse_url, shown
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry, Witness
from deadwatch.store.write.tokens import TokenError

T = TypeVar("T")


class StoreTokens:
    """The tokens in the store; answers are those of the api, and every change is in the audit."""

    def __init__(self, settings: ApiSettings) -> None:
        store = Store(settings.store_url)
        pepper = settings.token_pepper.get_secret_value()
        self._service = TokenService(store, Writer(settings.store_url, store), clock_ms, pepper)
        self._who = named_user("on the store")

    def create(self, body: dict[str, Any]) -> Answer:
        """Create a token; the answer has its text. Raises ``ApiError``, ``TokenError``, ``UsageError``."""
        try:
            request = TokenRequest.model_validate(body)
        except ValueError as error:
            name = body["name"]
            raise UsageError(f"NAME is one line of 100 characters at most: {name!r} is not") from error
        witness = partial(self._witness, "tokens.create")
        return new_token(self._service, request, self._who, clock_ms(), witness).model_dump(mode="json")

    def listed(self, limit: int) -> Answer:
        """The newest ``limit`` tokens. Raises ``ApiError``, ``TokenError``."""
        rows, following = cursor.cut(self._service.every(), lambda row: row.key, limit)
        now_ms = clock_ms()
        items = [token_answer(row, now_ms).model_dump(mode="json") for row in rows]
        return {"items": items, "next": following}

    def revoke(self, token: str) -> None:
        """Revoke a token by its id. Raises ``ApiError``, ``TokenError``."""
        self._service.revoke(token, self._who, self._witness("tokens.revoke", ""))

    def close(self) -> None:
        """Close the connections to the store."""
        self._service.close()

    def _witness(self, action: str, why: str) -> Witness:
        def write(connection: Connection, subject: str) -> None:
            entry = Entry(at_ms=clock_ms(), who=self._who, action=action, subject=subject, why=why)
            audit.write(connection, entry)

        return write


def on_store(data: Path, config: Path | None, work: Callable[[StoreTokens], T]) -> T:
    """Work on the tokens of the settings' store. Raises ``RefusedError``, ``SettingsError``."""
    settings = load(ApiSettings, config)
    address = store_url(settings, data)
    tokens = StoreTokens(settings.model_copy(update={"store_url": address}))
    try:
        return work(tokens)
    except StoreUnavailableError as error:
        raise RefusedError(f"{shown(parse_url(address))}: {error}") from None
    except (ApiError, TokenError) as error:
        raise RefusedError(str(error)) from None
    finally:
        tokens.close()
