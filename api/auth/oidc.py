"""JWTs of the identity provider: signature, issuer, audience and times are checked by joserfc.

Only algorithms with a public key are accepted, and the one that the token names must be the one of its key: a
token that is not signed, or signed with a public key as if that were a secret, is refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key
from joserfc.jwt import Claims, JWTClaimsRegistry
from joserfc.registry import Header

from api.auth.identity_provider import IdentityProvider, PublicKeySignatures
from api.auth.role import Role
from api.auth.roles import Caller
from api.auth.settings import OidcSettings
from api.errors import UnauthenticatedError

MALFORMED: Final = (JoseError, ValueError, TypeError, AttributeError, RecursionError)
"""Errors of joserfc for a text that has no readable header, and of claims of any kind."""
MAX_NAME_CHARS: Final = 100
MAX_ROLES: Final = 1_000
WHY: Final = {
    "missing_claim": "the JWT lacks one of exp, iss, aud and sub",
    "expired_token": "the JWT has expired",
    "nbf": "the JWT is not valid yet",
    "iat": "the JWT is not valid yet",
    "aud": "the JWT was made for another audience",
    "iss": "the JWT is of another issuer",
}
"""By joserfc's code of the error, or by the claim that is wrong."""


class JwtVerifier:
    """Verifies JWTs of the identity provider; used by many threads.

    The times in JWTs are compared with the machine's clock.
    """

    def __init__(self, settings: OidcSettings, provider: IdentityProvider) -> None:
        self._settings, self._provider = settings, provider
        self._signatures = PublicKeySignatures(settings.algorithms)
        self._leeway_s = settings.leeway_ms // 1_000

    def caller(self, token: str) -> Caller:
        """The caller that a JWT names.

        Raises ``UnauthenticatedError``: it is not valid; ``IdentityProviderError``: it cannot be checked now.
        """
        return self._caller(self._verified(token, self._settings.audience).claims)

    def signed_in(self, tokens: Mapping[str, Any], nonce: str) -> Caller:
        """The caller by the ID token that a code was exchanged for (OpenID Connect Core, 3.1.3.7).

        Where the ID token has no role, the role of the access token counts, if that would be accepted by the
        api too.

        Raises ``UnauthenticatedError``: one of them is not valid; ``IdentityProviderError``: they cannot be
        checked now.
        """
        settings, token, access = self._settings, str(tokens.get("id_token")), tokens.get("access_token")
        verified = self._verified(token, settings.client_id)
        params = {"nonce": nonce, "client_id": settings.client_id, "access_token": access}
        try:
            CodeIDToken(verified.claims, verified.header, params=params).validate(leeway=self._leeway_s)
        except MALFORMED:
            raise UnauthenticatedError(invalid="the ID token was not made for this sign-in") from None
        who = self._caller(verified.claims)
        if who.role is not None:
            return who
        try:
            other = self.caller(str(access))
        except UnauthenticatedError:  # the access token may be opaque, or for another audience
            return who
        return replace(who, role=other.role) if other.token == who.token else who

    def _caller(self, claims: Claims) -> Caller:
        subject = _name(claims["sub"])
        name = _name(claims.get(self._settings.name_claim)) or subject
        return Caller(name, self._role(claims), f"oidc:{subject}")

    def _verified(self, token: str, audience: str) -> jwt.Token:
        key = self._key(self._header(token))
        needed = JWTClaimsRegistry(
            leeway=self._leeway_s,
            exp={"essential": True},
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": audience},
            sub={"essential": True},
        )
        try:
            verified = jwt.decode(token, key, registry=self._signatures)
            needed.validate(verified.claims)
        except JoseError as error:
            why = WHY.get(error.error) or WHY.get(getattr(error, "claim", ""), "the JWT is not valid")
            raise UnauthenticatedError(invalid=why) from None
        return verified

    def _header(self, token: str) -> Header:
        """The header, which is not verified yet."""
        try:
            header = jws.extract_compact(token.encode(), registry=self._signatures).headers()
            self._signatures.check_header(header)
        except MALFORMED:
            raise UnauthenticatedError(invalid="this is no token, or it was not copied whole") from None
        return header

    def _key(self, header: Header) -> Key:
        if header["alg"] not in self._settings.algorithms:
            raise UnauthenticatedError(invalid="the JWT is not signed with an algorithm that is taken here")
        key = self._provider.key(header.get("kid"), header["alg"])
        if key is None:
            raise UnauthenticatedError(invalid="the JWT is signed with a key that its issuer does not have")
        return key

    def _role(self, claims: Claims) -> Role | None:
        """The highest role that the claim gives; None: no role."""
        value: Any = claims
        for name in self._settings.role_claim.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        mapped = {self._settings.roles.get(name) for name in given[:MAX_ROLES] if isinstance(name, str)}
        return next((role for role in reversed(Role) if role in mapped), None)


def _name(claim: object) -> str:
    """A claim as printable text of bounded length."""
    text = claim if isinstance(claim, str) else ""
    return "".join(char if char.isprintable() else "?" for char in text[:MAX_NAME_CHARS]).strip()
