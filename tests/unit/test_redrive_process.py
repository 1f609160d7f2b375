"""``python -m streaming.redrive`` as a process, as far as Kafka is not asked."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text

from streaming.store import schema
from streaming.store.engine import connect
from streaming.store.store import Store
from streaming.store.trouble import REMEDY
from tests.waiting import until

WITHIN_S = 60


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path / 'deadwatch.db'}")
    yield made
    made.dispose()


@contextmanager
def worker(engine: Engine, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("REDRIVE_")},
        "PYTHONPATH": os.pathsep.join(sys.path),
        "REDRIVE_STORE_URL": str(engine.url),
        "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        **variables,
    }
    command = [sys.executable, "-m", "streaming.redrive"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def sources(engine: Engine) -> list[tuple[str, str, bool, str]]:
    table = schema.sources.c
    with engine.begin() as connection:
        if not connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE name = 'sources'")):
            return []
        rows = connection.execute(select(table.name, table.kind, table.up, table.message))
        return [tuple(row) for row in rows]


def test_a_worker_makes_the_store_says_that_it_lives_and_ends_when_asked(engine: Engine) -> None:
    with worker(engine, REDRIVE_NAME="w1") as process:
        until(lambda: sources(engine) == [("redrive:w1", "redrive", True, "")])
        process.send_signal(signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    assert sources(engine) == [("redrive:w1", "redrive", False, "stopped")]


def test_workers_without_names_are_told_apart_and_forgotten_when_they_stop(engine: Engine) -> None:
    with worker(engine) as one:
        until(lambda: len(sources(engine)) == 1)
        with worker(engine) as other:
            until(lambda: len(sources(engine)) == 2)
            assert {name for name, *_ in sources(engine)} == {
                f"redrive:{socket.gethostname()}-{process.pid}" for process in (one, other)
            }
            other.send_signal(signal.SIGTERM)
            assert other.wait(WITHIN_S) == 0
        assert len(sources(engine)) == 1


def test_who_was_killed_without_a_name_is_forgotten_in_the_end(engine: Engine) -> None:
    with worker(engine) as process:
        until(lambda: len(sources(engine)) == 1)
        process.kill()
        process.wait(WITHIN_S)
    long_ago = schema.sources.update().values(heartbeat_ms=schema.sources.c.heartbeat_ms - 3_600_000)
    with engine.begin() as connection:
        connection.execute(long_ago)
    with worker(engine, REDRIVE_NAME="w1"):
        until(lambda: [name for name, *_ in sources(engine)] == ["redrive:w1"])


def test_a_store_of_a_newer_program_is_refused_in_one_line(engine: Engine) -> None:
    with Store(str(engine.url)):
        pass
    with engine.begin() as connection:
        connection.execute(text("UPDATE deadwatch_version SET version_num = '9999'"))
    with worker(engine) as process:
        _, told = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 2
    (line,) = told.splitlines()
    assert "ERROR [redrive] the store has version 9999" in line
    assert "install a newer one" in line


def test_a_damaged_store_is_refused_in_one_line_with_the_command_that_mends_it(engine: Engine) -> None:
    Path(engine.url.database or "").write_bytes(b"no database at all" * 100)
    with worker(engine) as process:
        _, told = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 2
    (line,) = told.splitlines()
    assert "ERROR [redrive] the store does not work, its file is no database" in line
    assert REMEDY in line
