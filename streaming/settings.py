"""Settings of ``python -m streaming``: ``STREAMING_*`` or section ``streaming`` of ``deadwatch.yaml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from deadwatch.runtime.health import HealthSettings
from deadwatch.runtime.settings import QuarantineSettings
from deadwatch.store.settings import StoreSettings

RESULTS_DEPEND_ON = frozenset(
    {
        "spark.sql.ansi.enabled",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.session.timeZone",
        "spark.jars",
        "spark.master",
        "spark.redaction.regex",
    }
)
"""Settings of Spark that are ours."""


def check_ui(spark: Mapping[str, str]) -> None:
    """Raise ``ValueError`` where Spark's UI is shown on a port that Spark does not take: it ends at once."""
    port = spark.get("spark.ui.port", "0").strip()
    is_number = port.lstrip("+-").isdecimal()  # Spark reads variables too, and says what is none
    is_shown = spark["spark.ui.enabled"].lower() == "true"
    if is_shown and is_number and int(port) not in {0, *range(1_024, 65_536)}:
        raise ValueError("spark.ui.port is none from 1024 to 65535: set ui_port instead")


class StreamingSettings(StoreSettings, QuarantineSettings):
    """Everything the query needs to know; refused at start when it contradicts itself."""

    section: ClassVar[str] = "streaming"
    model_config = SettingsConfigDict(env_prefix="STREAMING_")

    health: HealthSettings = HealthSettings()
    store_backups: int = Field(
        7, ge=0, description="Backups of a SQLite store that are kept beside it, one a day; 0: none is made."
    )
    store_check_interval_ms: int = Field(
        3_600_000, ge=0, description="How often a SQLite store is looked through for damage; 0: never."
    )
    checkpoint: Path = Field(
        Path("deadwatch-data/checkpoint"),
        description="Where Spark's files of a running query are; nothing in it has to be kept.",
    )
    master: str = Field(
        "local[3]",
        description="Spark master: local[CORES], spark://HOST:PORT, k8s://URL, yarn (docs/scaling.md);"
        " empty: the one of spark-submit. Events and dead letters each leave one core to the other.",
    )
    jars: tuple[str, ...] = Field(
        (),
        description="Where executors find the jars of Spark's Kafka source, as URIs; unless set, the driver"
        " hands out those that `python -m jars` has resolved.",
    )
    ui_port: int | None = Field(
        None, ge=1_024, le=65_535, description="Port of Spark's UI and of its own metrics; unless set: none."
    )
    spark: dict[str, str] = Field(
        {},
        repr=False,
        description="Further settings of Spark by its own names, as `spark.executor.memory`; what results"
        " depend on is refused.",
    )
    driver_memory: str = Field("2g", pattern=r"^[0-9]+[kmgt]$")
    max_offsets_per_trigger: int = Field(1_000_000, ge=1, description="Events of one batch at most.")
    max_dead_letters_per_trigger: int = Field(
        100_000,
        ge=1,
        description="Dead letters of one batch at most. More: a flood is read sooner, with more memory.",
    )
    topics_poll_interval_ms: int = Field(
        5_000, ge=100, description="How often the ends of the topics are looked at."
    )
    trigger_interval_ms: int = Field(0, ge=0, description="0: a batch follows the one before at once.")
    samples_per_group: int = Field(5, ge=0, description="Records kept of every group of dead letters.")
    sample_payloads: bool = Field(
        default=True,
        description="Whether the store keeps the beginning of a sample's key and value, and all headers; "
        "if not, their lengths, and the headers that describe the failure.",
    )
    max_series: int = Field(10_000, ge=1, description="Rows of one counter; beyond, labels become 'other'.")
    max_bucketed_series: int = Field(
        200, ge=1, description="Series of one counter with time buckets; the rest has those of 'other'."
    )
    max_groups: int = Field(5_000, ge=1, description="Groups of dead letters; beyond, they become 'other'.")
    heartbeat_interval_ms: int = Field(
        5_000, ge=100, le=60_000, description="Twice this, a stream on another machine is taken for dead."
    )
    retry_backoff_ms: int = Field(100, ge=0, description="First wait after a failure (KIP-580).")
    retry_backoff_max_ms: int = Field(5_000, ge=0)
    request_timeout_ms: int = Field(5_000, ge=100, description="Of one request to a broker.")
    default_api_timeout_ms: int = Field(10_000, ge=100, description="Of one call, its retries included.")

    @property
    def store_limits(self) -> dict[str, Any]:
        """How much the store keeps, as arguments of ``Store``."""
        return self.model_dump(
            include={"max_series", "max_groups", "samples_per_group", "max_bucketed_series"}
        )

    @field_validator("spark")
    @classmethod
    def _refuse_what_results_depend_on(cls, spark: dict[str, str]) -> dict[str, str]:
        for name in spark:
            if not name.startswith("spark."):
                raise ValueError(f"{name} is no setting of Spark: they begin with spark.")
            if name in RESULTS_DEPEND_ON:
                raise ValueError(f"{name} is not to be set: the figures depend on it")
        return spark

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.default_api_timeout_ms < self.request_timeout_ms:
            raise ValueError("default_api_timeout_ms must be at least request_timeout_ms")
        check_ui({"spark.ui.enabled": str(self.ui_port is not None), **self.spark})
        if self.spark.get("spark.port.maxRetries", "").strip().startswith("-"):
            raise ValueError("spark.port.maxRetries must not be negative: Spark would try no port at all")
        return self
