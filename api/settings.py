"""Settings of the api: ``API_*`` variables, or ``api:`` in ``deadwatch.yaml``."""

from typing import ClassVar

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from collector.loopback import is_loopback
from collector.settings_file import ProcessSettings

SQLITE = "sqlite:///"


class ApiSettings(ProcessSettings):
    """Everything the api needs to know; refused at start when it cannot be used."""

    section: ClassVar[str] = "api"
    model_config = SettingsConfigDict(
        env_prefix="API_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    store_url: str = Field("sqlite:///deadwatch-data/deadwatch.db", description="The store streaming writes.")
    host: str = Field("127.0.0.1", description="Address to listen on; loopback only.")
    port: int = Field(8000, ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    kafka_cluster: str = Field("default", min_length=1, description="The cluster's name, for the overview.")
    source_stale_ms: int = Field(15_000, ge=1, description="A source silent for longer counts as down.")

    @field_validator("store_url")
    @classmethod
    def _refuse_other_stores(cls, store_url: str) -> str:
        if not store_url.startswith(SQLITE) or store_url.removeprefix(SQLITE) in {"", ":memory:"}:
            raise ValueError(f"must be a file that streaming writes, {SQLITE}PATH")
        return store_url

    @field_validator("host")
    @classmethod
    def _refuse_public_hosts(cls, host: str) -> str:
        if not is_loopback(host):
            raise ValueError(
                "without authentication the server stays on this machine; use 127.0.0.1, ::1 or localhost"
            )
        return host
