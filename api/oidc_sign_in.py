"""Signing in at the identity provider: the authorization code flow with PKCE (RFC 6749, RFC 7636).

The browser is sent there with what only this attempt knows, and comes back with a code; we exchange the code
for tokens, and what they say is checked by ``api.oidc``. Where the browser goes and who is asked follows from
the settings alone. The protocol's messages are Authlib's.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import httpx2
from authlib.oauth2 import OAuth2Client, OAuth2Error

from api.auth import Caller
from api.discovery import UNREADABLE, Discovery, asked
from api.errors import IdentityProviderError, UnauthenticatedError
from api.oidc import Oidc
from api.oidc_settings import OidcSettings

CHANCE_BYTES: Final = 32
POST: Final = "client_secret_post"
BASIC: Final = "client_secret_basic"


class SignInError(Exception):
    """Nobody has signed in: what the provider has said, or what was wrong with it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What only this browser and we know of its sign-in; ``place`` is where it goes afterwards."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    place: str


class SignIn:
    """Used by many threads."""

    def __init__(self, settings: OidcSettings, oidc: Oidc, discovery: Discovery) -> None:
        self._settings, self._oidc, self._discovery = settings, oidc, discovery

    def begin(self, redirect_uri: str, place: str) -> tuple[str, Attempt]:
        """Where to send the browser, and what to remember until it is back.

        Raises:
            IdentityProviderError: where that is cannot be told now.
        """
        state, nonce, verifier = (secrets.token_urlsafe(CHANCE_BYTES) for _ in range(3))
        attempt = Attempt(state, nonce, verifier, self._settings.redirect_uri or redirect_uri, place)
        address, _ = self._client(attempt).create_authorization_url(
            self._discovery.address("authorization_endpoint"),
            state=attempt.state,
            code_verifier=attempt.verifier,
            nonce=attempt.nonce,
        )
        return str(address), attempt

    def finish(self, attempt: Attempt, back: Mapping[str, str]) -> Caller:
        """Who has signed in; ``back`` is the query that the browser came back with.

        Raises:
            SignInError: the provider says no, or this is no answer to the attempt.
            IdentityProviderError: it cannot be told now.
        """
        if not hmac.compare_digest(back.get("state", "").encode(), attempt.state.encode()):
            raise SignInError("this is no answer to the sign-in that was begun here: begin again")
        if back.get("iss", self._settings.issuer) != self._settings.issuer:  # RFC 9207
            raise SignInError("another identity provider has answered: begin again")
        if "code" not in back:
            raise SignInError(_refusal(back.get("error", ""), back.get("error_description", "")))
        try:
            return self._oidc.signed_in(self._exchanged(attempt, back["code"]), attempt.nonce)
        except UnauthenticatedError as error:
            raise SignInError(f"what the identity provider says is not taken: {error.invalid}") from None

    def _exchanged(self, attempt: Attempt, code: str) -> Mapping[str, Any]:
        try:
            told = self._client(attempt).fetch_token(
                self._discovery.address("token_endpoint"),
                grant_type="authorization_code",
                code=code,
                code_verifier=attempt.verifier,
            )
        except OAuth2Error as error:
            raise SignInError(_refusal(error.error or "", error.description or "")) from None
        except UNREADABLE as error:
            raise IdentityProviderError(
                f"the identity provider does not exchange its code: {type(error).__name__}"
            ) from None
        return dict(told)

    def _client(self, attempt: Attempt) -> OAuth2Client:
        settings = self._settings
        secret = settings.client_secret.get_secret_value()
        return OAuth2Client(
            _Posting(settings.timeout_ms),
            client_id=settings.client_id,
            client_secret=secret or None,
            token_endpoint_auth_method=self._method() if secret else "none",
            scope=" ".join(settings.scopes),
            redirect_uri=attempt.redirect_uri,
            code_challenge_method="S256",
        )

    def _method(self) -> str:
        """How the secret is shown: in the header, unless the provider takes it in the body only."""
        taken = self._discovery.document().get("token_endpoint_auth_methods_supported") or [BASIC]
        return POST if POST in taken and BASIC not in taken else BASIC


@dataclass(frozen=True, slots=True)
class _Posting:
    """Sends what Authlib has written, as everything that is asked of the provider."""

    timeout_ms: int

    def post(
        self,
        url: str,
        data: Mapping[str, str],
        headers: Mapping[str, str],
        auth: Any,  # noqa: ANN401 -- Authlib's
    ) -> httpx2.Response:
        to, said, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        return asked("POST", to, self.timeout_ms, headers=said, body=body)


def _refusal(error: str, description: str) -> str:
    """What the provider says, as one line; the texts are whatever stands in an address."""
    said = ": ".join(part for part in (error, description) if part) or "no code"
    told = "".join(one if one.isprintable() else "?" for one in said[:300])
    return f"the identity provider refuses: {told}"
