"""Schemathesis against the running service, on a real Kafka: no 5xx and no answer that is not documented."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import local_token
from deadwatch.contract import headers as names
from deadwatch.store.store import Store
from lab import Lab
from lab.topics import Topics
from tests import http
from tests.api_process import serving
from tests.kafka_topics import producing
from tests.names import fresh

TIME_S = int(os.environ.get("DEADWATCH_SCHEMATHESIS_S", "35"))
SCHEMATHESIS = "from schemathesis.cli import schemathesis; schemathesis()"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)
ENDLESS = "/api/v1/live"
"""Answers as long as somebody listens; tests/unit/api/routes/test_live.py has it."""


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / local_token.NAME
    local_token.make(file)
    return file


@pytest.fixture
def url(lab: Lab, tmp_path: Path, token: Path) -> Iterator[str]:
    """The service beside a store and a dead letter topic with records."""
    topic = fresh("dlq.fuzz-")
    Topics(lab.bootstrap_servers).create(topic)
    with producing(lab.bootstrap_servers) as producer:
        for number in range(50):
            producer.produce(topic, b'{"n": %d}' % number, headers=[(names.CONNECT_MESSAGE, b"failed")])
    store = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    Store(store).open().close()
    settings = {
        "store_url": store,
        "local_token_file": str(token),
        "kafka__bootstrap_servers": lab.bootstrap_servers,
    }
    with serving(tmp_path, **settings) as api:
        yield api.url


def test_no_request_gets_an_answer_that_is_not_documented(url: str, token: Path, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-c", SCHEMATHESIS, "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {local_token.find(token, url)}", "--exclude-path", ENDLESS),
        *("--checks", CHECKS, "--max-time", str(TIME_S), "--max-examples", "15", "--no-color"),
        *("--phases", "examples,coverage,fuzzing", "--generation-deterministic", "--warnings", "off"),
        *("--request-timeout", "60", "--suppress-health-check", "all"),
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-20_000:]
    operations = sum(map(len, http.get(f"{url}/openapi.json").json()["paths"].values()))
    assert f"{operations - 1} selected / {operations} total" in run.stdout
