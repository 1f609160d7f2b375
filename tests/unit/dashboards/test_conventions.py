"""The conventions that every panel, every dashboard and every rule keep, read from what is committed."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.metrics import catalog
from api.metrics.catalog import Kind
from dashboards import figures, generate
from dashboards.boards import ALL
from dashboards.frame import ROWS
from dashboards.panels import Page
from dashboards.rules.dead_letters import newly_read
from dashboards.rules.values import Values
from deadwatch.contract.signals.signal import Severity
from tests.paths import ROOT

UNITS = {"short", "s", "dateTimeAsIso", "reqps", "percentunit"}
METRICS = {metric.name: metric for metric in catalog.ALL}
COUNTERS = [metric.name for metric in catalog.ALL if metric.kind is Kind.COUNTER]
TARGET_LABELS = {"job", "namespace", "instance"}

SELECTOR = re.compile(r"(deadwatch_\w+)\{([^}]*)\}")
BY = re.compile(r"\b(?:by|on|without|group_left) \(([^)]*)\)")
RANGED = re.compile(
    r"(?:rate|count_over_time|sum_over_time|min_over_time)\(deadwatch_\w+\{[^}]*\}\[[^]]+\](?: offset \w+)?\)"
)
RISEN = re.compile(r"(deadwatch_\w+\{[^}]*\}) - min_over_time\(\1\[")
APPEARED = re.compile(r"(deadwatch_\w+\{[^}]*\}) and \(count_over_time\(\1\[")

GROWN = re.compile(
    r"(sum by \([^)]*\) \(|)(max by \([^)]*\)) \((deadwatch_\w+\{[^}]*\})\)\)? - "
    r"\1\2 \(\3 offset [$\w]+\)"
)

BOARDS = [json.loads((generate.GENERATED / f"{board.uid}.json").read_text()) for board in ALL]
PANELS = [
    pytest.param(board, panel, id=f"{board['uid']}: {panel['title']}")
    for board in BOARDS
    for panel in board["panels"]
    if panel["type"] != "row"
]
GROUPS = yaml.safe_load((generate.GENERATED / generate.RULES).read_text())["groups"]
RULES = list(chain.from_iterable(group["rules"] for group in GROUPS))


def known(expression: str) -> None:
    """Every metric and every label that is named exists."""
    named = [
        (name, set(re.findall(r'(\w+)(?:=~|=|!=|!~)"', matchers)))
        for name, matchers in SELECTOR.findall(expression)
    ]
    outside = re.sub(r'"[^"]*"', "", expression)
    assert set(re.findall(r"\bdeadwatch_\w+\b", outside)) == {name for name, _ in named}
    for name, labels in named:
        assert labels <= {*METRICS[name].labels, *TARGET_LABELS}, name
        assert "job" in labels, f"{name} has no job matcher"
    there = TARGET_LABELS.union(*(METRICS[name].labels for name, _ in named))
    for by in BY.findall(expression):
        assert {each.strip() for each in by.split(",") if each.strip()} <= there


def raw_counters(expression: str, *allowed: str) -> list[str]:
    """Counters outside of rate, now less then, now less the least, and the form of one that first appears."""
    for text in allowed:
        expression = expression.replace(text, "")
    expression = GROWN.sub("", expression)
    expression = RISEN.sub("min_over_time(deadwatch_x{}[", expression)
    rest = RANGED.sub("", APPEARED.sub("(count_over_time(deadwatch_x{}[", expression))
    return [name for name in COUNTERS if f"{name}{{" in rest]


IN_RULES = (figures.outstanding(Values().scope, "86400s").text, newly_read(Values().scope, "1h").text)
"""Where totals are compared with something else than themselves."""


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_a_panel_keeps_the_conventions(board: dict[str, Any], panel: dict[str, Any]) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert defaults["unit"] in UNITS
    assert defaults["thresholds"]["steps"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    links = [link["url"] for link in panel["links"]]
    assert links[0].removeprefix("${deadwatch_url}") in set(Page)
    assert links[1].startswith("${deadwatch_url}")
    variables = {variable["name"] for variable in board["templating"]["list"]}
    variables |= {"__rate_interval", "__range"}
    for target in panel["targets"]:
        expression = target["expr"]
        assert target["datasource"] == panel["datasource"]
        assert set(re.findall(r"\$\{?(\w+)", expression)) <= variables
        assert set(re.findall(r"\[([^]]+)\]", expression)) <= {"$__rate_interval", "$__range"}
        if panel["type"] == "timeseries":
            assert target["legendFormat"]
            assert "$__range" not in expression
        known(expression)
        assert raw_counters(expression) == []


def test_what_may_be_empty_while_all_is_well_says_nothing_and_not_that_data_are_missing() -> None:
    panels = [panel for board in BOARDS for panel in board["panels"] if panel["type"] not in {"row", "stat"}]
    assert {
        panel["title"] for panel in panels if panel["fieldConfig"]["defaults"].get("noValue") != "nothing"
    } == {"Lag and batches", "Speed on a backlog", "What still is wrong"}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board["uid"]))
def test_a_dashboard_keeps_the_conventions(board: dict[str, Any]) -> None:
    assert re.fullmatch(r"deadwatch-[a-z-]{4,30}", board["uid"])
    assert board["editable"] is False
    assert "deadwatch" in board["tags"]
    rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert rows == list(ROWS)
    first, job, namespace, cluster, *more, address = board["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert address["name"] == "deadwatch_url"
    for variable in (job, namespace, cluster, *more):
        # outside of Kubernetes there is none, and a thread may not name its application
        every = ".*" if variable["name"] in {"namespace", "application"} else ".+"
        assert (variable["multi"], variable["includeAll"], variable["allValue"]) == (True, True, every)
        assert variable["datasource"]["uid"] == "${datasource}"
    assert "$job" in namespace["query"]["query"]
    assert "$namespace" in cluster["query"]["query"]
    for variable in more:
        assert {"$job", "$namespace", "$kafka_cluster"} <= set(
            re.findall(r"\$\w+", variable["query"]["query"])
        )
    (link,) = board["links"]
    assert (link["includeVars"], link["keepTime"], link["tags"]) == (True, True, ["deadwatch"])
    assert {each["name"] for each in board["annotations"]["list"]} == {"Redrives", "Deployments of Deadwatch"}
    for annotation in board["annotations"]["list"]:
        known(annotation["expr"])
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board["uid"]))
def test_panels_fill_their_rows_and_do_not_overlap(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_keeps_the_conventions(rule: dict[str, Any]) -> None:
    annotations = rule["annotations"]
    assert re.fullmatch(r"Deadwatch[A-Z]\w+", rule["alert"])
    assert rule["labels"]["severity"] in set(Severity)
    assert set(annotations) == {"summary", "description", "runbook_url", "dashboard_url"}
    assert annotations["description"].endswith(".")
    assert "$__" not in rule["expr"]
    assert (ROOT / annotations["runbook_url"]).is_file()
    uid = re.match(r"/d/([a-z-]+)", annotations["dashboard_url"])
    assert uid
    assert uid[1] in {board.uid for board in ALL}
    about = set(
        re.findall(r"var-(\w+)=", annotations["dashboard_url"])
    )  # else one hides that of another place
    assert about >= {"job", "namespace"} or rule["alert"] in {"DeadwatchDown", "DeadwatchWatchdog"}
    known(rule["expr"])
    assert raw_counters(rule["expr"], *IN_RULES) == []


def test_every_metric_of_the_catalogue_is_looked_at() -> None:
    panels = chain.from_iterable(board["panels"] for board in BOARDS)
    shown = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    watched = " ".join([*shown, *(rule["expr"] for rule in RULES)])
    assert {name for name in METRICS if f"{name}{{" not in watched} == {
        "deadwatch_buckets_shared_total",
        "deadwatch_collector_abandoned_connectors",
        "deadwatch_collector_abandoned_connectors_total",
        "deadwatch_collector_abandoned_tasks",
        "deadwatch_collector_abandoned_tasks_total",
        "deadwatch_collector_dead_letter_queue_failed_produce_requests_total",
        "deadwatch_collector_dead_letter_queue_produce_requests_total",
        "deadwatch_collector_dead_letter_queue_records_total",
        "deadwatch_connect_task_errors_logged_total",
        "deadwatch_connect_task_record_errors_total",
        "deadwatch_records_read_total",
        "deadwatch_share_group_dead_letter_queue_produce_requests_total",
    }


def test_what_is_committed_is_what_is_generated() -> None:
    there = (path for path in generate.GENERATED.rglob("*") if path.is_file())
    texts = {str(path.relative_to(generate.GENERATED)): path.read_text() for path in there}
    assert texts == dict(generate.files()), "run: make dashboards"


def test_generating_writes_what_differs_and_removes_what_is_gone(tmp_path: Path) -> None:
    assert len(generate.write(tmp_path)) == 2 * len(ALL) + 1
    (tmp_path / "import" / "old.json").write_text("{}")
    (tmp_path / f"{ALL[0].uid}.json").write_text("{}")
    assert {path.name for path in generate.write(tmp_path)} == {"old.json", f"{ALL[0].uid}.json"}
    assert generate.write(tmp_path) == []


@pytest.mark.parametrize("uid", [board.uid for board in ALL])
def test_a_file_for_import_asks_for_its_data_source(uid: str) -> None:
    text = (generate.GENERATED / "import" / f"{uid}.json").read_text()
    found = json.loads(text)
    (asked,) = found["__inputs"]
    assert (asked["name"], asked["pluginId"]) == ("DS_PROMETHEUS", "prometheus")
    assert "${datasource}" not in text
    assert {panel["type"] for panel in found["panels"]} - {"row"} == {
        each["id"] for each in found["__requires"] if each["type"] == "panel"
    }
