"""The receiver in a collector process: what is sent again, also to its successor, is on Kafka once."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import yaml

from lab import Lab
from tests.kafka_events import events

pytestmark = pytest.mark.integration

WITHIN_S = 60
TOPIC = f"receiver-{os.getpid()}"
LOG = "[2026-11-21 12:35:23,893] ERROR [c|task-0] Graceful stop of task c-0 failed. (o.Worker:1104)"
LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": LOG}}]}]}]}
REPORT = {
    "id": "1",
    "source": "shop",
    "kind": "client_timeout",
    "happened_at_ms": 5,
    "client": "java",
    "client_id": "c",
    "timeout": "poll",
    "message": "late",
}


@contextmanager
def collector(lab: Lab, directory: Path) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    config = directory / "config.yaml"
    own = {"name": TOPIC, "data": str(directory), "receiver": {"enabled": True, "port": 0}}
    kafka = {"bootstrap_servers": lab.bootstrap_servers}
    config.write_text(yaml.safe_dump({"kafka": kafka, "events_topic": TOPIC, "collector": own}))
    command = [sys.executable, "-m", "collector", "--config", str(config)]
    errors = directory / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(command, stderr=file, text=True)
    try:
        with httpx2.Client(base_url=_address(errors), timeout=20, trust_env=False) as client:
            yield process, client
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


def _address(errors: Path) -> str:
    deadline = time.monotonic() + WITHIN_S
    while "Receiving at " not in (text := errors.read_text()):
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    return text.split("Receiving at ")[1].split()[0]


def posted(client: httpx2.Client, path: str, body: object) -> None:
    """Send it until it is acknowledged, as a shipper does."""
    deadline = time.monotonic() + WITHIN_S
    while (answer := client.post(path, json=body)).status_code == 503:
        assert time.monotonic() < deadline, answer.text
    assert answer.status_code == 200, answer.text


def test_what_is_sent_again_after_a_kill_and_a_restart_is_published_once(lab: Lab, tmp_path: Path) -> None:
    for killed in (True, False, False):
        with collector(lab, tmp_path) as (process, client):
            for _ in range(2):
                posted(client, "/v1/logs", LOGS)
                posted(client, "/v1/events", REPORT)
            if killed:
                process.kill()
    own = ("otlp@", "events:")
    kinds = [
        event["kind"] for event in events(lab.bootstrap_servers, TOPIC) if event["source"].startswith(own)
    ]
    assert sorted(kinds) == ["client_timeout", "task_abandoned"]
