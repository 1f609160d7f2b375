"""``python -m streaming.redrive`` as a process, as far as Kafka is not asked."""

import os
import signal
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


@pytest.mark.parametrize(
    ("variables", "name"), [({}, "redrive"), ({"REDRIVE_NAME": "w1"}, "redrive:w1")], ids=["unnamed", "named"]
)
def test_a_worker_makes_the_store_says_that_it_lives_and_ends_when_asked(
    engine: Engine, variables: dict[str, str], name: str
) -> None:
    with worker(engine, **variables) as process:
        until(lambda: sources(engine) == [(name, "redrive", True, "")])
        process.send_signal(signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    assert sources(engine) == [(name, "redrive", False, "stopped")]


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
