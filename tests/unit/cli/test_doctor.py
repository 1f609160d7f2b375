import re
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Engine

from api.checks import Finding, api_checks, fail, ok, warn
from api.settings import ApiSettings
from cli import doctor
from cli.doctor import line, of_kafka, report, table
from cli.service import Service
from collector.settings import CollectorSettings, ConnectSettings, LogSettings, LogTopicSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store import versions
from jars import cache
from redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings
from tests.http_server import Serve
from tests.unit.cli.terminal import printed

FINDINGS = [
    ok("Java", "17"),
    warn("logs", "none to follow", "give --log GLOB"),
    fail("Kafka", "cannot be reached", "check --bootstrap-servers"),
]
LINES = [
    "ok    Java: 17",
    "warn  logs: none to follow; give --log GLOB",
    "FAIL  Kafka: cannot be reached; check --bootstrap-servers",
]


def service(
    data: Path, collector: CollectorSettings | None = None, api: ApiSettings | None = None
) -> Service:
    url = f"sqlite:///{data / 'deadwatch.db'}"
    return Service(
        collector or CollectorSettings(),
        StreamingSettings(store_url=url),
        RedriveSettings(store_url=url),
        api or ApiSettings(),
        data,
        None,
    )


@pytest.mark.parametrize(
    ("seen", "shown"),
    [
        ("http://ann:s3cret@c:8083 does not answer", "http://ann:***@c:8083 does not answer"),
        ("https://ann:s3cr@t@c/x, http://:s3cret@d", "https://ann:***@c/x, http://:***@d"),
        ("http://c:8083/a@b is version 4", "http://c:8083/a@b is version 4"),
        ("postgresql+psycopg://ann@db/x", "postgresql+psycopg://ann@db/x"),
    ],
)
def test_no_password_of_an_address_is_shown(seen: str, shown: str) -> None:
    assert (warn("Connect", seen).seen, fail("Connect", "x", seen).advice) == (shown, shown)


def test_connect_that_asks_for_a_password_does_not_show_it(tmp_path: Path) -> None:
    collector = CollectorSettings(connect=(ConnectSettings(url="http://ann:s3cret@127.0.0.1:1"),))
    lines = [line(finding) for finding in doctor.connect(service(tmp_path, collector))]
    assert "ann:***@127.0.0.1" in "".join(lines)
    assert "s3cret" not in "".join(lines)


@pytest.mark.parametrize("body", [b"[]", b'{"a": 1}', b'{"a": {"b": 1}}'])
def test_what_answers_and_is_not_connect_fails(body: bytes, serve: Serve, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{serve(lambda *_: (200, body))}"
    other = CollectorSettings(connect=(ConnectSettings(url=url),))
    told(
        doctor.connect(service(tmp_path, other)), f"FAIL  Connect: {url} is not Connect; check --connect-url"
    )


def test_the_table_shows_everything() -> None:
    shown = printed(table(FINDINGS))
    assert all(text in shown for text in ("FAIL", "none to follow", "check --bootstrap-servers"))
    assert "\u2026" not in printed(table(FINDINGS), 40), "a path or an option is cut"


@pytest.mark.parametrize(("found", "code"), [(FINDINGS[:2], 0), (FINDINGS, 1), ([], 0)])
def test_a_report_is_a_line_for_every_finding_with_what_to_do_and_only_a_failure_is_exit_code_1(
    found: list[Finding], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report([lambda: found[:1], lambda: found[1:]]) == code
    assert capsys.readouterr().out.splitlines() == LINES[: len(found)]


def told(found: Iterable[Finding], *patterns: str) -> None:
    lines = [line(finding) for finding in found]
    assert len(lines) == len(patterns), lines
    assert all(re.match(pattern, text) for pattern, text in zip(patterns, lines, strict=True)), lines


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        ("SELECT 1", f"ok    .*version {versions.known()[0]}"),
        ("UPDATE deadwatch_version SET version_num = '9999'", "FAIL  .*version 9999"),
        ("DROP TABLE deadwatch_version", "FAIL  .*holds other tables"),
    ],
)
def test_a_store_of_another_version_fails(change: str, pattern: str, store: Engine, store_file: Path) -> None:
    with store.begin() as connection:
        connection.exec_driver_sql(change)
    told(api_checks.store(f"sqlite:///{store_file}"), pattern)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, "no Date that can be read; compare"),
        ({"Date": ""}, "no Date that can be read"),
        ({"Date": "yesterday"}, "no Date that can be read"),
        ({"Date": "Mon, 01 Jan 0001 00:00:00 GMT"}, r"\d+ ms apart; synchronise"),
    ],
    ids=str,
)
def test_a_clock_that_is_not_told_or_is_apart_is_a_warning(headers: dict[str, str], found: str) -> None:
    answer = httpx2.Response(200, headers=headers)
    told(doctor._clock(ConnectSettings(url="http://c:8083"), answer), f"warn  clock: http://c:8083 .*{found}")


def test_a_store_that_is_not_there_yet_is_no_trouble_and_no_password_is_shown(tmp_path: Path) -> None:
    told(api_checks.store(f"sqlite:///{tmp_path / 'none.db'}"), "ok    ")
    assert not list(tmp_path.iterdir())
    told(api_checks.store("postgresql://us:hidden@127.0.0.1:1/deadwatch"), "FAIL  (?!.*hidden).*127.0.0.1")


def test_what_is_there_is_told_from_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_text("no database at all" * 100)
    (tmp_path / "a.log").write_text("")
    (tmp_path / "b.loop").symlink_to("b.loop")
    told(api_checks.store(f"sqlite:///{tmp_path / 'damaged.db'}"), "FAIL  .*no database")
    for pattern, found in (
        ("*.log", "ok    log: .*1 file"),
        ("later/*.log", "warn  log: .*matches no file"),
        ("*.loop", "FAIL  log: .*cannot be read"),
    ):
        settings = CollectorSettings(logs=(LogSettings(path=str(tmp_path / pattern)),))
        told(doctor.logs(service(tmp_path, settings)), found)
    told(doctor.logs(service(tmp_path, CollectorSettings(log_topics=(LogTopicSettings(topic="lines"),)))))
    told(doctor.data(service(tmp_path / "a.log" / "data")), "FAIL  data directory: ")
    for url in ("http://127.0.0.1:1", "http://c:port"):
        away = CollectorSettings(connect=(ConnectSettings(url=url),))
        told(doctor.connect(service(tmp_path, away)), f"FAIL  Connect: {url} does not answer")


def test_damaged_jars_are_made_anew_by_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADWATCH_CACHE", str(tmp_path))
    jar = cache.home() / "spark" / "a.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"whole")
    locked = cache.Manifest.of(cache.home())
    monkeypatch.setattr(cache.Manifest, "read", lambda: locked)
    told(doctor.archives(), "ok    jars: 1 verified")
    jar.write_bytes(b"wrong")
    command = re.escape(f"{sys.executable} -m jars")
    told(doctor.archives(), f"FAIL  jars: damaged: spark/a.jar; run `{command} --verify`, then `{command}`")


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (200, b'{"alive": true}', "ok    port: Deadwatch answers at http://127.0.0.1:{port}$"),
        (200, b'{"status": "UP"}', "FAIL  port: 127.0.0.1:{port} is taken; stop what listens there"),
        (404, b'{"alive": true}', "FAIL  port: 127.0.0.1:{port} is taken"),
        (200, b"<html>", "FAIL  port: 127.0.0.1:{port} is taken"),
    ],
)
def test_a_port_where_deadwatch_answers_is_no_trouble(
    status: int, body: bytes, found: str, serve: Serve, tmp_path: Path
) -> None:
    def answer(method: str, path: str, _: bytes) -> tuple[int, bytes]:
        return (status, body) if (method, path) == ("GET", "/livez") else (404, b"")

    port = serve(answer)
    told(doctor.port(service(tmp_path, api=ApiSettings(port=port))), found.format(port=port))


@pytest.fixture
def mute_server() -> Iterator[int]:
    """A server that takes connections and hangs up without a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_hang_up, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _hang_up(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


def test_a_kafka_that_is_not_there_is_told_from_one_that_speaks_no_tls(
    mute_server: int, tmp_path: Path
) -> None:
    away = KafkaConnection(bootstrap_servers="127.0.0.1:1")
    plain = KafkaConnection(bootstrap_servers=f"127.0.0.1:{mute_server}", security_protocol="SSL")
    no_tls = f"no TLS with 127.0.0.1:{mute_server}"
    for kafka, seen in ((away, "127.0.0.1:1 cannot be reached"), (plain, no_tls)):
        told(of_kafka(service(tmp_path, CollectorSettings(kafka=kafka))), f"FAIL  .*{seen}")
