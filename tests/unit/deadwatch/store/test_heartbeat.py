"""A dead driver differs from an idle one."""

import itertools

import pytest

from deadwatch.store import schema
from deadwatch.store.heartbeat import KAFKA, REDRIVE, STREAMING, Heartbeat
from deadwatch.store.store import Store
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import Rows
from tests.waiting import until

NEVER_MS = 3_600_000
store, rows = suite.store, suite.rows


def sources(rows: Rows) -> dict[str, tuple[bool, str, int]]:
    return {name: tuple(state) for name, *state in rows(schema.sources, "name up message heartbeat_ms")}


def test_a_change_is_written_at_once(store: Store, rows: Rows) -> None:
    heartbeat = Heartbeat(store, NEVER_MS, lambda: 7)
    heartbeat.say(STREAMING, up=True)
    until(lambda: sources(rows) == {"streaming": (True, "", 7)})
    heartbeat.say(KAFKA, up=False, message="away")
    until(lambda: sources(rows).get("kafka") == (False, "away", 7))
    heartbeat.close()


def test_it_beats_while_nothing_changes(store: Store, rows: Rows) -> None:
    clock = itertools.count()
    heartbeat = Heartbeat(store, 1, lambda: next(clock))
    heartbeat.say(STREAMING, up=True)
    until(lambda: sources(rows).get("streaming", (False, "", 0))[2] > 5)
    heartbeat.close()


@pytest.mark.parametrize(("name", "kind"), [(STREAMING, ""), ("redrive:a", REDRIVE)])
def test_the_last_state_is_written_before_it_ends(store: Store, rows: Rows, name: str, kind: str) -> None:
    heartbeat = Heartbeat(store, NEVER_MS, lambda: 7)
    heartbeat.say(name, kind=kind, up=False, message="stopped")
    heartbeat.close()
    assert sources(rows) == {name: (False, "stopped", 7)}
    assert rows(schema.sources, "kind") == [kind or name]


def test_work_is_done_while_all_is_well_and_the_store_takes_it(store: Store, rows: Rows) -> None:
    done: list[int] = []
    heartbeat = Heartbeat(store, NEVER_MS, lambda: 7, lambda: done.append(1))
    heartbeat.say(STREAMING, up=True, message="starting")
    until(lambda: "streaming" in sources(rows))
    heartbeat.say(KAFKA, up=False)
    until(lambda: "kafka" in sources(rows))
    assert done == []
    heartbeat.say(STREAMING, up=True)
    heartbeat.say(KAFKA, up=True)
    until(lambda: bool(done))
    heartbeat.close()
