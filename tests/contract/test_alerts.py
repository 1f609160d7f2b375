"""Rules by Prometheus' own tool: each alert fires when it must, with the right texts, else is silent."""

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
import yaml

from dashboards.generate import as_yaml
from dashboards.rules import objective
from dashboards.rules.groups import ALERTS, rules
from dashboards.rules.values import AlertValues, Objective, Values
from tests.command_line import succeeded
from tests.contract.alerts import clients, connect, dead_letters, itself, redrive
from tests.contract.alerts.case import ON_TOPIC, STORE, Case
from tests.contract.alerts.dead_letters import ARCHIVED, LETTERS, WAITING
from tests.unit.dashboards.test_rules import rule_of

CASES = {
    name: cases
    for kind in (dead_letters, connect, clients, redrive, itself)
    for name, cases in kind.CASES.items()
}
JOB = 'job="deadwatch", instance="a"'
DUE = "163m"
"""Dead letters of minute 100 are late since minute 160; every window still sees that they came."""
COURSES = {
    "late": ("0x100 100x300", "0x100 100x300", "", True),
    "late, beside more that came long before": ("0x9 400x90 500x300", "0x9 400x90 500x300", "", True),
    "late, and the first of their topic": ("_x101 100x300", "_x101 100x300", "", True),
    "in time, and the first of their topic": ("_x101 100x300", "_x101 100x9 0x290", "", False),
    "in time": ("0x100 100x300", "0x100 100x9 0x290", "", False),
    "in time, after others were lost": ("50x100 150x300", "0x100 100x9 0x290", "", False),
    "archived": ("0x100 100x300", "0x400", "0x100 100x300", False),
    "fixed": ("0x100 100x300", "0x100 100x60 0x239", "", False),
    "idle": ("100x400", "0x400", "", False),
}
"""What arrives, what waits, of archived causes too, and whether the objective burns then."""
LAST_DUE = 4405
"""The minute of the last time that runs out, after three days of 1000 in each five minutes."""
PAGE_1H, PAGE_6H, TICKET_1D, TICKET_3D = (
    f'{{severity="{severity}", window="{window}"}}'
    for severity, window in (("critical", "1h"), ("critical", "6h"), ("warning", "1d"), ("warning", "3d"))
)
BURNING = [
    ("14.4 % of an hour", -25, 1_728, ()),
    ("more of an hour", -20, 1_729, (PAGE_1H,)),
    ("6 % of six hours", -15, 4_320, (PAGE_1H,)),
    ("more of six hours", -10, 4_321, (PAGE_1H, PAGE_6H)),
    ("3 % of a day, 1 % of three", -5, 8_640, (PAGE_1H, PAGE_6H)),
    ("more of a day and of three", 0, 8_641, (PAGE_1H, PAGE_6H, TICKET_1D, TICKET_3D)),
    ("none more for 5 minutes", 5, 8_641, (PAGE_6H, TICKET_1D, TICKET_3D)),
    ("for less than 30 minutes", 25, 8_641, (PAGE_6H, TICKET_1D, TICKET_3D)),
    ("for 30 minutes", 30, 8_641, (TICKET_1D, TICKET_3D)),
    ("for less than 2 hours", 115, 8_641, (TICKET_1D, TICKET_3D)),
    ("for 2 hours", 120, 8_641, (TICKET_3D,)),
    ("for less than 6 hours", 355, 8_641, (TICKET_3D,)),
    ("for 6 hours", 360, 8_641, ()),
]
"""How many are late, minutes after the last time ran out, and what fires: the SRE workbook's own table."""
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
    succeeded(PROMTOOL, "test", "rules", file.name, cwd=directory)


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


@pytest.mark.parametrize(
    "values", [Values(), Values(objective=Objective(enabled=True))], ids=["plain", "objective"]
)
def test_promtool_finds_nothing_wrong(values: Values, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(as_yaml(rules(values)))
    succeeded(PROMTOOL, "check", "rules", file)


@pytest.mark.parametrize(("arrived", "waiting", "archived", "burns"), COURSES.values(), ids=COURSES)
def test_the_objective_burns_over_all_windows_while_dead_letters_are_late(
    arrived: str, waiting: str, archived: str, burns: bool, tmp_path: Path
) -> None:
    made = rules(Values(objective=Objective(enabled=True, hours=1), interval="1m"))
    group = made["groups"][-1]
    alerts = [rule for rule in group["rules"] if rule.get("alert") == objective.NAME]
    late = Case("", {}, DUE, {"job": "deadwatch", **ON_TOPIC}, "100%")
    fired = [one for rule in alerts for one in expected(late, rule)]
    series = {STORE: "1x400", with_job(LETTERS): arrived, with_job(WAITING): waiting}
    series |= {with_job(ARCHIVED): archived} if archived else {}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": DUE, "alertname": objective.NAME, "exp_alerts": fired if burns else []}
        ],
    }
    promtool(tmp_path, {"groups": [group]}, [test])


def test_each_pair_of_windows_burns_above_its_share_of_the_long_one_until_the_short_one_is_quiet(
    tmp_path: Path,
) -> None:
    made = rules(Values(objective=Objective(enabled=True, hours=1, target=0.99), interval="5m"))
    minutes = range(0, LAST_DUE + 365, 5)
    arrived = {at: 200 * min(at, LAST_DUE - 60) for at in minutes}
    late = [max([0, *(late for _, after, late, _ in BURNING if LAST_DUE + after <= at)]) for at in minutes]
    waiting = [old + arrived[at] - arrived.get(at - 60, 0) for at, old in zip(minutes, late, strict=True)]
    test = {
        "interval": "5m",
        "input_series": [
            {"series": STORE, "values": "1x1000"},
            {"series": with_job(LETTERS), "values": " ".join(map(str, arrived.values()))},
            {"series": with_job(WAITING), "values": " ".join(map(str, waiting))},
        ],
        "promql_expr_test": [
            {
                "expr": 'count by (severity, window) (ALERTS{alertstate="firing"})',
                "eval_time": f"{LAST_DUE + after}m",
                "exp_samples": [{"labels": labels, "value": 1} for labels in fired],
            }
            for _, after, _, fired in BURNING
        ],
    }
    promtool(tmp_path, {"groups": [made["groups"][-1]]}, [test], "5m")
