"""Settings of the api: ``API_*`` variables, or ``api:`` in ``deadwatch.yaml``."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from api.browsing.registry import SchemaRegistry
from collector.contract import topics
from collector.kafka import KafkaConnection
from collector.loopback import is_loopback
from collector.settings_file import ProcessSettings
from streaming.store.urls import checked


class ApiSettings(ProcessSettings):
    """Everything the api needs to know; refused at start when it cannot be used."""

    section: ClassVar[str] = "api"
    model_config = SettingsConfigDict(
        env_prefix="API_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    store_url: str = Field(
        "sqlite:///deadwatch-data/deadwatch.db", repr=False, description="The store streaming writes."
    )
    host: str = Field("127.0.0.1", description="Address to listen on; loopback only.")
    port: int = Field(8000, ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    kafka_cluster: str = Field("default", min_length=1, description="The cluster's name, for the overview.")
    source_stale_ms: int = Field(15_000, ge=1, description="A source silent for longer counts as down.")
    kafka: KafkaConnection = KafkaConnection()
    dlq_topics: tuple[str, ...] = Field(
        topics.DLQ_PATTERNS, description="As in `streaming`: what may be re-driven, and is never a target."
    )
    dlq_topics_deny: tuple[str, ...] = Field((), description="As in `streaming`.")
    targets_allow: tuple[str, ...] = Field(
        (".*",), description="Regular expressions; a target of a redrive matches one of them as a whole."
    )
    redrive_scan_max_records: int = Field(
        200_000, ge=1, description="Records that are read at most to say what a redrive would do."
    )
    redrive_scan_timeout_ms: int = Field(
        8_000, ge=100, description="How long that reading may take; then its numbers are `at least`."
    )
    redrive_max_unconfirmed: int = Field(
        10_000, ge=0, description="A redrive that moves more needs `confirm` with the number."
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
    unmask_role: Literal["viewer", "operator", "admin"] = Field(
        "operator", description="Who may see payloads, and filter by them: this role and those above."
    )
    schema_registry: SchemaRegistry | None = Field(
        None, description="Where schemas of Avro payloads are; without, such payloads are shown as bytes."
    )

    @field_validator("dlq_topics", "targets_allow")
    @classmethod
    def _refuse_broken_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return topics.refuse_broken(patterns)

    @field_validator("store_url")
    @classmethod
    def _refuse_other_stores(cls, store_url: str) -> str:
        return checked(store_url)

    @field_validator("host")
    @classmethod
    def _refuse_public_hosts(cls, host: str) -> str:
        if not is_loopback(host):
            raise ValueError(
                "without authentication the server stays on this machine; use 127.0.0.1, ::1 or localhost"
            )
        return host
