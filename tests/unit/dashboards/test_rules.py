"""Rules as values make them, without Prometheus; what it makes of them is tests/contract/test_alerts.py."""

from typing import Any

import pytest
from pydantic import ValidationError

from dashboards.generate import as_yaml
from dashboards.rules.alert import RulesError
from dashboards.rules.groups import NAMES, rules
from dashboards.rules.values import AlertValues, Values
from deadwatch.contract.signals.signal import Severity


def rule_of(name: str, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        rule for group in made["groups"] for rule in group["rules"] if rule.get("alert") == name
    )
    return found


def test_thresholds_and_switches_are_values() -> None:
    changed = AlertValues.model_validate(
        {"threshold": 7, "window": "3m", "for": "9m", "keep_firing_for": "1h", "severity": "info"}
    )
    made = rules(
        Values(alerts={"DeadwatchDeadLetters": changed, "DeadwatchWatchdog": AlertValues(enabled=False)})
    )
    rule = rule_of("DeadwatchDeadLetters", made)
    assert rule["expr"].endswith("[3m]))) > 7")
    assert (rule["for"], rule["keep_firing_for"], rule["labels"]["severity"]) == ("9m", "1h", "info")
    assert "DeadwatchWatchdog" not in as_yaml(made)


def test_an_alert_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RulesError, match="no alert is called DeadwatchTypo; there are DeadwatchDeadLetters"):
        rules(Values(alerts={"DeadwatchTypo": AlertValues()}))


@pytest.mark.parametrize(
    "wrong",
    [{"alert": {}}, {"alerts": {"DeadwatchDown": {"for": "5 minutes"}}}, {"objective": {"target": 1}}],
    ids=str,
)
def test_a_value_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Values.model_validate(wrong)


def test_severities_are_those_that_routes_know() -> None:
    severities = {
        rule["labels"]["severity"] for group in rules(Values())["groups"] for rule in group["rules"]
    }
    assert severities == {str(severity) for severity in Severity}
    assert len(NAMES) == len(set(NAMES))
