"""Which sessions have ended, as other replicas know it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from api.auth.sign_in import Session
from api.auth.tokens import FRESH_MS, LONGEST_MS, SIGN_OUT, EndedSessions
from api.errors import UnauthenticatedError
from api.store import Store
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry

FOR_EVER = 1 << 60


@pytest.fixture
def reader(store_url: str) -> Iterator[Store]:
    with closing(Store(store_url)) as found:
        yield found


def end(store: Engine, session: str, at_ms: int) -> None:
    with store.begin() as connection:
        audit.write(connection, Entry(at_ms=at_ms, who="ann", action=SIGN_OUT, subject=session))


def test_a_replica_that_nobody_asked_for_long_knows_of_every_end_since(
    store: Engine, reader: Store, now_ms: int
) -> None:
    clock = [now_ms]
    end(store, "before the start", now_ms - LONGEST_MS + 1)
    sessions = EndedSessions(reader, lambda: clock[0])
    sessions.check(Session("goes on", FOR_EVER))
    with pytest.raises(UnauthenticatedError, match="the session has ended"):
        sessions.check(Session("before the start", FOR_EVER))
    for session, later_ms in (("meanwhile", 600_000), ("now", 3_600_000)):
        end(store, session, now_ms + later_ms)
    clock[0] = now_ms + 3_600_000
    for ended in ("meanwhile", "now"):
        with pytest.raises(UnauthenticatedError, match="the session has ended"):
            sessions.check(Session(ended, FOR_EVER))
    end(store, "in the half second", clock[0])
    clock[0] += FRESH_MS
    with pytest.raises(UnauthenticatedError, match="the session has ended"):
        sessions.check(Session("in the half second", FOR_EVER))
    sessions.check(Session("goes on", FOR_EVER))


def test_what_has_ended_is_known_while_the_store_is_away(
    store: Engine, reader: Store, store_file: Path, now_ms: int
) -> None:
    clock = [now_ms]
    sessions = EndedSessions(reader, lambda: clock[0])
    end(store, "ended", now_ms)
    with pytest.raises(UnauthenticatedError):
        sessions.check(Session("ended", FOR_EVER))
    for file in store_file.parent.glob(f"{store_file.name}*"):
        file.unlink()
    clock[0] += FRESH_MS
    with pytest.raises(UnauthenticatedError):
        sessions.check(Session("ended", FOR_EVER))
    sessions.check(Session("goes on", FOR_EVER))
