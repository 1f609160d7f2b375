"""Tokens of the store: who has one, who gets one, who loses theirs.

What the store said of a token holds for a second: so long one that is revoked elsewhere stays valid here.
That it was used is written every few minutes at most, by a thread of its own; it is for people who look for
tokens that nobody needs.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from api.auth import Caller, Role
from api.credentials import Credential, digest, issue, matches
from api.errors import ApiError, UnauthenticatedError
from api.store import Store, Writer
from streaming.store import tokens
from streaming.store.audit import Witness
from streaming.store.tokens import Token

FRESH_MS: Final = 1_000
USED_EVERY_MS: Final = 300_000
MAX_REMEMBERED: Final = 10_000

log = logging.getLogger(__name__)


class TokenDesk:
    """Used by many threads; ``key`` is what digests are made with."""

    def __init__(self, store: Store, writer: Writer, now_ms: Callable[[], int], key: str) -> None:
        self._store, self._writer, self._now_ms, self._key = store, writer, now_ms, key
        self._seen: dict[str, tuple[int, Token]] = {}
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()
        self._behind = ThreadPoolExecutor(1, "tokens-used")

    def caller(self, credential: Credential) -> Caller:
        """Whose token it is.

        Raises:
            UnauthenticatedError: nobody's, or it is no longer valid.
            StoreUnavailableError: that cannot be told now.
        """
        now_ms = self._now_ms()
        token = self._find(credential.id, now_ms)
        if token is None or not matches(credential, self._key, token.digest):
            raise UnauthenticatedError(invalid="the token is not known here")
        if not token.valid(now_ms):
            ended = "was revoked" if token.revoked_at_ms else "has expired"
            raise UnauthenticatedError(invalid=f"the token {token.id} {ended}")
        self._note_use(token.id, now_ms)
        return Caller(token.name, Role(token.role), token.id)

    def create(
        self, name: str, role: Role, expires_at_ms: int, by: str, also: Witness
    ) -> tuple[Token, Credential]:
        """A new token, kept, and the only sight of it. Raises ``TokenError``."""
        credential = issue()
        token = Token(
            id=credential.id,
            name=name,
            role=role,
            digest=digest(credential, self._key),
            created_by=by,
            created_at_ms=self._now_ms(),
            expires_at_ms=expires_at_ms,
        )
        with self._writer.writing() as connection:
            tokens.add(connection, token)
            also(connection, token.id)
        return token, credential

    def revoke(self, token: str, by: str, also: Witness) -> Token:
        """It opens nothing any more: here at once, elsewhere within a second. Raises ``TokenError``."""
        with self._writer.writing() as connection:
            revoked = tokens.revoke(connection, token, by, self._now_ms())
            also(connection, token)
        with self._lock:
            self._seen.pop(token, None)
        return revoked

    def every(self) -> Sequence[Token]:
        """All of them, the newest first."""
        with self._store.read() as connection:
            return tokens.every(connection)

    def close(self) -> None:
        """Write what is left, and let go of the store."""
        self._behind.shutdown()
        self._writer.close()
        self._store.close()

    def _find(self, token: str, now_ms: int) -> Token | None:
        with self._lock:
            seen_ms, seen = self._seen.get(token, (0, None))
        if seen is not None and 0 <= now_ms - seen_ms < FRESH_MS:
            return seen
        with self._store.read() as connection:
            found = tokens.find(connection, token)
        if found is not None:
            with self._lock:
                if len(self._seen) >= MAX_REMEMBERED:
                    self._seen.clear()
                self._seen[token] = (now_ms, found)
        return found

    def _note_use(self, token: str, now_ms: int) -> None:
        with self._lock:
            if abs(now_ms - self._used.get(token, -USED_EVERY_MS)) < USED_EVERY_MS:
                return
            if len(self._used) >= MAX_REMEMBERED:
                self._used.clear()
            self._used[token] = now_ms
        self._behind.submit(self._write_use, token, now_ms)

    def _write_use(self, token: str, now_ms: int) -> None:
        try:
            with self._writer.writing() as connection:
                tokens.use(connection, token, now_ms)
        except ApiError as error:
            log.info("when the token %s was used last is not written: %s", token, error)
