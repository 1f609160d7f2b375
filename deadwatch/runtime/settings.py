"""Settings that several processes have, described and checked in one place."""

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from deadwatch.contract import quarantine, topics
from deadwatch.runtime.kafka import KafkaConnection, Topic
from deadwatch.runtime.logs import LogFormat

TopicPatterns = Annotated[tuple[str, ...], AfterValidator(topics.refuse_broken)]
"""Regular expressions of which one matches a topic as a whole."""


class ProcessSettings(BaseSettings):
    """Base of the settings of one process; ``section`` is its name: in the file, as its variables' prefix, as
    the module that ``python -m`` runs.
    """

    section: ClassVar[str]
    model_config = SettingsConfigDict(env_nested_delimiter="__", frozen=True, extra="forbid")

    log_format: LogFormat = Field("text", description="`json`: an object a line, for machines.")
    kafka: KafkaConnection = KafkaConnection()
    kafka_cluster: str = Field("default", min_length=1, description="The value of the label kafka_cluster.")
    events_topic: Topic = Field(topics.EVENTS, description="What collectors and redrives tell streaming.")
    dlq_topics: TopicPatterns = Field(
        topics.DLQ_PATTERNS,
        description="Topics of dead letters, as regular expressions valid in Java and Python; matched as a "
        "whole. Said once, at the top level, all processes agree on them.",
    )
    dlq_topics_deny: tuple[str, ...] = Field((), description="Names of topics that have none nevertheless.")
    otel_endpoint: str = Field(
        "",
        pattern=r"^(https?://.+)?$",
        repr=False,  # it may hold a name and a password
        description="Where our own metrics and traces go by OTLP/HTTP, `http://HOST:4318`; empty: to"
        " `OTEL_EXPORTER_OTLP_ENDPOINT` where that is set, else nowhere.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment stands above the file, which ``load`` hands over as arguments."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings


class QuarantineSettings(ProcessSettings):
    """Settings of a process that keeps what it refuses in a dead letter queue of our own."""

    quarantine_topic: Topic = Field(
        topics.OWN_DLQ, description="Where events go that cannot be read or published."
    )
    quarantine_topic_prefix: str = Field(
        quarantine.PREFIX,
        description="What `quarantine_topic` has to begin with; empty: anything (KIP-1191).",
    )
    quarantine_auto_create_topics_enable: bool = Field(
        False,
        description="Create `quarantine_topic` when it is missing; `deadwatch up` says true (KIP-1191).",
    )
    quarantine_copy_record_enable: bool = Field(
        False, description="Copy the record there, not only its context in headers (KIP-1191)."
    )

    @model_validator(mode="after")
    def _refuse_names_of_the_quarantine(self) -> Self:
        quarantine.refuse_name(self.quarantine_topic, self.quarantine_topic_prefix)
        if self.events_topic == self.quarantine_topic:
            raise ValueError("events_topic and quarantine_topic must differ: what is refused would come back")
        return self
