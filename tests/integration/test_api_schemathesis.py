"""Schemathesis against the running service, on a real Kafka: no 5xx and no answer that is not documented."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from confluent_kafka import Producer

from api.credentials import issue
from collector.contract import headers as names
from lab import Lab
from lab.topics import Topics
from streaming.store.store import Store

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
START_S = 120
TIME_S = int(os.environ.get("DEADWATCH_SCHEMATHESIS_S", "100"))
SCHEMATHESIS = "from schemathesis.cli import schemathesis; schemathesis()"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)
ENDLESS = "/api/v1/live"
"""Answers as long as somebody listens; test_api_live.py has it."""


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(issue().text)
    return file


@pytest.fixture
def url(lab: Lab, tmp_path: Path, token: Path) -> Iterator[str]:
    """The service beside a store and a dead letter topic with records."""
    topic = f"dlq.fuzz-{uuid.uuid4().hex[:8]}"
    Topics(lab.bootstrap_servers).create(topic)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers})
    for number in range(50):
        producer.produce(topic, b'{"n": %d}' % number, headers=[(names.CONNECT_MESSAGE, b"failed")])
    assert producer.flush(30) == 0
    store = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(store):
        pass
    settings = {
        "API_PORT": "0",
        "API_STORE_URL": store,
        "API_LOCAL_TOKEN_FILE": str(token),
        "API_KAFKA__BOOTSTRAP_SERVERS": lab.bootstrap_servers,
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "api"], cwd=ROOT, env={**inherited, **settings}, stderr=stderr
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(30)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        _, found, address = log.read_text().partition("listening on ")
        if found and "\n" in address:
            return address.split()[0]
        time.sleep(0.05)
    pytest.fail(f"the api did not begin: {log.read_text()}")


def test_no_request_gets_an_answer_that_is_not_documented(url: str, token: Path, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-c", SCHEMATHESIS, "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {token.read_text()}", "--exclude-path", ENDLESS),
        *("--checks", CHECKS, "--max-time", str(TIME_S), "--max-examples", "15", "--no-color"),
        *("--phases", "examples,coverage,fuzzing", "--generation-deterministic", "--warnings", "off"),
        *("--request-timeout", "60", "--suppress-health-check", "all"),
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-20_000:]
    operations = sum(map(len, httpx2.get(f"{url}/openapi.json").json()["paths"].values()))
    assert f"{operations - 1} selected / {operations} total" in run.stdout
