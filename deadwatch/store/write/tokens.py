"""Tokens of the api: created, found, revoked. The store keeps a digest of each, never the token."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import Column, ColumnElement, Connection, and_, delete, insert, or_, select, update

from deadwatch.contract.errors import RequestError
from deadwatch.store.schema import tokens as table
from deadwatch.store.statements import count
from deadwatch.store.storable import storable_values

MAX_TOKENS: Final = 1_000
FORGOTTEN_AFTER_MS: Final = 90 * 86_400_000
"""How long a token that has ended is listed."""


class TokenError(RequestError):
    """The text says which token and what to do."""


class UnknownTokenError(TokenError):
    """There is no such token."""

    kind = "unknown-token"
    title = "There is no such token"

    def __init__(self, token: str) -> None:
        super().__init__(f"there is no token {token!r}: deadwatch token list shows them")


class TooManyTokensError(TokenError):
    """There are as many valid tokens as the store keeps."""

    kind = "too-many-tokens"
    title = "There are too many tokens"

    def __init__(self, maximum: int) -> None:
        super().__init__(f"there are {maximum} tokens that are valid: revoke what is not used")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it is stored; a time of 0 stands for "never"."""

    id: str
    name: str
    role: str
    digest: str
    created_by: str
    created_at_ms: int
    expires_at_ms: int = 0
    revoked_at_ms: int = 0
    revoked_by: str = ""
    used_at_ms: int = 0

    @property
    def key(self) -> tuple[int, str]:
        """The token's key in the order of pages."""
        return self.created_at_ms, self.id

    def valid(self, now_ms: int) -> bool:
        """Whether the token is neither revoked nor expired."""
        return not self.revoked_at_ms and (not self.expires_at_ms or now_ms < self.expires_at_ms)


def add(connection: Connection, token: Token, maximum: int = MAX_TOKENS) -> None:
    """Add a token, and delete those that ended long ago.

    Raises ``TooManyTokensError``: as many as are kept are valid.
    """
    now_ms = token.created_at_ms
    ended = (_since(table.c.revoked_at_ms, now_ms), _since(table.c.expires_at_ms, now_ms))
    connection.execute(delete(table).where(or_(*ended)))
    unexpired = or_(table.c.expires_at_ms == 0, table.c.expires_at_ms > now_ms)
    if count(connection, table, table.c.revoked_at_ms == 0, unexpired) >= maximum:
        raise TooManyTokensError(maximum)
    connection.execute(insert(table), storable_values(asdict(token)))


def find(connection: Connection, token: str) -> Token | None:
    """The token with this id, if there is one."""
    row = connection.execute(select(table).where(table.c.id == token)).mappings().first()
    return None if row is None else Token(**row)


def every(connection: Connection) -> Sequence[Token]:
    """All tokens, the newest first."""
    query = select(table).order_by(table.c.created_at_ms.desc(), table.c.id.desc())
    return [Token(**row) for row in connection.execute(query).mappings()]


def revoke(connection: Connection, token: str, by: str, now_ms: int) -> Token:
    """Revoke a token; one that was revoked before stays as it is. Raises ``UnknownTokenError``."""
    mine = (table.c.id == token, table.c.revoked_at_ms == 0)
    change = storable_values({"revoked_at_ms": now_ms, "revoked_by": by})
    connection.execute(update(table).where(*mine).values(change))
    found = find(connection, token)
    if found is None:
        raise UnknownTokenError(token)
    return found


def use(connection: Connection, token: str, now_ms: int) -> None:
    """Note when a token was used."""
    mine = (table.c.id == token, table.c.used_at_ms < now_ms)
    connection.execute(update(table).where(*mine).values(used_at_ms=now_ms))


def _since(column: Column[int], now_ms: int) -> ColumnElement[bool]:
    return and_(column > 0, column < now_ms - FORGOTTEN_AFTER_MS)
