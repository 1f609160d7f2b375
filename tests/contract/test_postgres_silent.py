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

IDLE = {**engines.POSTGRESQL, "options": "-c idle_in_transaction_session_timeout=100ms"}
IMPATIENT = {**engines.POSTGRESQL, "options": "-c lock_timeout=100ms"}
"""Without the other limit, which would end who waits: its transaction is idle while it asks who is silent."""


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """A client that has locked a row in a pipeline, and says nothing more."""
    with suppress(psycopg.OperationalError), psycopg.connect(url, **IDLE) as client, client.pipeline():
        client.execute("UPDATE sources SET kind = 'frozen' RETURNING kind").fetchall()
        yield


def wait_in_vain(engine: Engine) -> None:
    with pytest.raises(OperationalError, match="lock timeout"), engine.begin() as connection:
        connection.execute(update(sources).values(kind="next"))


def test_who_waits_for_a_frozen_client_ends_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(url) as store:
        store.note_source("s", "k", up=True, message="", now_ms=1)
    patient = engines.connect(url)
    with frozen(url):
        with monkeypatch.context() as changed:
            changed.setattr(engines, "POSTGRESQL", IMPATIENT)
            engine = engines.connect(url)
            for _ in range(3):  # no limit of the server ends it
                wait_in_vain(engine)
            changed.setattr(engines, "SILENT_S", 0)
            wait_in_vain(engine)
        engine.dispose()
        with patient.begin() as connection:  # the server only signals the session that it has to end
            connection.execute(update(sources).values(kind="next"))
    patient.dispose()
