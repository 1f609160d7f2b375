"""Settings of who may come in: roles, and the OpenID Connect provider (``API_OIDC__*``).

They load no client of a provider: ``deadwatch up`` reads them, and stays in memory.
"""

from typing import Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, model_validator

from api.auth.role import Role
from deadwatch.runtime.hosts import is_loopback

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Those with a public key; one whose key is a shared secret is never taken."""
DEFAULT_ROLES: Final = {
    "deadwatch-viewer": Role.VIEWER,
    "deadwatch-operator": Role.OPERATOR,
    "deadwatch-admin": Role.ADMIN,
}


class OidcSettings(BaseModel, frozen=True, extra="forbid"):
    """An OpenID Connect provider; without ``issuer`` there is none."""

    issuer: str = Field("", description="Exactly as `iss` of its tokens.")
    audience: str = Field("", description="What `aud` of its tokens has to hold.")
    jwks_url: str = Field("", description="Where its keys are; by default as its discovery document says.")
    algorithms: tuple[Algorithm, ...] = Field(
        ("RS256", "ES256"), min_length=1, description="No other is accepted."
    )
    name_claim: str = Field("preferred_username", description="Who it is, for the audit; without it: `sub`.")
    role_claim: str = Field("roles", description="Text or list; of nested ones as `realm_access.roles`.")
    roles: dict[str, Role] = Field(
        DEFAULT_ROLES, description="What a value of that claim is here; the highest one counts."
    )
    leeway_ms: int = Field(30_000, ge=0, le=300_000, description="How much clocks may differ.")
    timeout_ms: int = Field(3_000, ge=100, le=30_000, description="Of asking the provider for anything.")
    client_id: str = Field(
        "", description="As the provider knows the console; with it people sign in there, by its own pages."
    )
    client_secret: SecretStr = Field(
        SecretStr(""), description="What the provider gave the console; none: a public client, by PKCE alone."
    )
    scopes: tuple[str, ...] = Field(
        ("openid", "profile"), description="What is asked for when somebody signs in to the console."
    )
    redirect_uri: str = Field(
        "",
        pattern=r"^(https?://.+/console/sign-in/oidc/back)?$",
        description="As registered at the provider, `https://HOST/console/sign-in/oidc/back`; unless set, of "
        "the address by which the browser has asked.",
    )
    session_ms: int = Field(
        28_800_000,
        ge=60_000,
        le=43_200_000,
        description="How long who signed in there stays signed in, with the role of then.",
    )

    @property
    def enabled(self) -> bool:
        """Whether an identity provider is set up."""
        return bool(self.issuer)

    @property
    def signs_in(self) -> bool:
        """Whether people sign in to the console there."""
        return bool(self.issuer and self.client_id)

    @model_validator(mode="after")
    def _refuse_half_a_provider(self) -> Self:
        given = self.model_fields_set - {"issuer"}
        if not self.issuer and given:
            raise ValueError(f"{min(given)} goes with issuer")
        if self.issuer and not self.audience:
            raise ValueError("audience is needed: else tokens that were made for others would open this")
        if self.client_secret.get_secret_value() and not self.client_id:
            raise ValueError("client_secret goes with client_id")
        if "openid" not in self.scopes:
            raise ValueError("scopes need openid: else the provider does not say who it is")
        for name, url in (("issuer", self.issuer), ("jwks_url", self.jwks_url)):
            if url and not is_tamper_proof(url):
                raise ValueError(
                    f"{name} has to be an https:// address: who answers in its place decides who gets in"
                )
        return self


def is_tamper_proof(url: str) -> bool:
    """Whether nobody on the network can answer in the place of this address: HTTPS, or this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
