"""Finds out who asks, by what they send: a token of the store, a JWT, the local token of ``deadwatch up``, or
by their session of the console.

Nobody in particular may read where the service is reached on this machine only, or where the settings say so.
"On this machine" is judged by all that can be seen: the address that is listened on, the peer's address, the
name by which we were asked (a page of a foreign site may resolve its own name to us) and that no proxy
forwards.
"""

import getpass
import logging
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import Request

from api.auth import ANYBODY, NOBODY, Caller, Role
from api.credentials import Credential, digest, matches, parse
from api.discovery import Discovery
from api.errors import ThrottledError, UnauthenticatedError
from api.failures import Failures
from api.oidc import Oidc
from api.oidc_settings import OidcSettings
from api.oidc_sign_in import SignIn
from api.person import Person
from api.settings import ApiSettings
from api.token_desk import TokenDesk
from collector.loopback import is_loopback

SCHEME: Final = "bearer"
LOCAL: Final = "local"
"""The id of the local token."""
FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
MAX_CREDENTIALS_CHARS: Final = 16_384
JWT_DOTS: Final = 2

log = logging.getLogger(__name__)


def steady_ms() -> int:
    """A clock that never jumps."""
    return time.monotonic_ns() // 1_000_000


class Gate:
    """Used by many threads; ``sign_in`` is None where nobody signs in at an identity provider."""

    def __init__(self, settings: ApiSettings, now_ms: Callable[[], int], desk: TokenDesk) -> None:
        self._settings, self._desk = settings, desk
        self._failures = Failures(now_ms)
        self._now_ms = now_ms
        self._oidc = Oidc(settings.oidc, steady_ms) if settings.oidc.enabled else None
        self.sign_in = _sign_in(settings.oidc, self._oidc)
        self._local = _local(settings.local_token_file)

    def caller(self, request: Request) -> Caller:
        """Who asks.

        Raises:
            UnauthenticatedError: the credentials are not valid.
            ThrottledError: nor were too many before them.
            StoreUnavailableError, IdentityProviderError: that cannot be told now.
        """
        sent = request.headers.getlist("authorization")
        person = getattr(request.state, "person", None)
        if isinstance(person, Person) and not sent:
            return person.caller(self._settings.oidc.issuer, self._now_ms())
        if not sent:
            return ANYBODY if self.anonymous(request) else NOBODY
        try:
            return self._known(request, sent)
        except UnauthenticatedError:
            retry_after_s = self._failures.failed(request.client.host if request.client else "")
            if retry_after_s:
                raise ThrottledError(retry_after_s) from None
            raise

    def anonymous(self, request: Request) -> bool:
        """Whether nobody in particular may read what is asked for."""
        allowed = self._settings.anonymous
        if allowed == "reads" or (allowed == "metrics" and request.url.path == "/metrics"):
            return True
        return is_loopback(self._settings.host) and on_this_machine(request)

    def _known(self, request: Request, sent: list[str]) -> Caller:
        scheme, _, text = sent[0].partition(" ")
        if len(sent) != 1 or scheme.lower() != SCHEME or len(text) > MAX_CREDENTIALS_CHARS:
            raise UnauthenticatedError(invalid="Authorization has to be 'Bearer' and one token")
        text = text.strip()
        if self._oidc and text.count(".") == JWT_DOTS:
            return self._oidc.caller(text)
        credential = parse(text)
        if credential is None:
            raise UnauthenticatedError(invalid="this is no token, or it was not copied whole")
        request.state.presented = credential.id
        if self._local is not None and credential.id == self._local.id:
            return self._locally(request, self._local, credential)
        return self._desk.caller(credential)

    @staticmethod
    def _locally(request: Request, local: Credential, credential: Credential) -> Caller:
        if not on_this_machine(request) or not matches(credential, "", digest(local, "")):
            raise UnauthenticatedError(invalid="this token is valid on the service's own machine only")
        return Caller(_user(), Role.OPERATOR, LOCAL)


def on_this_machine(request: Request) -> bool:
    """Whether the request came from this machine, to a name that only this machine has for us."""
    peer = request.client.host if request.client else ""
    named = is_loopback((request.url.hostname or "").strip("[]"))
    return is_loopback(peer) and named and not any(name in request.headers for name in FORWARDED)


def _sign_in(settings: OidcSettings, oidc: Oidc | None) -> SignIn | None:
    if oidc is None or not settings.signs_in:
        return None
    return SignIn(settings, oidc, Discovery(settings, steady_ms))


def _local(file: Path | None) -> Credential | None:
    """The local token; none where the file is not the user's alone."""
    if file is None:
        return None
    try:
        open_to_others = stat.S_IMODE(file.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
        credential = None if open_to_others else parse(file.read_text(errors="replace").strip())
    except OSError as error:
        log.warning("the local token is not used: %s: %s", file, error.strerror)
        return None
    if credential is None:
        log.warning(
            "the local token is not used: %s has to hold a token and be readable by its owner only", file
        )
    return credential


def _user() -> str:
    try:
        return f"{getpass.getuser()} (local)"
    except (KeyError, OSError):
        return "local"
