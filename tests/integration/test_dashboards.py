"""Failures of a real Kafka, through the service and a real Prometheus, to panels, alerts and a webhook."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dashboards.boards import ALL
from dashboards.frame import model
from dashboards.rules.groups import NAMES, rules
from dashboards.rules.objective import NAME as OBJECTIVE
from dashboards.rules.values import AlertValues, Values
from lab import Lab
from tests import http, monitoring
from tests.families import frozen
from tests.integration.failures import Failures, config, prepare
from tests.integration.up_process import died, running
from tests.waiting import until


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own: what is left misconfigured and dead here is no other test's."""
    with Lab() as running:
        yield running


RANGE_S, STEP_S, RATE_S = 3_600, 5, 15
SHORT: Mapping[str, AlertValues] = {
    "DeadwatchDeadLetterTooOld": AlertValues(threshold=1),
    "DeadwatchDeadLettersNobodyHandles": AlertValues(window="5s"),
    "DeadwatchAbandonedGrowing": AlertValues(threshold=0),
    "DeadwatchPipelineLagging": AlertValues(threshold=1),
    "DeadwatchBatchFailing": AlertValues(threshold=0),
}
"""Thresholds at which the lab's failures are bad enough; every alert fires without waiting besides."""

NOT_PROVOKED: Mapping[str, str] = {OBJECTIVE: "takes hours; promtool plays them"}
LAST = (
    "DeadwatchTaskStalled",
    "DeadwatchStreamingDown",
    "DeadwatchPipelineLagging",
    "DeadwatchStoreUnreadable",
    "DeadwatchDown",
)
"""What is provoked in a test of its own; what ends the service comes last."""


@dataclass(frozen=True)
class Watched:
    """The service after everything has failed, and what watches it."""

    failures: Failures
    seen: monitoring.Monitoring

    def until_fired(self, name: str) -> dict[str, Any]:
        until(
            lambda: bool(self.seen.webhook.all(name)), lambda: f"{name}: only {self.seen.webhook.names}", 180
        )
        return self.seen.webhook.all(name)[0]


@pytest.fixture(scope="module")
def watched(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    if missing := monitoring.missing():
        pytest.skip(f"not installed: {', '.join(missing)}")
    directory = tmp_path_factory.mktemp("dashboards")
    log = directory / "other.log"
    log.write_text("")
    prepare(lab)
    with running(config(lab, directory, log), directory) as up:
        until(lambda: up.figure("deadwatch_store_up") == 1, "the store cannot be read")
        values = Values(interval="1s", alerts={each: _quick(each) for each in NAMES if each != OBJECTIVE})
        with monitoring.running(
            directory / "monitoring", up.url.removeprefix("http://"), rules(values)
        ) as seen:
            until(
                lambda: bool(seen.prometheus.query("sum_over_time(deadwatch_store_up[1h]) > 5")), "no scrapes"
            )
            failures = Failures(lab, up, log)
            failures.provoke()
            yield Watched(failures, seen)


def _quick(name: str) -> AlertValues:
    said = SHORT.get(name, AlertValues())
    return said.model_copy(update={"wait": "0s", "keep_firing_for": "0s"})


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {*NOT_PROVOKED, *LAST}])
def test_the_alert_reaches_the_webhook(watched: Watched, name: str) -> None:
    alert = watched.until_fired(name)
    texts = " ".join(alert["annotations"].values())
    assert "<no value>" not in texts
    assert "error" not in alert["annotations"]["summary"].split()
    assert alert["annotations"]["runbook_url"].endswith(f"{name}.md")


@pytest.mark.parametrize("uid", [board.uid for board in ALL])
def test_no_panel_of_the_dashboard_is_empty(watched: Watched, uid: str) -> None:
    board = next(board for board in ALL if board.uid == uid)

    def empty() -> list[str]:
        return [
            f"{panel['title']} {target['refId']}: {target['expr']}"
            for panel in model(board)["panels"]
            for target in panel.get("targets", ())
            if not _answer(watched.seen.prometheus, target)
        ]

    until(lambda: not empty(), lambda: "\n".join(empty()), 60)


def _answer(prometheus: monitoring.Prometheus, target: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ask a panel's query as Grafana does: its variables at All, its intervals in seconds."""
    query = target["expr"].replace("$__range", f"{RANGE_S}s").replace("$__rate_interval", f"{RATE_S}s")
    query = re.sub(r"\$\w+|\$\{\w+\}", ".+", query.replace("$namespace", ".*"))
    if target.get("instant"):
        return prometheus.query(query)
    return prometheus.query_range(query, RANGE_S, STEP_S)


def test_an_alert_resolves_when_its_cause_is_gone(watched: Watched) -> None:
    watched.until_fired("DeadwatchTaskAbandoned")
    watched.failures.lab.release_task()
    with watched.failures.log.open("a") as file:
        file.write(died(datetime.now(UTC)))
    resolved = {"DeadwatchTaskAbandoned", "DeadwatchTaskTimersRunning"}
    until(
        lambda: all(watched.seen.webhook.all(name, "resolved") for name in resolved),
        lambda: f"of {resolved} not all resolved",
    )


def test_a_sink_that_does_not_move_reaches_the_webhook(watched: Watched, tmp_path: Path) -> None:
    with watched.failures.stalled_sink(tmp_path / "pipe", "stalling"):
        watched.until_fired("DeadwatchTaskStalled")


def test_a_stream_that_stands_still_reaches_the_webhook(watched: Watched) -> None:
    with frozen(watched.failures.up.child("streaming")):
        watched.until_fired("DeadwatchStreamingDown")


def test_a_stream_that_does_not_keep_up_reaches_the_webhook(watched: Watched) -> None:
    watched.failures.fall_behind()
    watched.until_fired("DeadwatchPipelineLagging")


def test_it_is_said_when_the_store_cannot_be_read(watched: Watched) -> None:
    store = sqlite3.connect(watched.failures.up.errors.parent / "data" / "deadwatch.db", timeout=60)
    store.execute("ALTER TABLE findings RENAME TO findings_gone")
    store.close()
    watched.until_fired("DeadwatchStoreUnreadable")


def test_it_is_said_when_the_service_is_gone(watched: Watched) -> None:
    http.get(f"{watched.failures.up.url}/livez").raise_for_status()
    watched.failures.up.process.terminate()
    watched.failures.up.process.wait()
    watched.until_fired("DeadwatchDown")
