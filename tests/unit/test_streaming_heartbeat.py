"""A dead driver differs from an idle one."""

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from streaming.heartbeat import KAFKA, REDRIVE, STREAMING, Heartbeat
from streaming.store.store import Store

NEVER_MS = 3_600_000


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 10
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


def sources(file: Path) -> dict[str, tuple[int, str, int]]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT name, up, message, heartbeat_ms FROM sources")
        return {name: (up, message, heartbeat_ms) for name, up, message, heartbeat_ms in rows}


def test_a_change_is_written_at_once(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Store(f"sqlite:///{file}") as store:
        heartbeat = Heartbeat(store, NEVER_MS, lambda: 7)
        heartbeat.say(STREAMING, up=True)
        assert eventually(lambda: sources(file) == {"streaming": (1, "", 7)})
        heartbeat.say(KAFKA, up=False, message="away")
        assert eventually(lambda: sources(file).get("kafka") == (0, "away", 7))
        heartbeat.close()


def test_a_name_may_be_one_of_a_kind(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Store(f"sqlite:///{file}") as store:
        heartbeat = Heartbeat(store, NEVER_MS, lambda: 7)
        heartbeat.say("redrive:a", kind=REDRIVE, up=True)
        heartbeat.close()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert [*connection.execute("SELECT name, kind FROM sources")] == [("redrive:a", "redrive")]


def test_it_beats_while_nothing_changes(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    clock = itertools.count()
    with Store(f"sqlite:///{file}") as store:
        heartbeat = Heartbeat(store, 1, lambda: next(clock))
        heartbeat.say(STREAMING, up=True)
        assert eventually(lambda: sources(file).get("streaming", (0, "", 0))[2] > 5)
        heartbeat.close()


def test_what_was_said_last_is_written_before_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Store(f"sqlite:///{file}") as store:
        heartbeat = Heartbeat(store, NEVER_MS, lambda: 7)
        heartbeat.say(STREAMING, up=False, message="stopped")
        heartbeat.close()
    assert sources(file) == {"streaming": (0, "stopped", 7)}


def test_work_is_done_while_all_is_well_and_the_store_takes_it(tmp_path: Path) -> None:
    done: list[int] = []
    with Store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        heartbeat = Heartbeat(store, NEVER_MS, lambda: 7, lambda: done.append(1))
        heartbeat.say(STREAMING, up=True, message="starting")
        assert eventually(lambda: "streaming" in sources(tmp_path / "store.db"))
        heartbeat.say(KAFKA, up=False)
        assert eventually(lambda: "kafka" in sources(tmp_path / "store.db"))
        assert done == []
        heartbeat.say(STREAMING, up=True)
        heartbeat.say(KAFKA, up=True)
        assert eventually(lambda: bool(done))
        heartbeat.close()
