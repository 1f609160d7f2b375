"""Settings of ``python -m redrive``: ``REDRIVE_*`` or section ``redrive`` of ``deadwatch.yaml``."""

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict

from deadwatch.contract import topics
from deadwatch.deadletter.settings import DeadLetterSettings
from deadwatch.orders.order import LINGER_MS, REQUEST_TIMEOUT_MS
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.health import HealthSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.engine import checked_url


class RedriveSettings(DeadLetterSettings):
    """Everything that a worker needs to know; how an order is moved stands in the order itself."""

    section: ClassVar[str] = "redrive"
    model_config = SettingsConfigDict(
        env_prefix="REDRIVE_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    name: str = Field(
        "",
        description="The worker's name in the orders and, behind `redrive:`, in `deadwatch_source_up`, one "
        "each; unless set, host and process id, forgotten when it stops or an hour after it was killed.",
    )
    kafka: KafkaConnection = KafkaConnection()
    health: HealthSettings = HealthSettings()
    kafka_cluster: str = Field("default", min_length=1, description="The value of the label kafka_cluster.")
    events_topic: str = Field(topics.EVENTS, pattern=r"^[A-Za-z0-9._-]+$")
    store_url: Annotated[str, AfterValidator(checked_url)] = Field(
        "sqlite:///deadwatch-data/deadwatch.db", repr=False, description="As in `streaming`: the orders."
    )
    dlq_topics: Annotated[tuple[str, ...], AfterValidator(topics.refuse_broken)] = Field(
        topics.DLQ_PATTERNS, description="As in `streaming`: what matches is never a target."
    )
    dlq_topics_deny: tuple[str, ...] = Field((), description="As in `streaming`.")
    targets_allow: Annotated[tuple[str, ...], AfterValidator(topics.refuse_broken)] = Field(
        (".*",), description="Regular expressions; a target matches one of them as a whole."
    )
    lease_ms: int = Field(
        5_000, ge=1_000, le=60_000, description="After this the order of a dead worker is another's."
    )
    poll_interval_ms: int = Field(
        250, ge=10, le=1_000, description="How often a worker looks for orders and for what users want."
    )
    heartbeat_interval_ms: int = Field(5_000, ge=100, le=60_000)
    retry_backoff_ms: int = Field(100, ge=0, description="First wait after a failure (KIP-580).")
    retry_backoff_max_ms: int = Field(5_000, ge=0)
    linger_ms: int = Field(LINGER_MS, ge=0)
    request_timeout_ms: int = Field(REQUEST_TIMEOUT_MS, ge=1)
    policies_interval_ms: int = Field(
        5_000, ge=100, description="How often the policies are looked at for orders that are due."
    )
    policies_max_records: int = Field(
        10_000, ge=1, description="Offsets that an order of a policy covers at most; the next takes the rest."
    )
    otel_endpoint: str = Field(
        "",
        pattern=r"^(https?://.+)?$",
        description="As in `collector`: spans and metrics of the transactions.",
    )
    spark_master: str = Field(
        "local[*,4]",
        description="Where orders whose engine is spark are worked on; executors need this package, the PEM "
        "files and the store.",
    )
    shutdown_graceful_timeout_ms: int = Field(
        700, ge=0, description="How long a transaction may still take after its order was stopped."
    )

    def target_rules(self, named: frozenset[str]) -> TargetRules:
        """Which topics may be targets, but for those of the cluster; ``named`` by others' configurations."""
        return TargetRules({}, self.targets_allow, self.dlq_topics, self.dlq_topics_deny, named)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.lease_ms < 3 * self.poll_interval_ms:
            raise ValueError(
                "lease_ms must be at least 3 * poll_interval_ms: the lease is renewed that often"
            )
        return self
