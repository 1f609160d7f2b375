"""The query and its store: a server that comes back, two streams by mistake, a file that is damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from lab import Lab
from streaming.store.store import Store
from streaming.store.trouble import REMEDY
from tests import postgres as servers
from tests.integration.test_streaming import KILLS, WITHIN_S, Streaming, Traffic, eventually, settled
from tests.postgres import Postgres
from tests.unit.test_store_restore import overwrite

pytestmark = pytest.mark.integration

AUDITED = """
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1999)
INSERT INTO audit (at_ms, who, role, token, action, subject, why, outcome, request_id, address)
SELECT 1, 'ann', '', '', 'a', '', printf('entry %08d', n), 'done', '', '' FROM numbers
"""


@pytest.fixture
def server(postgres_server: Postgres) -> Iterator[Postgres]:
    """A server that may be stopped: nobody else's."""
    del postgres_server  # it has told when there is none
    with servers.running() as own:
        yield own


@pytest.fixture
def traffic(lab: Lab, request: pytest.FixtureRequest) -> Traffic:
    return Traffic(lab.bootstrap_servers, f"store-{abs(hash(request.node.name))}")


def test_driver_and_server_end_at_any_moment_and_no_total_changes(
    lab: Lab, server: Postgres, traffic: Traffic, tmp_path: Path
) -> None:
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, server.database())
    for _ in range(KILLS):
        traffic.write()
        before = streaming.batches()
        with streaming.running():
            assert eventually(lambda: streaming.batches() > before), streaming.log()  # noqa: B023 -- called at once
            server.stop()
            traffic.write(1)
            server.start()
    traffic.write()
    with streaming.running():
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
    assert server.password not in streaming.log()


@contextmanager
def frozen(pid: int) -> Iterator[Callable[[], None]]:
    """The driver and its JVM stand still until they are woken, at the latest at the end."""
    driver = psutil.Process(pid)
    processes = [*driver.children(recursive=True), driver]

    def wake() -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    for process in processes:
        process.suspend()
    try:
        yield wake
    finally:
        wake()


def test_a_second_stream_is_refused_and_a_zombie_commits_nothing(
    lab: Lab, traffic: Traffic, postgres: str, tmp_path: Path
) -> None:
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, postgres, heartbeat_interval_ms="1000")
    traffic.write(1)
    with streaming.running() as first:
        assert settled(streaming, traffic), streaming.log()
        with streaming.running() as second:
            assert second.wait(WITHIN_S) == 2
        assert f"another stream writes this store (pid {first.pid} on " in streaming.log()
        assert first.poll() is None

        before = streaming.batches()
        traffic.write()
        assert eventually(lambda: streaming.batches() > before), streaming.log()
        with frozen(first.pid) as wake, streaming.running():  # in the middle of a batch: many are to come
            assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
            wake()
            assert first.wait(WITHIN_S) == 2
            traffic.write(1)
            assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())


def test_a_damaged_store_is_said_and_restored_by_one_command(
    lab: Lab, traffic: Traffic, tmp_path: Path
) -> None:
    """Counts are exact afterwards, and what Kafka does not have is there as far as it can be read."""
    file = tmp_path / "deadwatch.db"
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path)
    with Store(f"sqlite:///{file}"):
        streaming.execute(AUDITED)
    overwrite(file, b"entry 00001500")
    traffic.write()
    with streaming.running():
        assert eventually(lambda: f"): {REMEDY}" in streaming.log()), streaming.log()
        assert settled(streaming, traffic), streaming.log()  # what is whole goes on
        assert streaming.command("streaming.store", "restore") == 2
        assert "is in use: stop what works with it" in streaming.log()
    assert streaming.command("streaming.store", "check") == 1
    assert streaming.command("streaming.store", "restore") == 0, streaming.log()
    assert f"{file} is restored; what was there is {file.name}.aside-1 now" in streaming.log()
    assert streaming.command("streaming.store", "check") == 0, streaming.log()
    traffic.write(1)
    with streaming.running():
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
    assert "the checkpoint was put aside" in streaming.log()
    with closing(sqlite3.connect(file)) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM audit WHERE why LIKE 'entry %'").fetchone()
    assert 1_800 < kept < 2_000  # the rows of one page
    assert "Traceback" not in streaming.log()
