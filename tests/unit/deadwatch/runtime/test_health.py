"""A process that serves nothing says that it lives and that it works, or for how long it has not."""

import socket
import struct
import sys
import threading
from http.server import ThreadingHTTPServer
from unittest.mock import Mock

import httpx2
import pytest

from deadwatch.runtime.health import Health, HealthSettings
from lab.ports import free_port
from tests import http
from tests.waiting import until


def test_a_process_lives_from_its_start_and_is_ready_while_work_gets_done() -> None:
    clock = Mock(return_value=0)
    health = Health(HealthSettings(dead_after_ms=1_000, unready_after_ms=1_000), "test", clock)
    assert (health.answer("/livez"), health.answer("/readyz")[0]) == ((200, "ok"), 503)
    health.work_done()
    clock.return_value = 1_000  # the limit itself is still in time
    assert [health.answer(path) for path in ("/livez", "/readyz")] == [(200, "ok")] * 2
    clock.return_value = 1_001
    late = (503, "no sign for 1001 ms; see the log")
    assert [health.answer(path) for path in ("/livez", "/readyz")] == [late] * 2
    health.beat()
    assert (health.answer("/livez")[0], health.answer("/readyz")[0]) == (200, 503)
    clock.return_value = 10_000
    health.work_done()
    assert (health.answer("/livez")[0], health.answer("/readyz")[0]) == (503, 200)


def test_it_answers_over_http_and_tells_nothing_else() -> None:
    port = free_port()
    with Health(HealthSettings(port=port), "test") as health:
        health.work_done()
        url = f"http://127.0.0.1:{port}"
        answer = http.get(f"{url}/readyz?verbose")
        assert (answer.status_code, answer.text, answer.headers.get("Server")) == (200, "ok\n", None)
        assert http.get(f"{url}/metrics").status_code == 404
        for path in ("/livez", "/readyz", "/metrics"):
            whole, head = http.get(f"{url}{path}"), http.head(f"{url}{path}")
            assert (head.status_code, head.headers) == (whole.status_code, whole.headers)
        with socket.create_connection(("127.0.0.1", port)) as probe, probe.makefile("rb") as answered:
            probe.sendall(b"HEAD /livez HTTP/1.1\r\n\r\n")
            assert answered.read().endswith(b"\r\n\r\n"), "no body, which a client would not show"


@pytest.mark.parametrize("sent", [b"", b"GET /liv"])
def test_a_probe_that_hangs_up_is_no_line_of_the_log(sent: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with Health(HealthSettings(port=port), "test"):
        with socket.create_connection(("127.0.0.1", port)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it is reset
            probe.sendall(sent)
        assert http.get(f"http://127.0.0.1:{port}/livez").status_code == 200, "after the probe"
        until(lambda: "process_request_thread" not in str(threading.enumerate()), "both are over")
    assert capsys.readouterr().err == ""


def test_a_defect_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[BaseException | None] = []
    monkeypatch.setattr(ThreadingHTTPServer, "handle_error", lambda *_: seen.append(sys.exception()))
    monkeypatch.setattr(Health, "answer", lambda *_: 1 / 0)
    port = free_port()
    with Health(HealthSettings(port=port), "test"), pytest.raises(httpx2.RemoteProtocolError):
        http.get(f"http://127.0.0.1:{port}/livez")
    assert [type(error) for error in seen] == [ZeroDivisionError]


def test_a_port_that_is_taken_ends_the_process_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit, match="2"), Health(HealthSettings(port=port), "redrive"):
            pass
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert f"redrive: cannot listen on 127.0.0.1:{port}: " in written
