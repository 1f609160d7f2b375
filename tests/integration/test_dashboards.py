"""Failures of a real Kafka, through the service and a real Prometheus, to panels, alerts and a webhook."""

import json
import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka import Producer

from collector.dialects import brokers
from dashboards import expressions, picture
from dashboards.boards import ALL
from dashboards.frame import model
from dashboards.rules.groups import NAMES, rules
from dashboards.rules.objective import NAME as OBJECTIVE
from dashboards.rules.values import AlertValues, Values
from deadwatch.api_client import Api
from lab import Lab, share
from lab.connect import FILESINK_DLQ, json_sink
from lab.connect_worker import FLUSH_INTERVAL_MS
from lab.topics import Topics
from tests import monitoring
from tests.integration.test_redrive_service import deploy
from tests.integration.test_stalled_tasks import Reader
from tests.integration.test_up import Up, died, running, stalled
from tests.waiting import until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own: what is left misconfigured and dead here is no other test's."""
    with Lab() as running:
        yield running


RECORDS = 10
RANGE_S, STEP_S, RATE_S = 900, 5, 15
SHORT: Mapping[str, AlertValues] = {
    "DeadwatchDeadLetterTooOld": AlertValues(threshold=1),
    "DeadwatchDeadLettersNobodyHandles": AlertValues(window="5s"),
    "DeadwatchAbandonedGrowing": AlertValues(threshold=0),
    "DeadwatchRedriveStuck": AlertValues(window="10s"),
    "DeadwatchPipelineLagging": AlertValues(threshold=1),
}
"""Thresholds at which the lab's failures are bad enough; every alert fires without waiting besides."""

NOT_PROVOKED: Mapping[str, str] = {
    "DeadwatchShareGroupWritesFail": "the broker counts a write as failed only while its leader is away",
    "DeadwatchShareGroupCountsDisagree": "the lab's broker loses nothing that its meters count",
    "DeadwatchConnectDeadLetterWritesFail": "takes a leader that is away for longer than delivery.timeout.ms",
    "DeadwatchBatchFailing": "the query outlives what the lab does to its broker",
    "DeadwatchRecordsMissed": "told in test_gaps, up to the store",
    "DeadwatchCollectorLosesDeadLetters": "takes a broker that refuses dlq.deadwatch",
    OBJECTIVE: "takes hours; promtool plays them",
}
LAST = ("DeadwatchTaskStalled", "DeadwatchStoreUnreadable", "DeadwatchDown")
"""What is provoked in a test of its own; what ends the service comes last."""

EMPTY: Mapping[tuple[str, str], str] = {
    ("deadwatch-itself", "Batches that failed"): "no batch fails",
    ("deadwatch-itself", "Labels at their limit"): "the lab has few names",
}
"""Panels whose failure the lab cannot provoke."""


def lines(now: datetime) -> str:
    """What brokers, workers and clients log when they fail in ways that the lab does not."""
    at = f"[{now:%Y-%m-%d %H:%M:%S},000]"
    return (
        f"{at} WARN [hung|worker] Connector 'hung' failed to properly shut down, has become unresponsive, and"
        " may be consuming external resources. Correct the configuration for this connector or remove the"
        " connector. After fixing the connector, it may be necessary to restart this worker to release any"
        " consumed resources. (o.W:1)\n"
        f"{at} ERROR {brokers.LOST} (kafka.server.share.SharePartition:3400)\n"
        "o.ConfigException: DLQ is not enabled for share group: billing, topic: d.\n"
        f"{at} WARN [Producer clientId=impatient] Configuration 'retry.backoff.ms' with value '2000' is"
        " greater than configuration 'retry.backoff.max.ms' with value '1000'. A static backoff with value"
        " '1000' will be applied. (o.CommonClientConfigs)\n"
        f"{at} ERROR [Producer clientId=lost] Topic orders not present in metadata after 60000 ms. (o.K:1)\n"
        f"{at} INFO next (a.b.C:1)\n"
    )


@dataclass(frozen=True)
class Watched:
    """The service after everything has failed, and what watches it."""

    lab: Lab
    up: Up
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
    directory, name = tmp_path_factory.mktemp("dashboards"), uuid.uuid4().hex[:8]
    log = directory / "other.log"
    log.write_text("")
    with running(_config(lab, directory, log, name), directory) as up:
        until(lambda: up.figure("deadwatch_store_up") == 1, "the store cannot be read")
        values = Values(interval="1s", alerts={each: _quick(each) for each in NAMES if each != OBJECTIVE})
        with monitoring.running(
            directory / "monitoring", up.url.removeprefix("http://"), rules(values)
        ) as seen:
            until(
                lambda: bool(seen.prometheus.query("sum_over_time(deadwatch_store_up[1h]) > 5")), "no scrapes"
            )
            _provoke(lab, up, log, name)
            yield Watched(lab, up, seen)


def _quick(name: str) -> AlertValues:
    said = SHORT.get(name, AlertValues())
    return said.model_copy(update={"wait": "0s", "keep_firing_for": "0s"})


def _config(lab: Lab, directory: Path, log: Path, name: str) -> Path:
    file = directory / "deadwatch.yaml"
    logs = [lab.logs.broker, lab.logs.connect, lab.logs.streams, log, directory / "missing.log"]
    content = {
        "kafka": {"bootstrap_servers": lab.bootstrap_servers},
        "kafka_cluster": "lab",
        "events_topic": f"deadwatch.events.{name}",
        "collector": {
            "name": name,
            "heartbeat_interval_ms": 1_000,
            "dlq_topics_poll_interval_ms": 2_000,
            "logs": [{"path": str(path)} for path in logs],
            "connect": [
                {
                    "url": lab.connect_url,
                    "jolokia_url": lab.connect_jolokia_url,
                    "tasks_poll_interval_ms": 1_000,
                    "stalled_after_ms": 2_000,
                    "offset_flush_interval_ms": FLUSH_INTERVAL_MS,
                }
            ],
            "brokers": [{"jolokia_url": lab.broker_jolokia_url}],
        },
    }
    file.write_text(json.dumps(content))
    return file


def _provoke(lab: Lab, up: Up, log: Path, name: str) -> None:
    """Everything that the lab can do, then what it cannot, as log lines; last what is put back."""
    lab.abandon_task()
    lab.reject_share_records(RECORDS)
    lab.break_connect_records(RECORDS)
    _misconfigure(lab, log.parent, name)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers})
    producer.produce(f"deadwatch.events.{name}", b"no JSON")
    assert producer.flush(60) == 0
    lab.stall_broker()
    now = datetime.now(UTC)
    with log.open("a") as file:
        file.write(lines(now) + stalled(now))
    until(lambda: up.figure("deadwatch_task_timers", application="words") == 2, "no timers ran")
    token = {"Authorization": f"Bearer {up.token_file.read_text().strip()}"}
    with httpx2.Client(base_url=up.url, headers=token, timeout=60, trust_env=False) as client:
        _redrive(lab, Api(client))


def _misconfigure(lab: Lab, directory: Path, name: str) -> None:
    """A sink that skips what it cannot read, without a queue; one whose dead letters have no headers."""
    topics, topic = Topics(lab.bootstrap_servers), f"silent-{name}"
    topics.create(topic)
    config = json_sink(directory / f"{name}.txt") | {"topics": topic}
    silent = {key: value for key, value in config.items() if "deadletterqueue" not in key}
    deploy(f"{lab.connect_url}/connectors/{topic}", silent)
    topics.produce(topic, (b"no JSON" for _ in range(RECORDS)))
    mute = config | {"errors.deadletterqueue.context.headers.enable": "false"}
    deploy(f"{lab.connect_url}/connectors/mute-{name}", mute | {"topics": f"mute-{name}"})


@contextmanager
def _stalled_sink(lab: Lab, pipe: Path, name: str) -> Iterator[None]:
    """A sink that blocks because nobody reads what it writes."""
    topics, connector = Topics(lab.bootstrap_servers), f"{lab.connect_url}/connectors/{name}"
    topics.create(name)
    reader = Reader(pipe)
    sink = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    try:
        deploy(connector, {"connector.class": sink, "file": str(pipe), "topics": name, "tasks.max": "1"})
        reader.rest()
        topics.produce(name, (b"x" * 1_000 for _ in range(2_000)))
        yield
    finally:
        reader.go_on()
        httpx2.delete(connector, trust_env=False).raise_for_status()
        reader.close()


def _redrive(lab: Lab, api: Api) -> None:
    """What the share group rejected comes home; what the sink cannot read comes back, then is parked."""
    once = {"retry": {"max_attempts": 1}, "guards": {"max_bounce_ratio": None}}
    _order(api, share.DLQ, {"all": True})
    with lab.connect_records_return(RECORDS):
        _order(api, FILESINK_DLQ, {"all": True}, **once)
    _order(api, FILESINK_DLQ, {"filter": "attempts > 0"}, **once)
    slow = {"limits": {"records_per_second": 0.01}}
    waiting = _ordered(api, FILESINK_DLQ, {"all": True}, **slow)
    api.post(f"/redrives/{waiting['id']}/pause")


def _ordered(api: Api, topic: str, selection: Mapping[str, object], **more: object) -> Mapping[str, Any]:
    request = {"dlq_topic": topic, "selection": selection, "reason": "test", **more}
    plan = api.post("/redrives", {**request, "dry_run": True})["plan"]
    order: Mapping[str, Any] = api.post(
        "/redrives", {**request, "dry_run": False, "confirm": plan["at_most"]}, str(uuid.uuid4())
    )
    return order


def _order(api: Api, topic: str, selection: Mapping[str, object], **more: object) -> None:
    order = _ordered(api, topic, selection, **more)

    def status() -> str:
        return str(api.get(f"/redrives/{order['id']}")["status"])

    until(lambda: status() == "COMPLETED", lambda: f"the redrive of {topic} is {status()}")


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
            f"{query.panel} {query.ref}: {query.text}"
            for panel in model(board)["panels"]
            for query in expressions.queries(panel, RANGE_S, RATE_S)
            if (uid, query.panel) not in EMPTY and not _answer(watched.seen.prometheus, query)
        ]

    until(lambda: not empty(), lambda: "\n".join(empty()), 60)


def _answer(prometheus: monitoring.Prometheus, query: expressions.Query) -> list[dict[str, Any]]:
    if query.instant:
        return prometheus.query(query.text)
    return prometheus.query_range(query.text, RANGE_S, STEP_S)


def test_the_pictures_are_drawn(watched: Watched, tmp_path: Path) -> None:
    directory = Path(os.environ.get("DEADWATCH_PICTURES", tmp_path))
    for board in ALL:
        svg = picture.draw(board, watched.seen.prometheus.url, minutes=3)
        (directory / f"{board.uid}.svg").write_text(svg)
        assert svg.count("<g class='panel'") == sum(len(row.panels) for row in board.rows)
        assert "no data" not in svg


def test_an_alert_resolves_when_its_cause_is_gone(watched: Watched) -> None:
    watched.until_fired("DeadwatchTaskAbandoned")
    watched.lab.release_task()
    with (watched.up.errors.parent / "other.log").open("a") as file:
        file.write(died(datetime.now(UTC)))
    resolved = {"DeadwatchTaskAbandoned", "DeadwatchTaskTimersRunning"}
    until(
        lambda: all(watched.seen.webhook.all(name, "resolved") for name in resolved),
        lambda: f"of {resolved} not all resolved",
    )


def test_a_sink_that_does_not_move_reaches_the_webhook(watched: Watched, tmp_path: Path) -> None:
    with _stalled_sink(watched.lab, tmp_path / "pipe", f"stalling-{uuid.uuid4().hex[:8]}"):
        watched.until_fired("DeadwatchTaskStalled")


def test_it_is_said_when_the_store_cannot_be_read(watched: Watched) -> None:
    store = sqlite3.connect(watched.up.errors.parent / "data" / "deadwatch.db", timeout=60)
    store.execute("ALTER TABLE findings RENAME TO findings_gone")
    store.close()
    watched.until_fired("DeadwatchStoreUnreadable")


def test_it_is_said_when_the_service_is_gone(watched: Watched) -> None:
    httpx2.get(f"{watched.up.url}/livez", trust_env=False).raise_for_status()
    watched.up.process.terminate()
    watched.up.process.wait()
    watched.until_fired("DeadwatchDown")
