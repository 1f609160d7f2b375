"""Settings of the api: ``API_*`` variables, or ``api:`` in ``deadwatch.yaml``."""

from pathlib import Path
from typing import ClassVar, Final, Literal, Self

import httpx2
from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from api.auth.settings import OidcSettings
from deadwatch.runtime.hosts import is_loopback
from deadwatch.store.settings import TargetSettings

MIN_PEPPER_CHARS: Final = 32


class SchemaRegistry(BaseModel, frozen=True, extra="forbid"):
    """A schema registry of Confluent's API."""

    url: str = Field(description="HTTP(S) address; a path is kept.", examples=["http://127.0.0.1:8081"])
    username: str | None = Field(None, description="For basic authentication.")
    password: SecretStr | None = None
    ca_location: Path | None = Field(None, description="PEM file of the authorities that sign its address.")
    timeout_ms: int = Field(2_000, ge=10, description="Of one question.")

    @field_validator("url")
    @classmethod
    def _refuse_other_urls(cls, url: str) -> str:
        parsed = httpx2.URL(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.userinfo:
            raise ValueError("must be http(s)://HOST…; name and password are settings of their own")
        return url.rstrip("/")


class ApiSettings(TargetSettings):
    """Everything the api needs to know; refused at start when it cannot be used."""

    section: ClassVar[str] = "api"
    model_config = SettingsConfigDict(env_prefix="API_")

    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address to listen on; one that others reach needs `token_pepper`.",
    )
    port: int = Field(8000, ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    source_stale_ms: int = Field(15_000, ge=1, description="A source silent for longer counts as down.")
    redrive_scan_max_records: int = Field(
        200_000, ge=1, description="Records that are read at most to say what a redrive would do."
    )
    redrive_scan_timeout_ms: int = Field(
        8_000, ge=100, description="How long that reading may take; then its numbers are `at least`."
    )
    redrive_max_unconfirmed: int = Field(
        10_000, ge=0, description="A redrive that moves or parks more needs `confirm` with the number."
    )

    browse_max_records: int = Field(
        50_000, ge=1, description="Records of Kafka that are read at most for one page of records."
    )
    browse_max_bytes: int = Field(
        67_108_864,
        ge=1,
        description="Bytes of keys and values that are read at most for one page of records.",
    )
    browse_timeout_ms: int = Field(
        8_000, ge=100, description="How long that reading may take; a page then holds what was found."
    )
    browse_max_readers: int = Field(4, ge=1, le=30, description="How many may read Kafka at one time.")
    browse_max_payload_bytes: int = Field(
        65_536, ge=16, le=8_388_608, description="Of a key, value or header that is shown; the rest is cut."
    )
    browse_download_max_records: int = Field(
        100_000, ge=1, description="Records of a download; it ends with the cursor of the rest."
    )
    live_interval_ms: int = Field(1_000, ge=100, description="How often the store is read for live events.")
    live_max_clients: int = Field(
        400,
        ge=1,
        description="How many may watch live events at one time; one caller, or all anonymous ones together, "
        "have at most half of the places.",
    )
    unmask_role: Literal["viewer", "operator", "admin"] = Field(
        "operator", description="Who may see payloads, and filter by them: this role and those above."
    )
    schema_registry: SchemaRegistry | None = Field(
        None, description="Where schemas of Avro payloads are; without, such payloads are shown as bytes."
    )

    token_pepper: SecretStr = Field(
        SecretStr(""),
        description="Secret of 32 characters or more, with which tokens are digested; another one makes all "
        "tokens invalid.",
    )
    local_token_file: Path | None = Field(
        None, description="Holds an operator's token for this machine; `deadwatch up` makes it."
    )
    anonymous: Literal["local", "nothing", "metrics", "reads"] = Field(
        "local",
        description="What may be read without a token: all from this machine, where `host` is loopback; "
        "nothing, not even from this machine, as behind a proxy on it; `/metrics` alone; everything.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses of proxies whose `X-Forwarded-For` is believed."
    )

    session_idle_ms: int = Field(
        7_200_000,
        ge=60_000,
        le=43_200_000,
        description="A session of the console ends when no page of it was opened for so long; after 12 hours "
        "in any case.",
    )
    max_body_bytes: int = Field(1_048_576, ge=1_024, description="A longer body of a request is refused.")
    audit_retention_days: int = Field(365, ge=1, description="An entry of the audit is kept for so long.")

    oidc: OidcSettings = OidcSettings()

    @field_validator("token_pepper")
    @classmethod
    def _refuse_short_peppers(cls, pepper: SecretStr) -> SecretStr:
        if 0 < len(pepper.get_secret_value()) < MIN_PEPPER_CHARS:
            raise ValueError(f"is shorter than {MIN_PEPPER_CHARS} characters: openssl rand -hex 32 makes one")
        return pepper

    @model_validator(mode="after")
    def _refuse_public_without_authentication(self) -> Self:
        authenticated = self.token_pepper.get_secret_value() or self.oidc.enabled
        if not is_loopback(self.host) and not authenticated:
            raise ValueError(
                f"host {self.host} is reached from other machines, which needs authentication: set "
                "API_TOKEN_PEPPER (openssl rand -hex 32 makes one) or API_OIDC__ISSUER, or stay on 127.0.0.1 "
                "(API_HOST)"
            )
        return self
