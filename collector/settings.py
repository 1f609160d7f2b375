"""Settings of the collector: ``COLLECTOR_*`` variables, or ``collector:`` in ``deadwatch.yaml``."""

import re
from pathlib import Path
from typing import ClassVar, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from collector.contract import topics
from collector.kafka import KafkaConnection
from collector.settings_file import ProcessSettings


class LogSettings(BaseModel):
    """Log files to follow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(min_length=1, description="A path or glob; files may appear later.")
    worker: str = Field(
        "", description="Connect worker that writes them, HOST:PORT; empty: read from the log."
    )
    timezone: str = Field("UTC", description="IANA name of the zone of times that carry none.")

    @field_validator("timezone")
    @classmethod
    def _refuse_unknown_zones(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{timezone!r} is no IANA time zone such as Europe/Berlin") from None
        return timezone


class ConnectSettings(BaseModel):
    """A Connect cluster to watch through REST and, where its workers have an agent, Jolokia."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(pattern=r"^https?://", description="REST URL of any worker.")
    jolokia_url: str = Field(
        "",
        description="URL template of a worker's agent, {host} and {port} are those of its REST; empty: none.",
    )
    poll_interval_ms: int = Field(1_000, ge=100)
    request_timeout_ms: int = Field(2_000, ge=100)


class CollectorSettings(ProcessSettings):
    """Everything a collector needs to know; refused at start when it contradicts itself."""

    section: ClassVar[str] = "collector"
    model_config = SettingsConfigDict(
        env_prefix="COLLECTOR_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    name: str = Field(
        "collector", pattern=r"^[A-Za-z0-9._-]+$", description="Transactional id: one process each."
    )
    kafka: KafkaConnection = KafkaConnection()
    kafka_cluster: str = Field("default", min_length=1, description="The value of the label kafka_cluster.")
    events_topic: str = topics.EVENTS
    events_topic_partitions: int = Field(6, ge=1, description="Used only when the topic has to be created.")
    create_topics: bool = Field(True, description="Create our own topics when they are missing.")
    data: Path = Field(Path("deadwatch-data"), description="Directory of the positions.")
    logs: tuple[LogSettings, ...] = ()
    connect: tuple[ConnectSettings, ...] = ()
    poll_interval_ms: int = Field(100, ge=10, description="How long a source at its end waits for more.")
    heartbeat_interval_ms: int = Field(5_000, ge=100)
    retry_backoff_ms: int = Field(100, ge=0, description="First wait after a failure (KIP-580).")
    retry_backoff_max_ms: int = Field(1_000, ge=0)
    linger_ms: int = Field(5, ge=0)
    request_timeout_ms: int = Field(30_000, ge=1)
    delivery_timeout_ms: int = Field(120_000, ge=1, description="From send to outcome (KIP-91).")
    connector_shutdown_graceful_timeout_ms: int = Field(
        5_000, ge=0, description="For all sources together, then what still runs is abandoned (KIP-611)."
    )

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ValueError("delivery_timeout_ms must be at least linger_ms + request_timeout_ms (KIP-91)")
        for connect in self.connect:
            unknown = set(re.findall(r"\{(\w*)\}", connect.jolokia_url)) - {"host", "port"}
            if unknown:
                raise ValueError(f"jolokia_url knows {{host}} and {{port}}, not {{{min(unknown)}}}")
        return self
