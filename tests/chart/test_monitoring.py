"""What the chart gives to Prometheus and Grafana is what ``dashboards`` makes of the same values."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dashboards.boards import ALL
from dashboards.frame import model
from dashboards.generate import as_yaml
from dashboards.rules.groups import rules
from dashboards.rules.values import Values
from tests.chart.tools import MINIMAL, OPERATED, one, rendered
from tests.command_line import succeeded
from tests.tables import named

PROMTOOL = shutil.which("promtool") or ""
SAID: list[tuple[str, dict[str, Any]]] = [
    ("nothing", {}),
    ("addresses", {"runbook_url": "https://w/runbooks", "dashboard_url": "https://g", "interval": "1m"}),
    ("another job", {"job": "monitoring/.*"}),
    ("one alert off", {"alerts": {"DeadwatchDeadLetters": {"enabled": False}}}),
    (
        "everything of one alert",
        {
            "alerts": {
                "DeadwatchDeadLetters": {
                    "threshold": 2.5,
                    "window": "1h",
                    "for": "7m",
                    "keep_firing_for": "9m",
                    "severity": "critical",
                }
            }
        },
    ),
    ("a threshold of nothing", {"alerts": {"DeadwatchDeadLetterTooOld": {"threshold": 0}}}),
    ("a threshold of two weeks", {"alerts": {"DeadwatchDeadLetterTooOld": {"threshold": 1_209_600}}}),
    ("a threshold of half a second", {"alerts": {"DeadwatchDeadLetterTooOld": {"threshold": 1_209_600.5}}}),
]


def spec_of(said: dict[str, Any]) -> dict[str, Any]:
    """The rules of the chart with these values of ``prometheusRule``."""
    values = {f"prometheusRule.{name}": value for name, value in said.items()}
    rule = one(rendered(MINIMAL, values=values, apis=OPERATED), "PrometheusRule", "rules")
    spec: dict[str, Any] = rule["spec"]
    return spec


def short(uid: str) -> str:
    return uid.removeprefix("deadwatch-")


@pytest.mark.parametrize("said", named(SAID))
def test_rules_are_those_of_the_same_values_and_prometheus_takes_them(
    said: dict[str, Any], tmp_path: Path
) -> None:
    ours = {"namespace": ".*"} if "job" in said else {"job": "dw-deadwatch-api", "namespace": "deadwatch"}
    spec = spec_of(said)
    assert spec == rules(Values(**(ours | said)))
    if not PROMTOOL:
        pytest.skip("promtool is not installed")
    file = tmp_path / "rules.yaml"
    file.write_text(as_yaml(spec))
    succeeded(PROMTOOL, "check", "rules", file)


def test_a_release_without_an_api_has_rules_only_for_a_job_that_is_named() -> None:
    """Its own job does not exist: DeadwatchDown would ring for ever."""
    for job, groups in ("", 0), ("other-api", 1):
        values = {"api.enabled": False, "prometheusRule.job": job}
        made = [m for m in rendered(MINIMAL, values=values, apis=OPERATED) if m["kind"] == "PrometheusRule"]
        assert len(made) == groups


def test_a_shorter_interval_is_not_too_short_for_the_timeout_of_a_scrape() -> None:
    """Prometheus' operator makes no target of a monitor whose timeout is longer than its interval."""
    for said in {}, {"scrapeTimeout": "4s"}:
        values = {f"serviceMonitor.{name}": value for name, value in {"interval": "5s", **said}.items()}
        monitor = one(rendered(MINIMAL, values=values, apis=OPERATED), "ServiceMonitor", "api")
        (endpoint,) = monitor["spec"]["endpoints"]
        assert (endpoint["interval"], endpoint.get("scrapeTimeout")) == ("5s", said.get("scrapeTimeout"))


def test_labels_of_ones_own_do_not_replace_those_of_an_alert() -> None:
    spec = spec_of({"alertLabels": {"team": "streaming", "severity": "x"}})
    labels = [each["labels"] for group in spec["groups"] for each in group["rules"]]
    assert {label["team"] for label in labels} == {"streaming"}
    assert "x" not in {label["severity"] for label in labels}


def test_every_dashboard_is_a_config_map_that_a_sidecar_finds() -> None:
    manifests = rendered(MINIMAL)
    for board in ALL:
        found = one(manifests, "ConfigMap", f"dw-deadwatch-dashboard-{short(board.uid)}")
        assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert found["metadata"]["annotations"]["grafana_folder"] == "Deadwatch"
        assert json.loads(found["data"][f"{board.uid}.json"]) == model(board)
        assert len(json.dumps(found)) < 1 << 20  # what a ConfigMap may hold


def test_every_dashboard_is_there_for_grafanas_operator() -> None:
    values = {"dashboards.grafanaDashboards.enabled": True, "dashboards.configMaps.enabled": False}
    manifests = rendered(MINIMAL, values=values, apis=OPERATED)
    for board in ALL:
        at = one(manifests, "GrafanaDashboard", f"dw-deadwatch-{short(board.uid)}")["spec"]["configMapRef"]
        held = next(m for m in manifests if m["kind"] == "ConfigMap" and m["metadata"]["name"] == at["name"])
        assert at["key"] in held["data"]
        assert "grafana_dashboard" not in held["metadata"]["labels"]  # a sidecar would make it twice


def test_an_alert_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"knows no Nonsense; there are DeadwatchDeadLetters"):
        rendered(MINIMAL, values={"prometheusRule.alerts": {"Nonsense": {"enabled": False}}})
