"""Signing in to the console at the identity provider: authorization code flow with PKCE (RFC 6749, RFC 7636).

The browser is sent to the provider with values that only this attempt knows, and comes back with a code; we
exchange the code for tokens, which ``api.auth.oidc`` checks. Where the browser goes and who is asked follows
from the settings alone. The protocol's messages are Authlib's.

Who has signed in is sealed into a session as a ``Person``: what the provider said at that time. A session
lasts as long as the settings say, or until they name another provider.
"""

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Self

from authlib.oauth2 import OAuth2Client, OAuth2Error

from api.auth.identity_provider import UNREADABLE, IdentityProvider
from api.auth.oidc import JwtVerifier
from api.auth.role import Role
from api.auth.roles import Caller
from api.auth.settings import OidcSettings
from api.errors import IdentityProviderError, UnauthenticatedError

CHANCE_BYTES: Final = 32
POST: Final = "client_secret_post"
BASIC: Final = "client_secret_basic"


class SignInError(Exception):
    """The sign-in failed: the provider refused it, or its answer is not valid."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a cookie holds; its text begins with ``mark``, so that no other text of ours passes for it."""

    mark: ClassVar[str]

    @property
    def text(self) -> str:
        """The text that is sealed."""
        return self.mark + json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What a sealed text holds; None for anything else, or for the text of another version."""
        if not text.startswith(cls.mark):
            return None
        try:
            return cls(**json.loads(text.removeprefix(cls.mark)))
        except TypeError:
            return None


@dataclass(frozen=True, slots=True)
class Attempt(Sealed):
    """What only this browser and we know of its sign-in; ``place`` is the page to show afterwards."""

    mark = "attempt:"

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    place: str

    def is_answered(self, back: Mapping[str, str]) -> bool:
        """Whether the query that a browser came back with belongs to this attempt."""
        return hmac.compare_digest(back.get("state", "").encode(), self.state.encode())


class SignIn:
    """Begins and finishes sign-ins; used by many threads."""

    def __init__(self, settings: OidcSettings, jwts: JwtVerifier, provider: IdentityProvider) -> None:
        self._settings, self._jwts, self._provider = settings, jwts, provider

    def begin(self, redirect_uri: str, place: str) -> tuple[str, Attempt]:
        """The address to send the browser to, and what to remember until it comes back.

        Raises ``IdentityProviderError``: the provider's discovery document cannot be read.
        """
        state, nonce, verifier = (secrets.token_urlsafe(CHANCE_BYTES) for _ in range(3))
        attempt = Attempt(state, nonce, verifier, self._settings.redirect_uri or redirect_uri, place)
        address, _ = self._client(attempt).create_authorization_url(
            self._provider.address("authorization_endpoint"),
            state=attempt.state,
            code_verifier=attempt.verifier,
            nonce=attempt.nonce,
        )
        return str(address), attempt

    def finish(self, attempt: Attempt, back: Mapping[str, str]) -> Caller:
        """Who has signed in; ``back`` is the query that the browser came back with.

        Raises ``SignInError``: the provider refused, or the answer does not belong to the attempt;
        ``IdentityProviderError``: the provider does not answer, or too many wait for it.
        """
        if not attempt.is_answered(back):
            raise SignInError("this is no answer to the sign-in that was begun here: begin again")
        if back.get("iss", self._settings.issuer) != self._settings.issuer:  # RFC 9207
            raise SignInError("another identity provider has answered: begin again")
        if "code" not in back:
            raise SignInError(_refusal(back.get("error"), back.get("error_description")))
        try:
            return self._jwts.signed_in(self._exchanged(attempt, back["code"]), attempt.nonce)
        except UnauthenticatedError as error:
            raise SignInError(f"what the identity provider says is not taken: {error.invalid}") from None

    def _exchanged(self, attempt: Attempt, code: str) -> Mapping[str, Any]:
        try:
            tokens = self._client(attempt).fetch_token(
                self._provider.address("token_endpoint"),
                grant_type="authorization_code",
                code=code,
                code_verifier=attempt.verifier,
            )
        except OAuth2Error as error:
            raise SignInError(_refusal(error.error, error.description)) from None
        except UNREADABLE as error:
            raise IdentityProviderError(
                f"the identity provider does not exchange its code: {type(error).__name__}"
            ) from None
        return dict(tokens)

    def _client(self, attempt: Attempt) -> OAuth2Client:
        settings = self._settings
        secret = settings.client_secret.get_secret_value()
        return OAuth2Client(
            self._provider,
            client_id=settings.client_id,
            client_secret=secret or None,
            token_endpoint_auth_method=self._method() if secret else "none",
            scope=" ".join(settings.scopes),
            redirect_uri=attempt.redirect_uri,
            code_challenge_method="S256",
        )

    def _method(self) -> str:
        """How the secret is sent: in the header, unless the provider takes it in the body only."""
        taken = str(self._provider.document().get("token_endpoint_auth_methods_supported") or BASIC)
        return POST if POST in taken and BASIC not in taken else BASIC


def _refusal(*told: object) -> str:
    """The provider's refusal as one printable line; anybody may have put it into the browser's address."""
    text = ": ".join(str(part) for part in told if part) or "no code"
    printable = "".join(char if char.isprintable() else "?" for char in text[:300])
    return f"the identity provider refuses: {printable}"


@dataclass(frozen=True, slots=True)
class Session:
    """A session of the console, as the authenticator checks it; it ends at ``until_ms`` of the clock."""

    id: str
    until_ms: int


@dataclass(frozen=True, slots=True)
class Person(Sealed):
    """Who has signed in; ``token`` is the id in the audit, ``until_ms`` a time of the machine's clock."""

    mark = "person:"

    name: str
    role: str
    token: str
    issuer: str
    until_ms: int

    def caller(self, issuer: str, now_ms: int) -> Caller:
        """The caller, until the session ends. Raises ``UnauthenticatedError``."""
        if now_ms >= self.until_ms or self.issuer != issuer:
            raise UnauthenticatedError(invalid="the session has ended")
        return Caller(self.name, Role(self.role), self.token)
