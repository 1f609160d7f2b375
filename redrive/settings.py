"""Settings of ``python -m redrive``: ``REDRIVE_*`` or section ``redrive`` of ``deadwatch.yaml``."""

from typing import ClassVar, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from deadwatch.orders.order import LINGER_MS, REQUEST_TIMEOUT_MS
from deadwatch.runtime.health import HealthSettings
from deadwatch.store.settings import TargetSettings


class RedriveSettings(TargetSettings):
    """Everything that a worker needs to know; how an order is moved stands in the order itself."""

    section: ClassVar[str] = "redrive"
    model_config = SettingsConfigDict(env_prefix="REDRIVE_")

    name: str = Field(
        "",
        description="The worker's name in the orders and, behind `redrive:`, in `deadwatch_source_up`, one "
        "each; unless set, host and process id, forgotten when it stops or an hour after it was killed.",
    )
    health: HealthSettings = HealthSettings()
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
    spark_master: str = Field(
        "local[*,4]",
        description="Where orders whose engine is spark are worked on; executors need this package, the PEM "
        "files and the store.",
    )
    shutdown_graceful_timeout_ms: int = Field(
        700, ge=0, description="How long a transaction may still take after its order was stopped."
    )

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.lease_ms < 3 * self.poll_interval_ms:
            raise ValueError(
                "lease_ms must be at least 3 * poll_interval_ms: the lease is renewed that often"
            )
        return self
