"""How a worker begins on a store that is away, and what its end says of that."""

import sqlite3
import threading

import pytest
from sqlalchemy.exc import DatabaseError, OperationalError

from deadwatch.runtime import process
from redrive import __main__ as redrive
from redrive.settings import RedriveSettings


class StoreThatIsLocked:
    """A store whose first write fails as often as it is told to; after that it works."""

    failures = 0

    def __init__(self, url: str) -> None:
        del url

    def open(self) -> None:
        """It can be opened."""

    def forget_sources(self, *_what: object) -> None:
        if StoreThatIsLocked.failures:
            StoreThatIsLocked.failures -= 1
            raise OperationalError("UPDATE", {}, sqlite3.OperationalError("database is locked"))

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(autouse=True)
def _locked(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RedriveSettings(retry_backoff_ms=1, retry_backoff_max_ms=1)
    monkeypatch.setattr(redrive, "begin", lambda *_: settings)
    monkeypatch.setattr(redrive, "Store", StoreThatIsLocked)
    monkeypatch.setattr("redrive.__main__.process.stop_on_signals", threading.Event)
    monkeypatch.setattr(StoreThatIsLocked, "failures", 2)


def test_the_first_write_waits_for_a_store_that_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = list[int]()
    monkeypatch.setattr(redrive, "work", lambda *_: worked.append(StoreThatIsLocked.failures))
    redrive.main()
    assert worked == [0]


@pytest.mark.parametrize(
    ("error", "code"), [(OperationalError, process.AGAIN), (DatabaseError, process.REFUSED)]
)
def test_only_what_does_not_pass_by_itself_is_for_an_operator(
    monkeypatch: pytest.MonkeyPatch, error: type[DatabaseError], code: int
) -> None:
    def failing(*_: object) -> None:
        raise error("UPDATE", {}, sqlite3.OperationalError("database is locked"))

    monkeypatch.setattr(redrive, "work", failing)
    with pytest.raises(SystemExit) as ended:
        redrive.main()
    assert ended.value.code == code
