"""Rules by Prometheus' own tool: each alert fires when it must, with the right texts, else is silent."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
import yaml

from dashboards.generate import as_yaml
from dashboards.rules import objective
from dashboards.rules.groups import ALERTS, rules
from dashboards.rules.objective import BURNS
from dashboards.rules.values import AlertValues, Objective, Values
from tests.contract.alerts import clients, connect, dead_letters, itself, redrive
from tests.contract.alerts.case import ON_TOPIC, OTHER_STORE, STORE, Case
from tests.contract.alerts.dead_letters import LETTERS, WAITING

CASES = {
    name: cases
    for kind in (dead_letters, connect, clients, redrive, itself)
    for name, cases in kind.CASES.items()
}
JOB = 'job="deadwatch", instance="a"'
DUE = "163m"
"""Dead letters of minute 100 are late since minute 160; every window still sees that they came."""
COURSES = {
    "late": ("0x100 100x300", "0x100 100x300", True),
    "late, and the first of their topic": ("_x101 100x300", "_x101 100x300", True),
    "in time, and the first of their topic": ("_x101 100x300", "_x101 100x9 0x290", False),
    "in time": ("0x100 100x300", "0x100 100x9 0x290", False),
    "in time, after others were lost": ("50x100 150x300", "0x100 100x9 0x290", False),
    "mended": ("0x100 100x300", "0x100 100x60 0x239", False),
    "idle": ("100x400", "0x400", False),
}
"""What arrives, what waits, and whether the objective burns then."""
EVERY = {"DeadwatchDeadLetterTooOld": "5m"}
"""How often a rule is evaluated whose cases take days; any other is each minute."""

PROMTOOL = shutil.which("promtool") or ""
pytestmark = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed")


def with_job(series: str) -> str:
    """The series as Prometheus stores it."""
    if "instance=" in series:
        return series.replace("{", '{job="deadwatch", ')
    name, _, labels = series.partition("{")
    return f"{name}{{{JOB}, {labels}" if labels else f"{name}{{{JOB}}}"


def rendered(text: str, case: Case) -> str:
    """What Prometheus makes of a template."""
    labels = case.labels or {}
    text = re.sub(r"{{ \$labels\.(\w+) \| urlquery }}", lambda m: quote_plus(labels.get(m[1], "")), text)
    text = re.sub(r"{{ or \$labels\.(\w+) \"(.+?)\" }}", lambda m: labels.get(m[1], m[2]), text)
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
            {"eval_time": case.at, "alertname": rule["alert"], "exp_alerts": expected(case, rule)}
        ],
    }


def promtool(directory: Path, made: dict[str, Any], tests: list[dict[str, Any]], every: str = "1m") -> None:
    (directory / "rules.yaml").write_text(as_yaml(made))
    file = directory / "test.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": every, "tests": tests})
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


@pytest.mark.parametrize("name", [alert.name for alert in ALERTS])
def test_the_alert_does_what_its_cases_say(name: str, tmp_path: Path) -> None:
    cases = CASES[name]
    assert any(case.labels is not None for case in cases)
    assert name == "DeadwatchWatchdog" or any(case.labels is None for case in cases)
    for window in {case.window for case in cases}:
        overrides = {name: AlertValues(window=window)} if window else {}
        values = Values(dashboard_url="http://grafana", labels={"team": "kafka"}, alerts=overrides)
        rule = rule_of(name, rules(values))
        tests = [group(case, rule) for case in cases if case.window == window]
        made = {"groups": [{"name": "one", "rules": [rule]}]}
        promtool(tmp_path, made, tests, EVERY.get(name, "1m"))


def test_rules_of_a_namespace_leave_others_alone_but_not_what_has_none(tmp_path: Path) -> None:
    rule = rule_of("DeadwatchStoreUnreadable", rules(Values(namespace="mine")))
    series = [with_job(OTHER_STORE).replace("other", where) for where in ("mine", "other")]
    fired = [{"job": "deadwatch"}, {"job": "deadwatch", "namespace": "mine"}]
    test = {
        "interval": "1m",
        "input_series": [{"series": one, "values": "0x60"} for one in (STORE, *series)],
        "alert_rule_test": [
            {
                "eval_time": "9m",
                "alertname": rule["alert"],
                "exp_alerts": [
                    alert for labels in fired for alert in expected(Case("", {}, "9m", labels, "0"), rule)
                ],
            }
        ],
    }
    promtool(tmp_path, {"groups": [{"name": "one", "rules": [rule]}]}, [test])


@pytest.mark.parametrize(
    "values", [Values(), Values(objective=Objective(enabled=True))], ids=["plain", "objective"]
)
def test_promtool_finds_nothing_wrong(values: Values, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(as_yaml(rules(values)))
    done = subprocess.run([PROMTOOL, "check", "rules", file], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(("arrived", "waiting", "burns"), COURSES.values(), ids=COURSES)
def test_the_objective_burns_over_all_windows_while_dead_letters_are_late(
    arrived: str, waiting: str, burns: bool, tmp_path: Path
) -> None:
    made = rules(Values(objective=Objective(enabled=True, hours=1), interval="1m"))
    group = made["groups"][-1]
    alerts = [rule for rule in group["rules"] if rule.get("alert") == objective.NAME]
    labels = [{"severity": str(burn.severity), "window": burn.long} for burn in BURNS]
    assert [rule["labels"] for rule in alerts] == labels
    late = Case("", {}, DUE, {"job": "deadwatch", **ON_TOPIC}, "100%")
    fired = [one for rule in alerts for one in expected(late, rule)]
    series = {STORE: "1x400", with_job(LETTERS): arrived, with_job(WAITING): waiting}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": DUE, "alertname": objective.NAME, "exp_alerts": fired if burns else []}
        ],
    }
    promtool(tmp_path, {"groups": [group]}, [test])
