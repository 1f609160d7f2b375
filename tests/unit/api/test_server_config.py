"""``python -m api`` as a process: what it writes to its log, whom it believes."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from api.__main__ import end_on_signals, server_config
from api.auth.credentials import issue
from api.settings import ApiSettings
from deadwatch.runtime.process import STOP_SIGNALS
from deadwatch.store.schema import audit
from lab.ports import free_port
from tests.waiting import WITHIN_S, until

CANCEL = "/api/v1/redrives/a/cancel"


@contextmanager
def serving(log: Path, **variables: str) -> Iterator[httpx2.Client]:
    port = free_port()
    with log.open("wb") as errors:
        inherited = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "API_PORT": str(port)}
        command = [sys.executable, "-m", "api"]
        process = subprocess.Popen(command, env=inherited | variables, stderr=errors)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=WITHIN_S) as client:
            until(lambda: "listening" in log.read_text() or process.poll() is not None, log.read_text)
            assert process.poll() is None, log.read_text()
            yield client
        process.terminate()
        assert process.wait(WITHIN_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def given_back() -> Iterator[None]:
    """Every signal that asks for the end does so inside, and afterwards what it did before."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("given_back")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_what_asks_for_the_end_ends_the_server(number: signal.Signals) -> None:
    server = uvicorn.Server(uvicorn.Config(""))
    end_on_signals(server)
    signal.raise_signal(number)
    assert server.should_exit


@pytest.mark.usefixtures("given_back")
def test_a_closed_terminal_ends_no_server_where_that_is_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    server = uvicorn.Server(uvicorn.Config(""))
    end_on_signals(server)
    signal.raise_signal(signal.SIGHUP)
    assert not server.should_exit


@pytest.mark.parametrize(("trusted", "address"), [(("127.0.0.1",), "203.0.113.9"), ((), "127.0.0.1")])
def test_only_a_trusted_proxy_is_believed(
    store: Engine, store_file: Path, trusted: tuple[str, ...], address: str
) -> None:
    config = server_config(ApiSettings(store_url=f"sqlite:///{store_file}", trusted_proxies=trusted))
    config.load()
    app: Any = config.loaded_app
    TestClient(app, "http://127.0.0.1", client=("127.0.0.1", 1)).post(
        CANCEL, headers={"X-Forwarded-For": "203.0.113.9"}
    )
    with store.begin() as connection:
        assert connection.scalars(select(audit.c.address)).one() == address


BROKEN = (
    b"X-Request-Id: a\r\n\tb",
    b"X-Request-Id: a\x00b",
    b"X-Request-Id: a\x1b[31mb",
    b"Authorization: Bearer \xff\xfe",
    b"Host: evil.example",
    b"Content-Length: -1",
    b"Content-Length: 99999999999999999999",
    b"Idempotency-Key: " + b"k" * 60_000,
)


@pytest.mark.usefixtures("store")
def test_a_wrong_header_breaks_nothing_and_its_log_is_json_and_holds_no_token(
    store_file: Path, tmp_path: Path, local_token_file: Path, local_token: str
) -> None:
    log, token, wrong = tmp_path / "api.log", local_token, issue().text
    variables = {"API_STORE_URL": f"sqlite:///{store_file}", "API_LOCAL_TOKEN_FILE": str(local_token_file)}
    with serving(log, API_LOG_FORMAT="json", **variables) as client:
        for line in BROKEN:
            with socket.create_connection(("127.0.0.1", client.base_url.port or 0), WITHIN_S) as raw:
                raw.sendall(b"POST /api/v1/redrives HTTP/1.1\r\nConnection: close\r\n" + line + b"\r\n\r\n")
                answer = raw.makefile("rb").readline()
            assert answer.split(b" ")[1] in {b"400", b"401", b"413", b"431"}, (line, answer)
        for path in ("/livez", "/api/v1/overview"):
            assert client.get(path).status_code == 200
        for authorization, status in ((token, 404), (wrong, 401)):
            headers = {"Authorization": f"Bearer {authorization}"}
            assert client.post(CANCEL, headers=headers).status_code == status
        store_file.write_bytes(b"no store")  # so that there is something to log
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": "q-7"}
        assert client.post(CANCEL, headers=headers).status_code == 503
    lines = log.read_text()
    assert "Traceback" not in lines
    assert token.split("_")[2] not in lines
    assert wrong.split("_")[2] not in lines
    (entry,) = [line for line in map(json.loads, lines.splitlines()) if line.get("request_id") == "q-7"]
    assert (entry["level"], entry["process"]) == ("ERROR", "api")
    assert entry["message"].startswith("not kept in the audit: redrives.cancel a 503 store-unavailable")
