"""``python -m redrive`` as a process, as far as Kafka is not asked."""

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text

from deadwatch.store import schema
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from deadwatch.store.trouble import REMEDY
from tests.redrive_process import working
from tests.waiting import until

WITHIN_S = 60


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path / 'deadwatch.db'}")
    yield made
    made.dispose()


def worker(engine: Engine, **settings: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """One whose Kafka does not answer; its log is beside the store."""
    return working(str(engine.url), "127.0.0.1:1", log=log_of(engine), **settings)


def log_of(engine: Engine) -> Path:
    return Path(engine.url.database or "").with_name("log")


def sources(engine: Engine) -> list[tuple[str, str, bool, str]]:
    table = schema.sources.c
    with engine.begin() as connection:
        if not connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'sources'")):
            return []
        rows = connection.execute(select(table.name, table.kind, table.up, table.message))
        return [tuple(row) for row in rows]


def test_workers_say_that_they_live_and_those_without_a_name_are_forgotten(engine: Engine) -> None:
    with worker(engine) as killed:
        until(lambda: len(sources(engine)) == 1)
        with worker(engine) as other:
            until(lambda: len(sources(engine)) == 2)
            assert {name for name, *_ in sources(engine)} == {
                f"redrive:{socket.gethostname()}-{process.pid}" for process in (killed, other)
            }
            other.send_signal(signal.SIGTERM)
            assert other.wait(WITHIN_S) == 0
        assert len(sources(engine)) == 1
        killed.kill()
        killed.wait(WITHIN_S)
    long_ago = schema.sources.update().values(heartbeat_ms=schema.sources.c.heartbeat_ms - 3_600_000)
    with engine.begin() as connection:
        connection.execute(long_ago)
    with worker(engine, name="w1") as named:
        until(lambda: sources(engine) == [("redrive:w1", "redrive", True, "")])
        named.send_signal(signal.SIGTERM)
        assert named.wait(WITHIN_S) == 0
    assert sources(engine) == [("redrive:w1", "redrive", False, "stopped")]


def of_a_newer_program(engine: Engine) -> None:
    Store(str(engine.url)).open().close()
    with engine.begin() as connection:
        connection.execute(text("UPDATE deadwatch_version SET version_num = '9999'"))


def damaged(engine: Engine) -> None:
    Path(engine.url.database or "").write_bytes(b"no database at all" * 100)


def without_a_certificate(engine: Engine) -> dict[str, str]:
    file = log_of(engine).with_name("ca.pem")
    file.write_text("no certificate")
    return {"kafka__security_protocol": "SSL", "kafka__ssl_ca_location": str(file)}


@pytest.mark.parametrize(
    ("spoil", "seen", "advice"),
    [
        (of_a_newer_program, "the store has version 9999", "install a newer one"),
        (damaged, "the store does not work, its file is no database", REMEDY),
        (without_a_certificate, "no client can be made: ", ": ssl.ca.location is /"),
    ],
)
def test_what_it_cannot_use_is_refused_in_one_line(
    engine: Engine, spoil: Callable[[Engine], dict[str, str] | None], seen: str, advice: str
) -> None:
    with worker(engine, **(spoil(engine) or {})) as process:
        assert process.wait(WITHIN_S) == 2
    (line,) = log_of(engine).read_text().splitlines()
    assert f"ERROR [redrive] {seen}" in line
    assert advice in line
