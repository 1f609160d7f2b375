"""Finds out who calls, by the credentials of the request: a token of the store, a JWT, the local token of
``deadwatch up``, or a session of the console.

Anonymous callers may read where the service is reached on this machine only, unless the settings deny that,
or where the settings allow it. "On this machine" is judged by all that can be seen: the address that is
listened on, the peer's address, the Host that was asked for (a page of a foreign site may resolve its own
name to us) and that no proxy forwards. A proxy that tells nothing of what it forwards cannot be seen: behind
one the settings have to deny it.

Invalid credentials are counted by address. Beyond a limit the answer is to try again later. A valid
credential is never refused for the failures of others at its address: 256 random bits cannot be guessed
however often one tries, and one address may be that of a whole company.
"""

import getpass
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import Request

from api.auth.credentials import Credential, digest, matches, parse
from api.auth.identity_provider import IdentityProvider
from api.auth.limits import FailureCounter, network
from api.auth.oidc import JwtVerifier
from api.auth.role import Role
from api.auth.roles import ANONYMOUS_VIEWER, NOBODY, Caller
from api.auth.sign_in import Person, Session, SignIn
from api.auth.tokens import EndedSessions, TokenService
from api.errors import ThrottledError, UnauthenticatedError
from api.settings import ApiSettings
from api.store import Store
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.runtime.hosts import host_name, is_loopback

SCHEME: Final = "bearer"
LOCAL: Final = "local"
"""The id of the local token."""
FORWARDED: Final = ("forwarded", "via", "x-forwarded-", "x-real-ip")
"""How headers begin that a proxy adds to what it forwards."""
MAX_CREDENTIALS_CHARS: Final = 16_384
JWT_DOTS: Final = 2
MAX_FAILURES: Final = 10
MAX_ADDRESSES: Final = 10_000
log = logging.getLogger(__name__)


class Authenticator:
    """Turns the credentials of a request into a caller; used by many threads.

    ``sessions`` knows which sessions of the console have ended. ``sign_in`` is None where no identity
    provider is set up for the console.
    """

    def __init__(
        self, settings: ApiSettings, now_ms: Callable[[], int], tokens: TokenService, store: Store
    ) -> None:
        self._settings, self._tokens = settings, tokens
        self._failures = FailureCounter(now_ms, MAX_ADDRESSES, MAX_FAILURES)
        self._now_ms = now_ms
        self._jwts: JwtVerifier | None = None
        self.sign_in: SignIn | None = None
        if settings.oidc.enabled:
            provider = IdentityProvider(settings.oidc, monotonic_ms)
            self._jwts = JwtVerifier(settings.oidc, provider)
            if settings.oidc.signs_in:
                self.sign_in = SignIn(settings.oidc, self._jwts, provider)
        self.sessions = EndedSessions(store, now_ms)
        self._local = _local(settings.local_token_file)

    def caller(self, request: Request) -> Caller:
        """The caller of the request.

        Raises ``UnauthenticatedError``: the credentials are not valid; ``ThrottledError``: they are not, and
        too many from this address were not before; ``StoreUnavailableError``, ``IdentityProviderError``: they
        cannot be checked now.
        """
        session = getattr(request.state, "session", None)
        if isinstance(session, Session):
            self.sessions.check(session)
        sent = request.headers.getlist("authorization")
        person = getattr(request.state, "person", None)
        if isinstance(person, Person) and not sent:
            return person.caller(self._settings.oidc.issuer, self._now_ms())
        if not sent:
            return ANONYMOUS_VIEWER if self.anonymous(request) else NOBODY
        try:
            return self._identified(request, sent)
        except UnauthenticatedError:
            failures = self._failures.count(network(request.client.host if request.client else ""))
            if failures.beyond:
                raise ThrottledError(max(1, -(-failures.left_ms // 1_000))) from None
            raise

    def anonymous(self, request: Request) -> bool:
        """Whether an anonymous caller may read what is requested."""
        allowed = self._settings.anonymous
        if allowed == "reads" or (allowed == "metrics" and request.url.path == "/metrics"):
            return True
        return allowed == "local" and is_loopback(self._settings.host) and on_this_machine(request)

    def _identified(self, request: Request, sent: list[str]) -> Caller:
        scheme, _, text = sent[0].partition(" ")
        if len(sent) != 1 or scheme.lower() != SCHEME or len(text) > MAX_CREDENTIALS_CHARS:
            raise UnauthenticatedError(invalid="Authorization has to be 'Bearer' and one token")
        text = text.strip()
        if self._jwts and text.count(".") == JWT_DOTS:
            return self._jwts.caller(text)
        credential = parse(text)
        if credential is None:
            raise UnauthenticatedError(invalid="this is no token, or it was not copied whole")
        request.state.presented = credential.id
        if self._local is None or credential.id != self._local.id:
            return self._tokens.caller(credential)
        if not on_this_machine(request) or not matches(credential, "", digest(self._local, "")):
            raise UnauthenticatedError(invalid="this token is valid on the service's own machine only")
        return Caller(named_user("local"), Role.OPERATOR, LOCAL)


def on_this_machine(request: Request) -> bool:
    """Whether the request came from this machine, to a host name that only this machine resolves to us.

    Proxies that are not told otherwise speak HTTP/1.0; what runs on this machine does not.
    """
    peer = request.client.host if request.client else ""
    named = is_loopback(host_name(request.headers.getlist("host")) or "")
    forwarded = any(name.startswith(FORWARDED) for name in request.headers)
    return is_loopback(peer) and named and not forwarded and request.scope["http_version"] != "1.0"


def _local(file: Path | None) -> Credential | None:
    """The local token; None where the file is missing, is not ours, or others may read it."""
    if file is None:
        return None
    try:
        found = file.stat()
        open_to_others = stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
        ours = found.st_uid == os.geteuid() and not open_to_others
        credential = parse(file.read_text(errors="replace").strip()) if ours else None
    except OSError as error:
        log.warning("the local token is not used: %s: %s", file, error.strerror)
        return None
    if credential is None:
        log.warning(
            "the local token is not used: %s has to hold a token, and be ours and readable by its owner only",
            file,
        )
    return credential


def named_user(where: str) -> str:
    """Who runs this process, and where they act; the place alone where the user has no name."""
    try:
        return f"{getpass.getuser()} ({where})"
    except (KeyError, OSError):
        return where
