"""What an installation may set of the rules: thresholds, switches, addresses."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat, StringConstraints

from dashboards.promql import Scope
from deadwatch.contract.signals.signal import Severity

Duration = Annotated[str, StringConstraints(pattern=r"^([0-9]+(ms|[smhdwy]))+$")]
"""As Prometheus writes it: 90s, 15m, 1h30m."""


class _Model(BaseModel, frozen=True, extra="forbid", populate_by_name=True):
    """The base of all values: frozen, and an unknown key is refused."""


class AlertValues(_Model):
    """The values of one alert; None keeps the default of the alert."""

    enabled: bool = True
    severity: Severity | None = None
    threshold: FiniteFloat | None = Field(None, description="The value above which it fires.")
    window: Duration | None = Field(None, description="How far back it looks.")
    wait: Duration | None = Field(None, alias="for", description="How long it must hold.")
    keep_firing_for: Duration | None = Field(None, description="How long it goes on after it is over.")


class Objective(_Model):
    """The objective "a dead letter is handled within so many hours"; off unless enabled."""

    enabled: bool = False
    hours: int = Field(24, ge=1, description="Until then a dead letter is to be put back or parked.")
    target: float = Field(0.99, gt=0, lt=1, description="The share of dead letters that are.")


class Values(_Model):
    """All values that an installation may set."""

    job: str = Field(".*deadwatch.*", min_length=1, description="Scrape jobs of Deadwatch, as a pattern.")
    namespace: str = Field("", description="Their namespace in Kubernetes, as a pattern; empty: any.")
    runbook_url: str = Field("docs/runbooks", description="Where the runbooks are; a page for each alert.")
    dashboard_url: str = Field("", description="Address of Grafana, without a slash at the end.")
    labels: Mapping[str, str] = Field(default_factory=dict, description="More labels for every alert.")
    interval: Duration = Field("30s", description="How often rules are evaluated.")
    alerts: Mapping[str, AlertValues] = Field(default_factory=dict, description="By the alert's name.")
    objective: Objective = Objective()

    @property
    def scope(self) -> Scope:
        """The series that the rules read; one without a namespace is read as well."""
        return Scope({"job": self.job} | ({"namespace": f"{self.namespace}|"} if self.namespace else {}))
