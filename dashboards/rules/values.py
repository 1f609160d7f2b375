"""What an installation may set of the rules: thresholds, switches, addresses."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dashboards.promql import Scope

Duration = Annotated[str, StringConstraints(pattern=r"^([0-9]+(ms|[smhdwy]))+$")]
"""As Prometheus writes it: 90s, 15m, 1h30m."""


class Severity(StrEnum):
    """How soon somebody has to look: now, today, when there is time."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Part(BaseModel):
    """Frozen; an unknown key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class AlertValues(Part):
    """What is said of one alert; None: as it comes."""

    enabled: bool = True
    severity: Severity | None = None
    threshold: float | None = Field(None, description="The value above which it fires.")
    window: Duration | None = Field(None, description="How far back it looks.")
    wait: Duration | None = Field(None, alias="for", description="How long it must hold.")
    keep_firing_for: Duration | None = Field(None, description="How long it goes on after it is over.")


class Objective(Part):
    """The objective "a dead letter is handled within so many hours"; off unless enabled."""

    enabled: bool = False
    hours: int = Field(24, ge=1, description="Until then a dead letter is to be put back or parked.")
    target: float = Field(0.99, gt=0, lt=1, description="The share of dead letters that are.")


class Values(Part):
    """All that may be set."""

    job: str = Field(".*deadwatch.*", min_length=1, description="Scrape jobs of Deadwatch, as a pattern.")
    runbook_url: str = Field("docs/runbooks", description="Where the runbooks are; a page for each alert.")
    dashboard_url: str = Field("", description="Address of Grafana, without a slash at the end.")
    labels: Mapping[str, str] = Field(default_factory=dict, description="More labels for every alert.")
    interval: Duration = Field("30s", description="How often rules are evaluated.")
    alerts: Mapping[str, AlertValues] = Field(default_factory=dict, description="By the alert's name.")
    objective: Objective = Objective()

    @property
    def scope(self) -> Scope:
        """The series that the rules read."""
        return Scope({"job": self.job})


UNCHANGED: Final = AlertValues()
