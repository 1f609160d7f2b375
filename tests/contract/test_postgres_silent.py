"""A client that is frozen in the middle of a pipeline keeps its locks: whoever waits for them ends it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from sqlalchemy import Engine, update
from sqlalchemy.exc import OperationalError

from deadwatch.store import engine as engines
from deadwatch.store.schema import sources
from deadwatch.store.store import Store

LIMITS = "-c lock_timeout=100ms -c idle_in_transaction_session_timeout=100ms"
BRIEFLY = {**engines.POSTGRESQL, "options": LIMITS}


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """A client that has locked a row in a pipeline, and says nothing more."""
    with suppress(psycopg.OperationalError), psycopg.connect(url, **BRIEFLY) as client, client.pipeline():
        client.execute("UPDATE sources SET kind = 'frozen'")
        client.pgconn.send_flush_request()
        while client.pgconn.flush():
            pass
        yield


def wait_in_vain(engine: Engine) -> None:
    with pytest.raises(OperationalError, match="lock timeout"), engine.begin() as connection:
        connection.execute(update(sources).values(kind="next"))


def test_who_waits_for_a_frozen_client_ends_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(url) as store:
        store.note_source("s", "k", up=True, message="", now_ms=1)
    monkeypatch.setattr(engines, "POSTGRESQL", BRIEFLY)
    engine = engines.connect(url)
    with frozen(url):
        for _ in range(3):  # no limit of the server ends it
            wait_in_vain(engine)
        monkeypatch.setattr(engines, "SILENT_S", 0)
        wait_in_vain(engine)
        with engine.begin() as connection:
            connection.execute(update(sources).values(kind="next"))
    engine.dispose()
