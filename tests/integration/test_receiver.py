"""The receiver in a collector process: what is sent again, also to its successor, is on Kafka once."""

from pathlib import Path

import httpx2

from lab import Lab
from tests.collector_process import Collector, counted_once
from tests.names import fresh
from tests.unit.collector.receiver.conftest import report
from tests.waiting import until

WITHIN_S = 60
LOG = "[2026-11-21 12:35:23,893] ERROR [c|task-0] Graceful stop of task c-0 failed. (o.Worker:1104)"
LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": LOG}}]}]}]}


def address(own: Collector, before: int) -> str:
    """Where the process that logs behind ``before`` receives."""

    def told() -> str:
        return own.log.read_text()[before:]

    until(lambda: "Receiving at " in told(), told, WITHIN_S)
    return told().split("Receiving at ")[1].split()[0]


def posted(client: httpx2.Client, path: str, body: object) -> None:
    """Send it until it is acknowledged, as a shipper does."""
    until(lambda: client.post(path, json=body).status_code == 200, path, WITHIN_S)


def test_what_is_sent_again_after_a_kill_and_a_restart_is_published_once(lab: Lab, tmp_path: Path) -> None:
    receiver = {"receiver": {"enabled": True, "port": 0}}
    own = Collector(lab.bootstrap_servers, tmp_path, fresh("receiver-"), receiver)
    own.log.touch()
    for killed in (True, False, False):
        before = len(own.log.read_text())
        with (
            own.running() as process,
            httpx2.Client(base_url=address(own, before), timeout=20, trust_env=False) as client,
        ):
            for _ in range(2):
                posted(client, "/v1/logs", LOGS)
                posted(client, "/v1/events", report(1))
            if killed:
                process.kill()
    told = counted_once(own.events())
    kinds = [event["kind"] for event in told if event["source"].startswith(("otlp@", "events:"))]
    assert sorted(kinds) == ["client_timeout", "task_abandoned"]
