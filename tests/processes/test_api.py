"""``python -m api`` as a process: what it writes to its log."""

import json
import socket
from pathlib import Path

import httpx2
from sqlalchemy import NullPool, create_engine

from api.auth.credentials import issue
from deadwatch.store import upgrades
from tests.api_process import serving
from tests.waiting import WITHIN_S

CANCEL = "/api/v1/redrives/a/cancel"


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


def test_a_wrong_header_breaks_nothing_and_its_log_is_json_and_holds_no_token(tmp_path: Path) -> None:
    store_file, token, wrong = tmp_path / "deadwatch.db", issue().text, issue().text
    store_url = f"sqlite:///{store_file}"
    upgrades.upgrade(create_engine(store_url, poolclass=NullPool))
    token_file = tmp_path / "token"
    token_file.touch(0o600)
    token_file.write_text(token)
    settings = {"store_url": store_url, "local_token_file": str(token_file), "log_format": "json"}
    with (
        serving(tmp_path, **settings) as api,
        httpx2.Client(base_url=api.url, trust_env=False, timeout=WITHIN_S) as client,
    ):
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
    lines = api.log.read_text()
    assert "Traceback" not in lines
    assert token.split("_")[2] not in lines
    assert wrong.split("_")[2] not in lines
    (entry,) = [line for line in map(json.loads, lines.splitlines()) if line.get("request_id") == "q-7"]
    assert (entry["level"], entry["process"]) == ("ERROR", "api")
    assert entry["message"].startswith("not kept in the audit: redrives.cancel a 503 store-unavailable")
