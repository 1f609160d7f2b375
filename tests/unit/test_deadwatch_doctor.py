import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from sqlalchemy import create_engine

from api.checks.finding import Finding, Level, fail, ok, warn
from api.checks.store import store
from api.settings import ApiSettings
from collector.kafka import KafkaConnection
from collector.settings import CollectorSettings, ConnectSettings, LogSettings, LogTopicSettings
from deadwatch import checks_connect, checks_machine
from deadwatch.doctor import exit_code, line, report, table
from deadwatch.examination import of_kafka
from deadwatch.service import Service
from streaming.redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings
from streaming.store import migrate, versions

FINDINGS = [
    ok("Java", "17"),
    warn("logs", "none to follow", "give --log GLOB"),
    fail("Kafka", "cannot be reached", "check --bootstrap-servers"),
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


def test_a_finding_is_one_line_with_what_to_do() -> None:
    assert [line(finding) for finding in FINDINGS] == [
        "ok    Java: 17",
        "warn  logs: none to follow; give --log GLOB",
        "FAIL  Kafka: cannot be reached; check --bootstrap-servers",
    ]


def test_the_table_shows_everything() -> None:
    output = io.StringIO()

    Console(file=output, width=120).print(table(FINDINGS))

    assert all(text in output.getvalue() for text in ("FAIL", "none to follow", "check --bootstrap-servers"))


@pytest.mark.parametrize(("found", "code"), [(FINDINGS[:2], 0), (FINDINGS, 1), ([], 0)])
def test_only_a_failure_is_exit_code_1(found: list[Finding], code: int) -> None:
    assert exit_code(found) == code


def test_a_report_shows_what_every_check_saw(capsys: pytest.CaptureFixture[str]) -> None:
    code = report([lambda: FINDINGS[:1], lambda: FINDINGS[1:]])

    assert code == 1
    assert capsys.readouterr().out.splitlines() == [line(finding) for finding in FINDINGS]


def test_a_store_that_is_not_there_yet_is_no_trouble(tmp_path: Path) -> None:
    assert [finding.level for finding in store(service(tmp_path).streaming.store_url)] == [Level.OK]
    assert not (tmp_path / "deadwatch.db").exists()


@pytest.mark.parametrize(
    ("change", "level", "seen"),
    [
        ("SELECT 1", Level.OK, f"version {versions.known()[0]}"),
        ("UPDATE deadwatch_version SET version_num = '9999'", Level.FAIL, "version 9999"),
        ("DROP TABLE deadwatch_version", Level.FAIL, "holds other tables"),
    ],
)
def test_a_store_of_another_version_fails(change: str, level: Level, seen: str, tmp_path: Path) -> None:
    looked_at = service(tmp_path)
    engine = create_engine(looked_at.streaming.store_url)
    migrate.upgrade(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(change)
    engine.dispose()

    (finding,) = store(looked_at.streaming.store_url)

    assert finding.level is level
    assert seen in finding.seen


def test_a_server_that_is_away_is_said_without_the_password() -> None:
    away = StreamingSettings(store_url="postgresql://us:hidden@127.0.0.1:1/deadwatch")

    (finding,) = store(away.store_url)

    assert finding.level is Level.FAIL
    assert "127.0.0.1" in finding.seen
    assert "hidden" not in line(finding)


def test_a_damaged_store_fails_with_advice(tmp_path: Path) -> None:
    (tmp_path / "deadwatch.db").write_text("no database at all" * 100)

    (finding,) = store(service(tmp_path).streaming.store_url)

    assert finding.level is Level.FAIL
    assert "no database" in finding.seen


def test_logs_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("")
    paths = [LogSettings(path=str(tmp_path / name)) for name in ("*.log", "later/*.log")]

    found = list(checks_machine.logs(service(tmp_path, CollectorSettings(logs=tuple(paths)))))

    assert [finding.level for finding in found] == [Level.OK, Level.WARN]


def test_lines_that_come_through_kafka_are_logs_too(tmp_path: Path) -> None:
    settings = CollectorSettings(log_topics=(LogTopicSettings(topic="lines"),))

    assert list(checks_machine.logs(service(tmp_path, settings))) == []


def test_a_data_directory_below_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    (finding,) = checks_machine.data(service(tmp_path / "file" / "data"))

    assert finding.level is Level.FAIL


def test_a_taken_port_fails(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = ApiSettings(port=server.getsockname()[1])

        (finding,) = checks_machine.port(service(tmp_path, api=taken))

    assert finding.level is Level.FAIL


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

    found = [
        next(iter(of_kafka(service(tmp_path, CollectorSettings(kafka=kafka))))) for kafka in (away, plain)
    ]

    assert [finding.level for finding in found] == [Level.FAIL, Level.FAIL]
    assert "127.0.0.1:1 cannot be reached" in found[0].seen
    assert f"no TLS with 127.0.0.1:{mute_server}" in found[1].seen


def test_a_connect_that_is_not_there_fails(tmp_path: Path) -> None:
    collector = CollectorSettings(connect=(ConnectSettings(url="http://127.0.0.1:1"),))

    (finding,) = checks_connect.connect(service(tmp_path, collector))

    assert finding.level is Level.FAIL
    assert "http://127.0.0.1:1 does not answer" in finding.seen


def test_a_log_that_cannot_be_read_fails(tmp_path: Path) -> None:
    (tmp_path / "a.log").symlink_to("a.log")

    (finding,) = checks_machine.logs(
        service(tmp_path, CollectorSettings(logs=(LogSettings(path=str(tmp_path / "*.log")),)))
    )

    assert finding.level is Level.FAIL
