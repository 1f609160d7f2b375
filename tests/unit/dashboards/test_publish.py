"""Publishing, twice: to a double of Grafana, and to a real one where DEADWATCH_GRAFANA_URL names it.

A real one takes its token from DEADWATCH_GRAFANA_TOKEN (role Admin); folder, dashboards and data source of
Deadwatch are changed there.
"""

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from dashboards.__main__ import app
from dashboards.boards import ALL
from dashboards.frame import model
from dashboards.grafana import ATTEMPTS, Grafana, GrafanaError
from dashboards.publish import MESSAGE, UNCHANGED, Change, differences, publish
from tests import grafana
from tests.grafana import TOKEN, VIEWER, Double

FIRST = ALL[0]
PROMETHEUS = "http://prometheus:9090"


@pytest.fixture
def double() -> Iterator[Double]:
    with grafana.running() as running:
        yield running


@pytest.fixture
def place(double: Double) -> tuple[str, str]:
    """Address and token of the real one, if one is named."""
    if url := os.environ.get("DEADWATCH_GRAFANA_URL"):
        return url, os.environ["DEADWATCH_GRAFANA_TOKEN"]
    return double.url, TOKEN


def published(
    url: str,
    token: str = TOKEN,
    *,
    dry_run: bool = False,
    pauses: list[float] | None = None,
    **options: Any,  # noqa: ANN401 -- those of publish
) -> list[Change]:
    waited = [] if pauses is None else pauses
    with Grafana(url, token, dry_run=dry_run, rng=Random(1), pause=waited.append) as opened:
        return list(publish(opened, **({"datasource_url": PROMETHEUS} | options)))


def test_publishing_twice_changes_nothing_the_second_time(place: tuple[str, str]) -> None:
    published(*place)
    assert {change.done for change in published(*place)} == {UNCHANGED}


def test_what_was_changed_and_moved_in_grafana_is_put_right_and_shown(place: tuple[str, str]) -> None:
    published(*place)
    with Grafana(*place) as opened:
        found = opened.face.dashboard.get_dashboard(FIRST.uid)
        changed = {**found["dashboard"], "title": "Mine"}
        opened.face.dashboard.update_dashboard({"dashboard": changed, "folderUid": "", "overwrite": True})
    (change,) = (change for change in published(*place) if change.done != UNCHANGED)
    assert str(change).splitlines() == [
        f"dashboard {FIRST.uid}: changed",
        f"  title: 'Mine' → '{FIRST.title}'",
        "  folder: '' → 'deadwatch'",
    ]
    assert {change.done for change in published(*place)} == {UNCHANGED}
    with Grafana(*place) as opened:
        found = opened.face.dashboard.get_dashboard(FIRST.uid)["dashboard"]
        opened.face.dashboard.update_dashboard({"dashboard": found, "folderUid": "", "overwrite": True})
    (change,) = (change for change in published(*place) if change.done != UNCHANGED)
    assert list(change.details) == ["folder: '' → 'deadwatch'"]


def test_the_payloads_are_those_that_grafana_documents(double: Double) -> None:
    published(double.url)
    first, second, *boards = double.state.changes
    assert first == ("POST", "/folders", {"title": "Deadwatch", "uid": "deadwatch"})
    names = {"uid": "deadwatch-prometheus", "name": "Deadwatch Prometheus", "type": "prometheus"}
    how = {"access": "proxy", "url": PROMETHEUS, "jsonData": {"httpMethod": "POST"}}
    assert second == ("POST", "/datasources", names | how)
    where = {"folderUid": "deadwatch", "message": MESSAGE, "overwrite": False}
    payloads = [{"dashboard": {**model(board), "id": None}, **where} for board in ALL]
    assert boards == [("POST", "/dashboards/db", payload) for payload in payloads]


def test_how_often_prometheus_scrapes_is_set_where_it_is_said_and_kept_where_it_is_not(
    double: Double,
) -> None:
    published(double.url, scrape_interval="1m")
    found = double.state.datasources["deadwatch-prometheus"]
    assert found["jsonData"] == {"httpMethod": "POST", "timeInterval": "1m"}
    assert {change.done for change in published(double.url)} == {UNCHANGED}
    _, change, *_ = published(double.url, scrape_interval="30s")
    assert change.details == ["jsonData.timeInterval: '1m' → '30s'"]


def test_a_scrape_interval_that_is_none_is_refused(double: Double) -> None:
    options = ["--url", double.url, "--scrape-interval", "often"]
    refused = CliRunner().invoke(app, ["publish", *options])
    assert refused.exit_code == 2
    assert "'often' is not a duration as 30s or 1m" in refused.stderr
    assert double.state.changes == []


def test_a_dry_run_shows_the_differences_that_are_then_changed_in_place(double: Double) -> None:
    assert {change.done for change in published(double.url, dry_run=True)} == {"created"}
    assert double.state.changes == []
    published(double.url)
    double.state.changes.clear()
    other: dict[str, Any] = {
        "folder": "Kafka",
        "datasource_url": "http://other:9090",
        "deadwatch_url": "https://deadwatch/",
    }
    folder, datasource, board, *_ = published(double.url, dry_run=True, **other)
    assert folder.details == ["title: 'Deadwatch' → 'Kafka'"]
    assert datasource.details == ["url: 'http://prometheus:9090' → 'http://other:9090'"]
    assert any("'http://127.0.0.1:8000' → 'https://deadwatch'" in line for line in board.details)
    assert double.state.changes == []
    published(double.url, **other)
    assert double.state.folders["deadwatch"]["title"] == "Kafka"
    assert double.state.datasources["deadwatch-prometheus"]["url"] == "http://other:9090"
    assert double.state.datasources["deadwatch-prometheus"]["id"] == 1
    assert {change.done for change in published(double.url, **other)} == {UNCHANGED}


def test_links_go_where_they_went_unless_another_address_is_said(double: Double) -> None:
    published(double.url, deadwatch_url="https://deadwatch")
    assert {change.done for change in published(double.url)} == {UNCHANGED}
    double.state.dashboards[FIRST.uid]["dashboard"]["title"] = "Mine"
    (change,) = (change for change in published(double.url) if change.done != UNCHANGED)
    assert change.details == [f"title: 'Mine' → {FIRST.title!r}"]
    *_, change = published(double.url, deadwatch_url="https://other")
    assert any("'https://deadwatch' → 'https://other'" in line for line in change.details)


@pytest.mark.parametrize("theirs", [{"tlsAuthWithCACert": True, "httpHeaderName1": "X-Scope-OrgID"}, None])
def test_what_somebody_set_of_the_data_source_besides_stays(
    double: Double, theirs: dict[str, Any] | None
) -> None:
    published(double.url)
    double.state.datasources["deadwatch-prometheus"]["jsonData"] = theirs
    published(double.url, datasource_url="http://other:9090")
    found = double.state.datasources["deadwatch-prometheus"]
    assert found["url"] == "http://other:9090"
    assert found["jsonData"] == {**(theirs or {}), "httpMethod": "POST"}


def test_a_token_is_made_once(double: Double) -> None:
    assert published(double.url, service_account="kiosk")[-1].details == ("token: glsa_made",)
    assert published(double.url, service_account="kiosk")[-1].done == UNCHANGED
    assert double.state.changes[-2:] == [
        ("POST", "/serviceaccounts", {"name": "kiosk", "role": "Viewer"}),
        ("POST", "/serviceaccounts/1/tokens", {"name": "kiosk-deadwatch"}),
    ]


def test_a_title_that_is_taken_is_named(double: Double) -> None:
    double.state.folders["deadwatch"] = {"id": 1, "uid": "deadwatch", "title": "Deadwatch", "version": 1}
    double.state.dashboards["theirs"] = {
        "dashboard": {"id": 9, "uid": "theirs", "version": 1, "title": FIRST.title},
        "meta": {"folderUid": "deadwatch"},
    }
    with pytest.raises(GrafanaError, match=r"title is that of theirs \(412: .*; delete or rename that one"):
        published(double.url)
    published(double.url, overwrite=True)


def test_a_change_in_between_is_not_overwritten(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    published(double.url)
    double.state.dashboards[FIRST.uid]["dashboard"]["title"] = "Mine"
    change = Grafana.change

    def late(self: Grafana, *call: Any) -> Any:  # noqa: ANN401 -- JSON
        double.state.dashboards[FIRST.uid]["dashboard"]["version"] += 1
        return change(self, *call)

    monkeypatch.setattr(Grafana, "change", late)
    with pytest.raises(GrafanaError, match=r"changed it meanwhile \(412: The dashboard has been changed"):
        published(double.url)
    assert double.state.dashboards[FIRST.uid]["dashboard"]["title"] == "Mine"


def test_an_answer_that_is_lost_does_not_stop_it(double: Double) -> None:
    published(double.url)
    double.state.dashboards[FIRST.uid]["dashboard"]["title"] = "Mine"
    double.state.lost_answers = 1
    published(double.url)
    assert double.state.dashboards[FIRST.uid]["dashboard"]["title"] == FIRST.title
    assert {change.done for change in published(double.url)} == {UNCHANGED}


def test_what_may_be_over_in_a_moment_is_tried_again_with_growing_pauses(double: Double) -> None:
    double.state.failures += [503, 502, 429]
    pauses: list[float] = []
    published(double.url, pauses=pauses)
    assert len(pauses) == 3
    assert pauses[0] < pauses[1] < pauses[2]
    assert pauses[0] == pytest.approx(0.2, rel=0.21)


@pytest.mark.parametrize(
    ("failures", "complaint"),
    [
        ([503] * ATTEMPTS, r"cannot read folders now \(503\): later"),
        ([301], "leads to another address: give that one"),  # behind which nothing would be made
    ],
)
def test_it_gives_up_in_the_end(double: Double, failures: list[int], complaint: str) -> None:
    double.state.failures += failures
    with pytest.raises(GrafanaError, match=complaint):
        published(double.url)
    assert double.state.failures == []


@pytest.mark.parametrize(
    ("token", "complaint"),
    [
        ("wrong", r"does not know the credentials \(401\): make a token"),
        (VIEWER, r"may not create folders at http://.* \(403\): folders and dashboards take role Editor"),
    ],
)
def test_refusals_say_what_to_do(double: Double, token: str, complaint: str) -> None:
    with pytest.raises(GrafanaError, match=complaint) as refused:
        published(double.url, token)
    assert token not in str(refused.value)


def test_an_address_without_a_grafana_is_refused() -> None:
    silent = r"http://127.0.0.1:1 does not answer \(ConnectionError\); is it the address"
    wrong = "'grafana:3000' is no address of a Grafana"
    for url, complaint in (("http://127.0.0.1:1", silent), ("grafana:3000", wrong)):
        with pytest.raises(GrafanaError, match=complaint):
            published(url)


def test_a_grafana_below_a_path_is_found() -> None:
    with grafana.running("/grafana") as below:
        published(below.url)
        assert len(below.state.dashboards) == len(ALL)


def test_the_command_says_each_step(double: Double) -> None:
    command = ["publish", "--url", double.url]
    done = CliRunner().invoke(app, command, env={"GRAFANA_TOKEN": TOKEN})
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "folder Deadwatch: created"
    refused = CliRunner().invoke(app, command, env={"GRAFANA_TOKEN": ""})
    assert (refused.exit_code, refused.stderr) == (
        2,
        "dashboards: set GRAFANA_TOKEN in the environment; --user NAME asks for GRAFANA_PASSWORD instead of "
        "GRAFANA_TOKEN\n",
    )


def test_what_grafana_adds_is_no_difference() -> None:
    ours = {"title": "a", "panels": [{"id": 1, "x": 1}]}
    theirs = {"title": "a", "id": 7, "version": 3, "panels": [{"id": 1, "x": 1, "pluginVersion": "11"}]}
    assert list(differences(theirs, ours)) == []
    assert list(differences({**theirs, "panels": []}, ours)) == ["panels: 0 → 1 entries"]
