"""The query and its store: a server that comes back, two streams by mistake."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from lab import Lab
from tests import families
from tests import postgres as servers
from tests.integration.streaming_process import WITHIN_S, Streaming, Traffic, eventually, settle
from tests.postgres import Postgres
from tests.waiting import until

MIDWAY = text(
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'deadwatch' AND state = 'active'"
)


@pytest.fixture
def server(postgres_server: Postgres) -> Iterator[Postgres]:
    """A server that may be stopped: nobody else's."""
    del postgres_server  # it has told when there is none
    with servers.running() as own:
        yield own


@contextmanager
def frozen(pid: int, store: Engine) -> Iterator[Callable[[], None]]:
    """The driver and its JVM stand still until they are woken, at the latest at the end.

    Not in the middle of a statement: PostgreSQL (to 16) gives up on who is silent in a transaction, but not
    on who is silent between the statements that it sends together, and keeps their locks.
    """
    with ExitStack() as still:

        def stands_still() -> bool:
            still.enter_context(families.frozen(psutil.Process(pid)))
            with store.connect() as connection:
                if not connection.execute(MIDWAY).scalar_one():
                    return True
            still.close()
            return False

        until(stands_still, "the driver is always in the middle of a statement")
        yield still.close


@pytest.mark.chaos
def test_a_server_comes_back_a_second_stream_is_refused_and_a_zombie_commits_nothing(
    lab: Lab, server: Postgres, traffic: Traffic, tmp_path: Path
) -> None:
    url = server.database()
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, url, heartbeat_interval_ms="1000")
    traffic.write()
    with streaming.running() as first:
        settle(streaming, traffic)
        with streaming.running() as second:
            assert second.wait(WITHIN_S) == 2
        assert f"another stream writes this store (pid {first.pid} on " in streaming.log()
        assert first.poll() is None

        with server.away():
            traffic.write(1)
        settle(streaming, traffic)
        before = streaming.batches()
        traffic.write()
        assert eventually(lambda: streaming.batches() > before), streaming.log()
        with frozen(first.pid, create_engine(url, poolclass=NullPool)) as wake, streaming.running():
            settle(streaming, traffic)
            wake()
            assert first.wait(WITHIN_S) == 2
            traffic.write(1)
            settle(streaming, traffic)
    assert server.password not in streaming.log()
