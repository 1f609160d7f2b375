"""Which sessions have ended, as other replicas know it."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from api.auth.sign_in import Session
from api.auth.tokens import FRESH_MS, LONGEST_MS, OVERLAP_MS, SIGN_OUT, EndedSessions
from api.errors import StoreUnavailableError, UnauthenticatedError
from api.store import Store
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry
from tests.waiting import until

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


def test_an_end_is_known_whatever_clock_it_was_written_by(store: Engine, reader: Store, now_ms: int) -> None:
    clock = [now_ms]
    sessions = EndedSessions(reader, lambda: clock[0])
    for name, passed_ms, behind_ms in (("behind", FRESH_MS, OVERLAP_MS), ("set back", -3 * OVERLAP_MS, 0)):
        sessions.check(Session("goes on", FOR_EVER))
        end(store, name, clock[0] - behind_ms)
        clock[0] += passed_ms
        end(store, f"{name}, then", clock[0])
        for ended in (name, f"{name}, then"):
            with pytest.raises(UnauthenticatedError):
                sessions.check(Session(ended, FOR_EVER))


class Hanging(Store):
    """Does not answer before ``may_end``, and then only if it is ``slow``."""

    def __init__(self, url: str, *, slow: bool = False) -> None:
        super().__init__(url)
        self.asked, self.begun, self.may_end = 0, threading.Event(), threading.Event()
        self.slow = slow

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self.asked += 1
        self.begun.set()
        assert self.may_end.wait(60)
        if not self.slow:
            raise StoreUnavailableError("it hung")
        with super().read() as connection:
            yield connection


def waiting() -> int:
    """How many threads wait for the reading of another one."""
    inside = [one for one in sys._current_frames().values() if one.f_code is EndedSessions._known.__code__]
    return sum("now_ms" in frame.f_locals for frame in inside)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("slow", "readings"), [(False, 1), (True, 2)], ids=["it hangs", "it is slow"])
def test_a_store_is_waited_for_by_all_who_ask_meanwhile_and_not_by_one_after_the_other(
    store_url: str, now_ms: int, *, slow: bool, readings: int
) -> None:
    clock = [now_ms]
    with closing(Hanging(store_url, slow=slow)) as store, ThreadPoolExecutor(8) as threads:
        sessions = EndedSessions(store, lambda: clock[0])
        asking = [threads.submit(sessions.check, Session("goes on", FOR_EVER))]
        assert store.begun.wait(60)
        for _ in range(7):
            clock[0] += FRESH_MS
            asking.append(threads.submit(sessions.check, Session("goes on", FOR_EVER)))
            until(lambda: waiting() == len(asking) - 1, "one more thread that waits for the first")
        store.may_end.set()
        assert [one.result() for one in asking] == [None] * 8
        assert store.asked == readings
        clock[0] += FRESH_MS
        sessions.check(Session("goes on", FOR_EVER))
        assert store.asked == readings + 1, "who asks later asks the store"


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
