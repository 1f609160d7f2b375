"""A client that is frozen in the middle of a pipeline keeps its locks: whoever waits for them ends it.

What the server says to a client that it has ended, or that it does not let write, passes by itself. Behind a
pooler a client has another session for each transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from sqlalchemy import Engine, text, update
from sqlalchemy.exc import InternalError, OperationalError

from api.checks import Level, api_checks
from deadwatch.store import engine as engines
from deadwatch.store.schema import sources
from deadwatch.store.store import Store
from deadwatch.store.trouble import is_passing, line
from tests.waiting import until

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


def test_a_client_that_was_frozen_in_a_transaction_tries_again(url: str) -> None:
    engine = engines.connect(url)
    found = text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid")
    watching = engine.execution_options(isolation_level="AUTOCOMMIT")

    def is_told_why() -> bool:
        with engine.connect() as connection, watching.connect() as other:
            own = {"pid": connection.scalar(text("SELECT pg_backend_pid()"))}
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '1ms'"))
            until(lambda: other.scalar(found, own) is None)
            with pytest.raises((InternalError, OperationalError)) as raised:
                connection.execute(text("SELECT 1"))
        assert is_passing(raised.value)
        return "idle-in-transaction" in str(raised.value)

    until(is_told_why)  # the words of the server and the end behind them: psycopg may see the end first
    engine.dispose()


def test_a_server_that_only_reads_is_asked_again_on_a_new_connection(url: str) -> None:
    engine, change = engines.connect(url), update(sources).values(kind="next")
    with Store(url), engines.reading(engine) as connection:
        connection.execute(text("SET default_transaction_read_only = on"))
    with engine.connect() as connection:
        with pytest.raises(InternalError) as raised:
            connection.execute(change)
        assert is_passing(raised.value)
        assert "name the primary server" in line(raised.value)
        connection.rollback()
        connection.execute(change)
    engine.dispose()


def test_the_doctor_sees_a_server_that_only_reads(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(url):
        pass
    assert [one.level for one in api_checks.store(url)] == [Level.OK]
    replica = {**engines.POSTGRESQL, "options": "-c default_transaction_read_only=on"}
    monkeypatch.setattr(api_checks, "POSTGRESQL", replica)
    (found,) = api_checks.store(url)
    assert (found.level, found.advice) == (Level.FAIL, "name the primary server in store_url")


@pytest.mark.parametrize("pooled", [False, True], ids=["the server itself", "a pooler"])
def test_what_was_prepared_is_not_looked_for_in_another_session(
    url: str, monkeypatch: pytest.MonkeyPatch, pooled: bool
) -> None:
    if pooled:
        monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", 1)  # a number of the pooler's own
    with Store(url) as store:
        for _ in range(9):
            store.offsets()
        with store.reading() as connection:
            prepared = connection.scalar(text("SELECT count(*) FROM pg_prepared_statements"))
    assert (prepared == 0) is pooled
