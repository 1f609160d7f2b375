"""Who shows a JWT of the identity provider: signature, issuer, audience and times checked by PyJWT.

Only algorithms with a public key are taken, and the one the token names has to be the one its key is for: a
token that is not signed, or signed with a public key as if that were a secret, is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import jwt
from authlib.oidc.core import CodeIDToken
from joserfc.errors import JoseError
from jwt import PyJWK
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidTokenError,
    MissingRequiredClaimError,
    PyJWTError,
)

from api.auth import Caller, Role
from api.errors import UnauthenticatedError
from api.jwks import Keys
from api.oidc_settings import OidcSettings

REQUIRED: Final = ("exp", "iss", "aud", "sub")
MAX_NAME_CHARS: Final = 100
MAX_ROLES: Final = 1_000
WHY: Final[Mapping[type[PyJWTError], str]] = {
    ExpiredSignatureError: "the JWT has expired",
    ImmatureSignatureError: "the JWT is not valid yet",
    InvalidAudienceError: "the JWT was made for another audience",
    InvalidIssuerError: "the JWT is of another issuer",
    MissingRequiredClaimError: "the JWT lacks one of exp, iss, aud and sub",
}


class Oidc:
    """Used by many threads; ``steady_ms`` never jumps, the times in JWTs are by the machine's clock."""

    def __init__(self, settings: OidcSettings, steady_ms: Callable[[], int]) -> None:
        self._settings, self._keys = settings, Keys(settings, steady_ms)

    def caller(self, token: str) -> Caller:
        """Who it says.

        Raises:
            UnauthenticatedError: it is not valid.
            IdentityProviderError: whether it is cannot be told now.
        """
        key, _ = self._key(token)
        return self._who(self._claims(token, key, self._settings.audience))

    def signed_in(self, tokens: Mapping[str, Any], nonce: str) -> Caller:
        """Who has signed in: by the ID token that a code was exchanged for (OpenID Connect Core, 3.1.3.7).

        Where it tells no role, the access token may, if it would open the api by itself.

        Raises:
            UnauthenticatedError: one of them is not valid.
            IdentityProviderError: whether they are cannot be told now.
        """
        settings, token, access = self._settings, str(tokens.get("id_token")), tokens.get("access_token")
        key, header = self._key(token)
        claims = self._claims(token, key, settings.client_id)
        told = CodeIDToken(
            claims,
            header,
            params={"nonce": nonce, "client_id": settings.client_id, "access_token": access},
        )
        try:
            told.validate(leeway=settings.leeway_ms // 1_000)
        except JoseError:
            raise UnauthenticatedError(invalid="the ID token was not made for this sign-in") from None
        who = self._who(claims)
        return who if who.role is not None else replace(who, role=self._role_by_access(access, who))

    def _role_by_access(self, access: object, who: Caller) -> Role | None:
        try:
            told = self.caller(str(access))
        except UnauthenticatedError:  # it is not for us to read
            return None
        return told.role if told.token == who.token else None

    def _who(self, claims: Mapping[str, Any]) -> Caller:
        subject = _name(claims["sub"])
        name = _name(claims.get(self._settings.name_claim)) or subject
        return Caller(name, self._role(claims), f"oidc:{subject}")

    def _key(self, token: str) -> tuple[PyJWK, Mapping[str, Any]]:
        """The key that it is signed with, and its header."""
        try:
            header = jwt.get_unverified_header(token)
        except PyJWTError:
            raise UnauthenticatedError(invalid="this is no token, or it was not copied whole") from None
        algorithm = header.get("alg")
        if algorithm not in self._settings.algorithms:
            raise UnauthenticatedError(invalid="the JWT is not signed with an algorithm that is taken here")
        key = self._keys.get(header.get("kid"), algorithm)
        if key is None:
            raise UnauthenticatedError(invalid="the JWT is signed with a key that its issuer does not have")
        return key, header

    def _claims(self, token: str, key: PyJWK, audience: str) -> dict[str, Any]:
        settings = self._settings
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=audience,
                issuer=settings.issuer,
                leeway=settings.leeway_ms / 1_000,
                options={"require": list(REQUIRED)},
            )
        except InvalidTokenError as error:
            why = WHY.get(type(error), "the JWT is not valid")
            raise UnauthenticatedError(invalid=why) from None

    def _role(self, claims: Mapping[str, Any]) -> Role | None:
        """The highest role that the claim gives; None: none."""
        value: Any = claims
        for name in self._settings.role_claim.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        mapped = {self._settings.roles.get(one) for one in given[:MAX_ROLES] if isinstance(one, str)}
        return next((role for role in reversed(Role) if role in mapped), None)


def _name(claim: object) -> str:
    """A claim as people read it."""
    text = claim if isinstance(claim, str) else ""
    return "".join(one if one.isprintable() else "?" for one in text[:MAX_NAME_CHARS]).strip()
