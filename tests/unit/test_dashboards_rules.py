"""Rules by Prometheus' own tool: each alert fires when it must, with the right texts, else is silent."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
import yaml
from pydantic import ValidationError

from dashboards.generate import GENERATED, RULES, as_yaml
from dashboards.rules import objective
from dashboards.rules.alert import RulesError
from dashboards.rules.groups import ALERTS, NAMES, rules
from dashboards.rules.values import AlertValues, Objective, Severity, Values
from tests.unit.promql_cases import BACKLOG, CASES, LETTERS, SENT, STORE, Case

JOB = 'job="deadwatch", instance="a"'

PROMTOOL = shutil.which("promtool") or ""
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed")


def with_job(series: str) -> str:
    """The series as Prometheus stores it."""
    if "instance=" in series:
        return series.replace("{", '{job="deadwatch", ')
    name, _, labels = series.partition("{")
    return f"{name}{{{JOB}, {labels}" if labels else f"{name}{{{JOB}}}"


def rendered(text: str, case: Case) -> str:
    """What Prometheus makes of a template."""
    labels = case.labels or {}
    text = re.sub(r"{{ \$labels\.(\w+) \| urlquery }}", lambda m: quote_plus(labels[m[1]]), text)
    text = re.sub(r"{{ \$labels\.(\w+) }}", lambda m: labels[m[1]], text)
    return re.sub(r"{{ \$value \|[^}]*}}", case.value, text)


def expected(case: Case, rule: dict[str, Any]) -> list[dict[str, Any]]:
    if case.labels is None:
        return []
    annotations = {name: rendered(text, case) for name, text in rule["annotations"].items()}
    if case.summary:
        assert annotations["summary"] == case.summary
    return [{"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": annotations}]


def group(case: Case, rule: dict[str, Any]) -> dict[str, Any]:
    series = {STORE: case.store, **{with_job(name): values for name, values in case.series.items()}}
    return {
        "name": case.name,
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": case.at, "alertname": case.alert, "exp_alerts": expected(case, rule)}
        ],
    }


def promtool(directory: Path, made: dict[str, Any], tests: list[dict[str, Any]]) -> None:
    (directory / "rules.yaml").write_text(as_yaml(made))
    file = directory / "test.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests})
    )
    done = subprocess.run(
        [PROMTOOL, "test", "rules", file.name], cwd=directory, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def rule_of(name: str, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        rule for group in made["groups"] for rule in group["rules"] if rule.get("alert") == name
    )
    return found


@needs_promtool
@pytest.mark.parametrize("name", [alert.name for alert in ALERTS])
def test_the_alert_does_what_its_cases_say(name: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.alert == name]
    assert any(case.labels is not None for case in cases)
    assert name == "DeadwatchWatchdog" or any(case.labels is None for case in cases)
    for window in {case.window for case in cases}:
        said = {name: AlertValues(window=window)} if window else {}
        values = Values(dashboard_url="http://grafana", labels={"team": "kafka"}, alerts=said)
        rule = rule_of(name, rules(values))
        tests = [group(case, rule) for case in cases if case.window == window]
        promtool(tmp_path, {"groups": [{"name": "one", "rules": [rule]}]}, tests)


@needs_promtool
@pytest.mark.parametrize(
    "values", [Values(), Values(objective=Objective(enabled=True))], ids=["plain", "objective"]
)
def test_promtool_finds_nothing_wrong(values: Values, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(as_yaml(rules(values)))
    done = subprocess.run([PROMTOOL, "check", "rules", file], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@needs_promtool
@pytest.mark.parametrize(
    ("handled", "fires"),
    [("0x400", True), ("100x400", False), ("0x165 100x235", False)],
    ids=["late", "in time", "mended"],
)
def test_the_objective_burns_while_dead_letters_are_late(handled: str, fires: bool, tmp_path: Path) -> None:
    values = Values(objective=Objective(enabled=True, hours=1, target=0.9), interval="1m")
    made = rules(values)
    rule = next(r for r in made["groups"][-1]["rules"] if r.get("labels", {}).get("window") == "6h")
    case = Case(objective.NAME, "", {}, "4h", {"kafka_cluster": "c", "dlq_topic": "dlq.a"}, "100%")
    fired = expected(case, rule) if fires else []
    tests = {
        "interval": "1m",
        "input_series": [
            {"series": STORE, "values": "1x400"},
            {"series": with_job(LETTERS), "values": "0x100 100x300"},
            {"series": with_job(BACKLOG), "values": "0x100 100x300"},
            {"series": with_job(SENT), "values": handled},
        ],
        "alert_rule_test": [{"eval_time": "2h50m", "alertname": objective.NAME, "exp_alerts": fired}],
    }
    promtool(tmp_path, {"groups": [_only(made, rule)]}, [tests])


def _only(made: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    """The objective's group with one of its alerts."""
    found = dict(made["groups"][-1])
    found["rules"] = [r for r in found["rules"] if "record" in r or r is rule]
    return found


def test_the_committed_rules_are_up_to_date() -> None:
    committed = yaml.safe_load((GENERATED / RULES).read_text())
    assert committed == rules(Values()), "run: make dashboards"


def test_thresholds_and_switches_are_values() -> None:
    said = AlertValues.model_validate(
        {"threshold": 7, "window": "3m", "for": "9m", "keep_firing_for": "1h", "severity": "info"}
    )
    made = rules(
        Values(alerts={"DeadwatchDeadLetters": said, "DeadwatchWatchdog": AlertValues(enabled=False)})
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
