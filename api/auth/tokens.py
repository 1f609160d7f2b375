"""Tokens of the store: who has one, creating and revoking them.

What the store has of a token is cached for half a second: so long a token that is revoked by another replica
stays valid here. The time of the last use is written every few minutes at most, by a thread of its own; it is
for people who look for tokens that nobody needs.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from api.auth.credentials import Credential, digest, issue, matches
from api.auth.role import Role
from api.auth.roles import Caller
from api.auth.sign_in import Session
from api.errors import ApiError, UnauthenticatedError
from api.store import Store, Writer
from deadwatch.runtime.clock import clock_ms
from deadwatch.store.write import audit, tokens
from deadwatch.store.write.audit import Witness
from deadwatch.store.write.tokens import Token

FRESH_MS: Final = 500
USED_EVERY_MS: Final = 300_000
MAX_REMEMBERED: Final = 10_000
SIGN_OUT: Final = "sign-out"
"""The action of ending a session in the audit; its subject is the session."""
LONGEST_MS: Final = 12 * 3_600_000
"""No session lasts longer, nor does the memory of its end."""
OVERLAP_MS: Final = 60_000
"""Entries of so long before are read again: clocks differ, and transactions take time."""
log = logging.getLogger(__name__)


class EndedSessions:
    """Sessions that were ended by signing out, as the audit has them; used by many threads.

    They are read twice a second at most, so other replicas know of one within a second. While the store
    cannot be read, those known are the ended ones. Who waits does not read again after a reading that has
    begun or failed meanwhile: otherwise all would wait for a slow store one after the other.
    """

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store, self._now_ms = store, now_ms
        self._ended: dict[str, int] = {}
        self._read_ms: int | None = None
        self._begun = self._failed = 0
        """How many readings have."""
        self._lock = threading.Lock()

    def check(self, session: Session) -> None:
        """Raises ``UnauthenticatedError``: the session was ended, or it was idle for too long."""
        if clock_ms() >= session.until_ms or session.id in self._known():
            raise UnauthenticatedError(invalid="the session has ended")

    def add(self, session: str) -> None:
        """Know of a session that ends now."""
        with self._lock:
            self._ended[session] = self._now_ms()

    def _known(self) -> Mapping[str, int]:
        now_ms, before = self._now_ms(), (self._begun, self._failed)
        with self._lock:
            fresh = self._read_ms is not None and 0 <= now_ms - self._read_ms < FRESH_MS
            if not fresh and before == (self._begun, self._failed):
                self._read(now_ms)
            return self._ended

    def _read(self, now_ms: int) -> None:
        """Read the newest ends; the others wait meanwhile, for nobody may be let in before they are known."""
        self._begun += 1
        known_ms = now_ms - LONGEST_MS if self._read_ms is None else min(self._read_ms, now_ms) - OVERLAP_MS
        try:
            with self._store.read() as connection:
                found = audit.subjects(connection, SIGN_OUT, known_ms)
        except ApiError:
            self._failed += 1
            return
        kept = {name: at_ms for name, at_ms in self._ended.items() if at_ms > now_ms - LONGEST_MS}
        self._ended, self._read_ms = {**kept, **found}, now_ms


class TokenService:
    """Checks, creates and revokes tokens; used by many threads. ``key`` is the key of the digests."""

    def __init__(self, store: Store, writer: Writer, now_ms: Callable[[], int], key: str) -> None:
        self._store, self._writer, self._now_ms, self._key = store, writer, now_ms, key
        self._cached: dict[str, tuple[int, Token]] = {}
        self._used: dict[str, int] = {}
        self._revocations = 0
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, "tokens-used")

    def caller(self, credential: Credential) -> Caller:
        """The caller whose token it is.

        Raises ``UnauthenticatedError``: the token is not known, was revoked or has expired;
        ``StoreUnavailableError``: that cannot be checked now.
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
        """Create and store a token; the credential can be shown only now. Raises ``TokenError``."""
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
        """Revoke a token: here at once, in other replicas within a second. Raises ``TokenError``."""
        with self._writer.writing() as connection:
            revoked = tokens.revoke(connection, token, by, self._now_ms())
            also(connection, token)
        with self._lock:
            self._revocations += 1
            self._cached.pop(token, None)
        return revoked

    def every(self) -> Sequence[Token]:
        """All tokens, the newest first."""
        with self._store.read() as connection:
            return tokens.every(connection)

    def close(self) -> None:
        """Write the uses that are pending, and close the store."""
        self._background.shutdown()
        self._writer.close()
        self._store.close()

    def _find(self, token: str, now_ms: int) -> Token | None:
        with self._lock:
            cached_ms, cached = self._cached.get(token, (0, None))
            revocations = self._revocations
        if cached is not None and 0 <= now_ms - cached_ms < FRESH_MS:
            return cached
        with self._store.read() as connection:
            found = tokens.find(connection, token)
        if found is not None:
            with self._lock:
                if len(self._cached) >= MAX_REMEMBERED:
                    self._cached.clear()
                if revocations == self._revocations:  # else it may be this token, read before it was revoked
                    self._cached[token] = (now_ms, found)
        return found

    def _note_use(self, token: str, now_ms: int) -> None:
        with self._lock:
            if abs(now_ms - self._used.get(token, -USED_EVERY_MS)) < USED_EVERY_MS:
                return
            if len(self._used) >= MAX_REMEMBERED:
                self._used.clear()
            self._used[token] = now_ms
        self._background.submit(self._write_use, token, now_ms)

    def _write_use(self, token: str, now_ms: int) -> None:
        try:
            with self._writer.writing() as connection:
                tokens.use(connection, token, now_ms)
        except ApiError as error:
            log.info("when the token %s was used last is not written: %s", token, error)
