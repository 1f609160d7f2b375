"""All rules as Prometheus reads them; a file and the chart's PrometheusRule are made by the same function."""

from typing import Any, Final

from dashboards.rules import clients, connect, dead_letters, itself, objective, redrive
from dashboards.rules.alert import Alert, RulesError, rule
from dashboards.rules.values import Values

GROUPS: Final[dict[str, tuple[Alert, ...]]] = {
    "deadwatch-dead-letters": dead_letters.ALERTS,
    "deadwatch-connect": connect.ALERTS,
    "deadwatch-clients": clients.ALERTS,
    "deadwatch-redrive": redrive.ALERTS,
    "deadwatch-itself": itself.ALERTS,
}
ALERTS: Final = tuple(alert for alerts in GROUPS.values() for alert in alerts)
NAMES: Final = (*(alert.name for alert in ALERTS), objective.NAME)


def rules(values: Values) -> dict[str, Any]:
    """``{"groups": [...]}`` for a rules file, or for ``spec`` of a PrometheusRule.

    Raises:
        RulesError: a value is for an alert that does not exist.
    """
    if unknown := set(values.alerts) - set(NAMES):
        raise RulesError(f"no alert is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    groups = []
    for name, alerts in GROUPS.items():
        made = [rule(alert, values) for alert in alerts]
        groups.append(_group(name, [each for each in made if each is not None], values))
    if values.objective.enabled:
        watched = [*objective.recorded(values), *objective.alerts(values)]
        groups.append(_group("deadwatch-objective", watched, values))
    return {"groups": [group for group in groups if group["rules"]]}


def _group(name: str, made: list[dict[str, Any]], values: Values) -> dict[str, Any]:
    return {"name": name, "interval": values.interval, "rules": made}
