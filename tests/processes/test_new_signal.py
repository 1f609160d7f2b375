"""A new signal is one file: metric, panel, alert, docs and a runbook follow from its presence."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.command_line import succeeded
from tests.paths import ROOT

BOARD = "deadwatch-task-timeouts"
NEW = f'''
"""Consumers that were put out of their group."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFenced(Event):
    """A consumer was put out of its group because it polled too seldom."""

    kind: ClassVar[str] = "consumer_fenced"
    application: str
    group_instance: str
    message: str


CONSUMERS_FENCED: Final = Signal(
    series="consumers_fenced",
    metric="deadwatch_consumers_fenced_total",
    event=ConsumerFenced,
    labels=("application", "group_instance"),
    help="Consumers put out of their group. 0: none. More: look at how long a batch of records takes.",
    board="{BOARD}",
    title="Consumers fenced",
    text="Consumers that were put out of their group in the chosen time.",
    alert=Alert(
        "DeadwatchConsumersFenced",
        Severity.WARNING,
        ("application",),
        "{{count}} consumers of {{application}} were fenced",
        "They polled too seldom on cluster {{kafka_cluster}}. Make batches smaller.",
        runbook=(
            "A consumer polled too seldom and was put out of its group.",
            "Its partitions wait until another consumer has taken them over.",
            "1. Lower max.poll.records, or raise max.poll.interval.ms.",
        ),
    ),
)
'''.lstrip()
COUNT_AND_SCRAPE = """
import sys
from deadwatch.contract.events import KINDS, Position, encode
from deadwatch.store import schema, upgrades
from sqlalchemy import create_engine, insert
from api.metrics.exposition import Exposition
from api.signals.pipeline import Moment
from api.store import Store
from streaming.deltas import event_series
from tests.kafka_records import counted

event = KINDS["consumer_fenced"](
    source="log:a", position=Position(1), happened_at_ms=5, observed_at_ms=6, kafka_cluster="c",
    application="words", group_instance="i-1", message="late",
)
key, value = encode(event)
url = f"sqlite:///{sys.argv[1]}"
engine = create_engine(url)
upgrades.upgrade(engine)
with engine.begin() as connection:
    for delta in event_series(counted([{"key": key, "value": value}]).events, "deadwatch.events"):
        row = {field: getattr(delta, field) for field in ("labels", "value", "first_ms", "last_ms", "detail")}
        connection.execute(insert(schema.series).values(name=delta.series.name, **row))
print(Exposition(Store(url)).body(Moment(10, 10), "")[0].decode())
"""


def run(tree: Path, *command: str) -> str:
    return succeeded(sys.executable, *command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)})


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more file, in which the generators have run."""
    tree = tmp_path_factory.mktemp("tree")
    leave_out = shutil.ignore_patterns("__pycache__", "img", "static")
    for part in ("api", "collector", "dashboards", "deadwatch", "docs", "redrive", "streaming"):
        shutil.copytree(ROOT / part, tree / part, ignore=leave_out)
    (tree / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "kafka_records.py", tree / "tests")
    (tree / "deadwatch" / "contract" / "signals" / "consumers_fenced.py").write_text(NEW)
    run(tree, "-m", "dashboards", "generate")
    return tree


def test_its_events_are_counted_and_exported(tree: Path, tmp_path: Path) -> None:
    scraped = run(tree, "-c", COUNT_AND_SCRAPE, str(tmp_path / "store.db"))
    labels = 'application="words",group_instance="i-1",kafka_cluster="c"'
    assert f"\ndeadwatch_consumers_fenced_total{{{labels}}} 1.0\n" in scraped
    assert "\n# HELP deadwatch_consumers_fenced_total Consumers put out of their group. 0: none." in scraped


def test_its_panel_is_on_its_dashboard_narrowed_by_the_dashboard_s_variable(tree: Path) -> None:
    board = json.loads((tree / "dashboards" / "generated" / f"{BOARD}.json").read_text())
    (panel,) = (panel for panel in board["panels"] if panel["title"] == "Consumers fenced")
    query = panel["targets"][0]["expr"]
    chosen = (f'{name}=~"${name}"' for name in ("job", "namespace", "kafka_cluster", "application"))
    assert f"deadwatch_consumers_fenced_total{{{', '.join(chosen)}" in query


def test_its_alert_is_among_the_rules(tree: Path) -> None:
    rules = yaml.safe_load((tree / "dashboards" / "generated" / "deadwatch-rules.yaml").read_text())
    (rule,) = (
        rule
        for group in rules["groups"]
        for rule in group["rules"]
        if rule["alert"] == "DeadwatchConsumersFenced"
    )
    assert rule["labels"] == {"severity": "warning"}
    assert rule["annotations"]["summary"].endswith(
        ' consumers of {{ or $labels.application "(unnamed)" }} were fenced'
    )


def test_its_row_and_its_runbook_are_in_the_documentation(tree: Path) -> None:
    link = "[DeadwatchConsumersFenced](runbooks/DeadwatchConsumersFenced.md)"
    row = f"| Consumers fenced | `consumer_fenced` | `deadwatch_consumers_fenced_total` | {link} |\n"
    assert row in (tree / "docs" / "dashboards.md").read_text()
    runbooks = tree / "docs" / "runbooks"
    assert "Lower max.poll.records" in (runbooks / "DeadwatchConsumersFenced.md").read_text()
    index = (runbooks / "README.md").read_text()
    assert "\n- [DeadwatchConsumersFenced](DeadwatchConsumersFenced.md): Consumers fenced\n" in index


def test_a_runbook_that_somebody_has_written_stays(tree: Path) -> None:
    page = tree / "docs" / "runbooks" / "DeadwatchConsumersFenced.md"
    page.write_text(page.read_text() + "more\n")
    assert run(tree, "-m", "dashboards", "generate") == ""
    assert page.read_text().endswith("more\n")
