"""Rules as values make them, without Prometheus; what it makes of them is tests/contract/test_alerts.py."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dashboards.__main__ import app
from dashboards.generate import as_yaml
from dashboards.rules.groups import NAMES, rules
from dashboards.rules.values import AlertValues, Objective, Values
from deadwatch.contract.signals.signal import Severity
from tests.paths import ROOT
from tests.tables import named


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


BAD_VALUES = [
    ("no YAML", b"alerts: [", "while parsing"),
    ("a key twice", b"alerts: {}\nalerts: {}", "line 2: alerts stands twice"),
    ("no text", b"\xff\xfe", "can't decode byte"),
    ("a list", b"- 1", "a valid dictionary"),
    ("no such value", b"alert: {}", "alert: Extra inputs are not permitted"),
    (
        "no duration",
        b"alerts: {DeadwatchDown: {for: 5 minutes}}",
        "alerts.DeadwatchDown.for: String should",
    ),
    (
        "no number",
        b"alerts: {DeadwatchDown: {threshold: .nan}}",
        "threshold: Input should be a finite",
    ),
    ("no share", b"objective: {target: 1}", "objective.target: Input should be less than 1"),
    ("no such alert", b"alerts: {Typo: {}}", "no alert is called Typo; there are DeadwatchDeadLetters"),
]


@pytest.mark.parametrize(("content", "complaint"), named(BAD_VALUES))
def test_a_file_of_values_that_cannot_be_used_is_refused(
    content: bytes, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_bytes(content)
    refused = CliRunner().invoke(app, ["rules", "--values", str(file)])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"dashboards: {file}: ")
    assert refused.stderr.count("\n") == 1
    assert complaint in refused.stderr


def test_severities_are_those_that_routes_know_and_only_the_watchdog_asks_nobody_to_look() -> None:
    """One of severity info would be inhibited by kube-prometheus-stack, which is to say that none arrives."""
    made = [rule for group in rules(Values())["groups"] for rule in group["rules"]]
    severities = {rule["labels"]["severity"] for rule in made}
    assert severities == {str(severity) for severity in Severity}
    schema = json.loads((ROOT / "helm" / "deadwatch" / "values.schema.json").read_text())
    assert set(schema["$defs"]["alert"]["properties"]["severity"]["enum"]) == severities
    quiet = [rule["alert"] for rule in made if rule["labels"]["severity"] == Severity.NONE]
    assert quiet == ["DeadwatchWatchdog"]
    assert len(NAMES) == len(set(NAMES))


def test_every_rule_of_a_namespace_reads_that_namespace() -> None:
    made = rules(Values(namespace="mine", objective=Objective(enabled=True)))
    every = [rule for group in made["groups"] for rule in group["rules"]]
    assert len(every) > len(NAMES)
    for rule in every:
        assert rule.get("alert") == "DeadwatchWatchdog" or 'namespace=~"mine|"' in rule["expr"], rule
