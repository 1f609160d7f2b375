"""Settings of the collector: ``COLLECTOR_*`` variables, or ``collector:`` in ``deadwatch.yaml``."""

import re
from collections import Counter
from pathlib import Path
from typing import ClassVar, Final, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, Field, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from collector.sources.logs.layout import KNOWN, Layout, configured
from deadwatch.runtime.health import HealthSettings
from deadwatch.runtime.hosts import is_loopback
from deadwatch.runtime.kafka import Topic
from deadwatch.runtime.settings import QuarantineSettings

DEFAULT_NAME: Final = "collector"


def own_source(source: str, collector: str) -> str:
    """The name of a source that every collector has for itself; the default collector is left out."""
    return source if collector == DEFAULT_NAME else f"{source}@{collector}"


NAMELESS: Final = (
    "the broker of jolokia_url {} is called by an address that other machines have, too: set its name, or its"
    " figures are taken for those of another collector's broker"
)


STATIC_BACKOFF: Final = (
    "Configuration 'retry_backoff_ms' with value '{0}' is greater than configuration 'retry_backoff_max_ms'"
    " with value '{1}'. A static backoff with value '{1}' will be applied."
)
"""In the words of Kafka's clients (KIP-580)."""


class LogReading(BaseModel, frozen=True, extra="forbid"):
    """How the lines of a log are read."""

    worker: str = Field(
        "", description="Connect worker that writes them, HOST:PORT; empty: read from the log."
    )
    timezone: str = Field("UTC", description="IANA name of the zone of times that carry none.")
    format: Literal["auto", "text", "cri", "docker", "json"] = Field(
        "auto", description="What the lines are wrapped in; `auto`: detected by each file's first line."
    )
    entry_pattern: str = Field(
        "",
        description="Regular expression of how an entry begins, with a group `time`; empty: known layouts.",
    )
    time_format: str = Field(
        "", description="What `entry_pattern` calls `time`, as Python's strptime has it."
    )

    @field_validator("timezone")
    @classmethod
    def _refuse_unknown_zones(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{timezone!r} is no IANA time zone such as Europe/Berlin") from None
        return timezone

    @model_validator(mode="after")
    def _refuse_unusable_layouts(self) -> Self:
        self.layout()
        return self

    def layout(self) -> Layout:
        """How entries begin; ValueError where ``entry_pattern`` and ``time_format`` cannot be used."""
        if not self.entry_pattern and not self.time_format:
            return KNOWN
        if not self.entry_pattern or not self.time_format:
            raise ValueError("entry_pattern and time_format go together: set both or none")
        return configured(self.entry_pattern, self.time_format)


class LogSettings(LogReading):
    """Log files to follow."""

    path: str = Field(
        min_length=1,
        description="A path or glob, `.gz` included; files may appear later. `-`: standard input.",
    )


class LogTopicSettings(LogReading):
    """A Kafka topic of log lines, as Filebeat, Fluent Bit or Vector fill it."""

    topic: Topic = Field(
        description="A topic with a line in each record, or an object with the line in `message` or `log`."
    )


class ConnectSettings(BaseModel, frozen=True, extra="forbid"):
    """A Connect cluster to watch through REST and, where its workers have an agent, Jolokia."""

    url: str = Field(pattern=r"^https?://", description="REST URL of any worker.")
    name: str = Field("", description="What answers call the cluster; empty: its URL.")
    jolokia_url: str = Field(
        "",
        description="URL template of a worker's agent, {host} and {port} are those of its REST; empty: none.",
    )
    poll_interval_ms: int = Field(1_000, ge=100)
    request_timeout_ms: int = Field(2_000, ge=100)
    tasks_poll_interval_ms: int = Field(
        5_000, ge=0, description="How often errors and progress of the tasks are looked at; 0: never."
    )
    stalled_after_ms: int = Field(
        60_000,
        ge=0,
        description="A task is stalled when records wait and nothing moves for this long; 0: not judged.",
    )
    offset_flush_interval_ms: int = Field(
        60_000, ge=0, description="As the workers have it: how long a sink that gets on may leave its commit."
    )


class BrokerSettings(BaseModel, frozen=True, extra="forbid"):
    """A broker whose share-group meters are read through its Jolokia agent."""

    jolokia_url: str = Field(pattern=r"^https?://", description="URL of the broker's agent.")
    name: str = Field("", description="The value of the label broker; empty: host and port of `jolokia_url`.")
    poll_interval_ms: int = Field(1_000, ge=100)
    request_timeout_ms: int = Field(2_000, ge=100)


class ReceiverSettings(BaseModel, frozen=True, extra="forbid"):
    """Where log shippers and clients send OTLP/HTTP logs and events."""

    enabled: bool = Field(False, description="Listen for `POST /v1/logs` and `POST /v1/events`.")
    host: str = Field("127.0.0.1", description="Address to listen on; loopback only.")
    port: int = Field(4318, ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    hosts: tuple[str, ...] = Field(
        (),
        description="Names in the header Host by which it is asked, besides localhost and 127.0.0.1; "
        "others are refused: a page of a foreign site may resolve its own name to us.",
    )
    max_body_bytes: int = Field(16 << 20, ge=1_024, description="Of one request, uncompressed.")
    body_timeout_ms: int = Field(10_000, ge=1, description="How long a body may take to arrive.")
    commit_timeout_ms: int = Field(
        8_000, ge=1, description="How long an answer waits for Kafka; then 503. Below the shipper's timeout."
    )

    @field_validator("host")
    @classmethod
    def _refuse_public_hosts(cls, host: str) -> str:
        if not is_loopback(host):
            raise ValueError(
                "without authentication the receiver stays on this machine; use 127.0.0.1, ::1 or localhost"
            )
        return host


class CollectorSettings(QuarantineSettings):
    """Everything a collector needs to know; refused at start when it contradicts itself."""

    section: ClassVar[str] = "collector"
    model_config = SettingsConfigDict(env_prefix="COLLECTOR_")

    name: str = Field(
        DEFAULT_NAME,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="One for each process: its transactional id, and part of the names of its log files. "
        "Under another name these are read and counted anew.",
    )
    events_topic_partitions: int = Field(6, ge=1, description="Used only when the topic has to be created.")
    create_topics: bool = Field(True, description="Create `events_topic` when it is missing.")
    data: Path = Field(Path("deadwatch-data"), description="Directory of the positions.")
    logs: tuple[LogSettings, ...] = ()
    log_topics: tuple[LogTopicSettings, ...] = ()
    connect: tuple[ConnectSettings, ...] = ()
    receiver: ReceiverSettings = ReceiverSettings()
    health: HealthSettings = HealthSettings()
    brokers: tuple[BrokerSettings, ...] = ()
    dlq_topics_poll_interval_ms: int = Field(
        10_000, ge=0, description="How often dead letter topics are looked up in Kafka; 0: never."
    )
    dlq_expiry_warning_ms: int = Field(
        86_400_000, ge=0, description="How long before retention may delete a dead letter it is a finding."
    )
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

    task_shutdown_graceful_timeout_ms: int | None = Field(
        None,
        ge=0,
        description="Deprecated: connector_shutdown_graceful_timeout_ms, which wins where both are set.",
    )
    task_timeout_ms: int = Field(
        300_000, ge=0, description="No-progress limit from a source's first timeout (KIP-572); 0 = no retry."
    )
    retries: int | None = Field(None, description="Ignored: task_timeout_ms bounds the retries (KIP-572).")
    log_level: Literal["TRACE", "DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="TRACE logs every call of a source's methods (KIP-611)."
    )

    @property
    def graceful_timeout_ms(self) -> int:
        """How long all sources together may take to stop, by the new name or else the deprecated one."""
        old_ms = self.task_shutdown_graceful_timeout_ms
        if old_ms is None or "connector_shutdown_graceful_timeout_ms" in self.model_fields_set:
            return self.connector_shutdown_graceful_timeout_ms
        return old_ms

    def warnings(self) -> tuple[str, ...]:
        """Warnings about settings that are accepted but deprecated, ignored or misleading."""
        old = "task_shutdown_graceful_timeout_ms is deprecated; set connector_shutdown_graceful_timeout_ms"
        ignored = "retries is ignored; set task_timeout_ms, the time a source may go without progress"
        deprecated = ((self.task_shutdown_graceful_timeout_ms, old), (self.retries, ignored))
        found = [text for value, text in deprecated if value is not None]
        if self.retry_backoff_ms > self.retry_backoff_max_ms:
            found.append(STATIC_BACKOFF.format(self.retry_backoff_ms, self.retry_backoff_max_ms))
        if self.name != DEFAULT_NAME:  # there are others
            nameless = [urlsplit(one.jolokia_url) for one in self.brokers if not one.name]
            shared = [url for url in nameless if is_loopback(url.hostname or "")]
            found += [NAMELESS.format(f"{url.netloc.rpartition('@')[2]}{url.path}") for url in shared]
        return tuple(found)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ValueError("delivery_timeout_ms must be at least linger_ms + request_timeout_ms (KIP-91)")
        for connect in self.connect:
            unknown = re.search(r"\{[^}]*\}?|\}", re.sub(r"\{(host|port)\}", "", connect.jolokia_url))
            if unknown:
                raise ValueError(f"jolokia_url knows {{host}} and {{port}}, not {unknown[0]}")
        return self

    @model_validator(mode="after")
    def _refuse_clusters_that_cannot_be_told_apart(self) -> Self:
        for name, count in Counter(connect.name for connect in self.connect if connect.name).items():
            if count > 1:
                raise ValueError(f"{count} Connect clusters have the name {name!r}; give each its own")
        agents = [connect.jolokia_url for connect in self.connect if "{" not in connect.jolokia_url]
        for count in Counter(filter(None, agents)).values():
            if count > 1:
                raise ValueError(
                    f"a jolokia_url without {{host}} is the agent of one worker, {count} Connect clusters "
                    "have the same; write {host} where the host of a worker's REST belongs"
                )
        return self
