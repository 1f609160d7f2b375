"""``python -m api`` as a process: what it refuses at start, what it writes to its log, whom it believes."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Engine, select

from api.credentials import issue
from deadwatch import local_token
from streaming.store.schema import audit

WITHIN_S = 120


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}


@contextmanager
def serving(log: Path, **variables: str) -> Iterator[httpx2.Client]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "api"], env=environment(API_PORT=str(port), **variables), stderr=errors
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=WITHIN_S) as client:
            deadline_s = time.monotonic() + WITHIN_S
            while "listening" not in log.read_text():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
            yield client
        process.terminate()
        assert process.wait(WITHIN_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def test_a_public_address_without_authentication_is_one_line_and_exit_code_2() -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "api"],
        env=environment(API_HOST="0.0.0.0"),  # noqa: S104 -- refused
        capture_output=True,
        check=False,
        text=True,
        timeout=WITHIN_S,
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "API_TOKEN_PEPPER" in refused.stderr


@pytest.fixture
def token(tmp_path: Path) -> str:
    local_token.make(tmp_path / "token")
    return (tmp_path / "token").read_text().strip()


@pytest.mark.usefixtures("store")
def test_its_log_is_json_and_holds_no_token(store_file: Path, tmp_path: Path, token: str) -> None:
    log, wrong = tmp_path / "api.log", issue().text
    variables = {
        "API_STORE_URL": f"sqlite:///{store_file}",
        "API_LOCAL_TOKEN_FILE": str(tmp_path / "token"),
        "API_LOG_FORMAT": "json",
    }
    with serving(log, **variables) as client:
        assert client.get("/api/v1/overview").status_code == 200
        assert client.post("/api/v1/redrives/a/cancel").status_code == 401
        for sent, status in ((token, 404), (wrong, 401)):
            headers = {"Authorization": f"Bearer {sent}"}
            assert client.post("/api/v1/redrives/a/cancel", headers=headers).status_code == status
        store_file.write_bytes(b"no store")  # so that something has to be said
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": "q-7"}
        assert client.post("/api/v1/redrives/a/cancel", headers=headers).status_code == 503
    lines = log.read_text()
    assert token.split("_")[2] not in lines
    assert wrong.split("_")[2] not in lines
    told = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    assert len(told) == len(lines.splitlines())
    (said,) = [one for one in told if one.get("request_id") == "q-7"]
    assert (said["level"], said["process"]) == ("ERROR", "api")
    assert said["message"].startswith("not kept in the audit: redrives.cancel a 503 store-unavailable")


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1",)], ids=["nobody is trusted", "the proxy is"])
def test_an_address_is_believed_of_a_trusted_proxy_alone(
    store: Engine, store_file: Path, tmp_path: Path, token: str, trusted: tuple[str, ...]
) -> None:
    variables = {
        "API_STORE_URL": f"sqlite:///{store_file}",
        "API_LOCAL_TOKEN_FILE": str(tmp_path / "token"),
        "API_TRUSTED_PROXIES": json.dumps(trusted),
    }
    with serving(tmp_path / "api.log", **variables) as client:
        headers = {"X-Forwarded-For": "203.0.113.9", "Authorization": f"Bearer {token}"}
        assert client.post("/api/v1/redrives/a/cancel", headers=headers).status_code == 401
    with store.begin() as connection:
        addresses = connection.scalars(select(audit.c.address)).all()
    assert addresses == ["203.0.113.9" if trusted else "127.0.0.1"]


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
def test_a_header_that_is_wrong_breaks_nothing(store_file: Path, tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    with serving(log, API_STORE_URL=f"sqlite:///{store_file}") as client:
        for line in BROKEN:
            with socket.create_connection(("127.0.0.1", client.base_url.port or 0), WITHIN_S) as raw:
                raw.sendall(b"POST /api/v1/redrives HTTP/1.1\r\nConnection: close\r\n" + line + b"\r\n\r\n")
                answer = raw.makefile("rb").readline()
            assert answer.split(b" ")[1] in {b"400", b"401", b"413", b"431"}, (line, answer)
        assert client.get("/api/v1/overview").status_code == 200
    assert "Traceback" not in log.read_text()
