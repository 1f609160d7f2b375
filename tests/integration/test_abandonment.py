"""Abandon, release, delete, restart on a real Connect worker: log and threads have it right at each step."""

import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import create_engine

from api.abandoned import Abandoned, differences, evidence_rows, reconcile
from collector.contract.events import Event
from collector.settings import ConnectSettings
from collector.sources.connect import ConnectSource
from collector.sources.log_scan import Scanner
from collector.sources.logs import LogSource
from collector.sources.source import Source, SourceDownError
from lab import Lab
from streaming.store.batch import Batch
from streaming.store.store import Store

pytestmark = pytest.mark.integration

A, B = "abandoned-a", "abandoned-b"
WITHIN_S = 90
NOTHING = (0, 0)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Way:
    """From the worker to what the api reads: both sources, the store, the reconciled figures."""

    def __init__(self, store: Store, url: str, sources: tuple[Source, ...]) -> None:
        self._store, self._sources = store, sources
        self._engine = create_engine(url)
        self._batches = count()

    def close(self) -> None:
        self._engine.dispose()
        for source in self._sources:
            source.close()

    def figures(self) -> dict[str, Abandoned]:
        """What is known of our tasks, by connector, after a poll of every source."""
        events = tuple(event for source in self._sources for event in _polled(source))
        self._store.apply(
            Batch(
                query_id="q",
                batch_id=next(self._batches),
                committed_at_ms=1,
                offsets={},
                marks={},
                events=events,
            )
        )
        with self._engine.connect() as connection:
            known = reconcile(evidence_rows(connection))
        return {one.connector: one for one in known if one.connector in {A, B} and one.task}

    def until(self, expected: dict[str, tuple[int, int]]) -> dict[str, Abandoned]:
        """Poll until both evidences have these (current, total) of each connector."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            known = self.figures()
            if _by_log(known) == _by_threads(known) == expected:
                return known
            evidences = (_by_log(known), _by_threads(known))
            assert time.monotonic() < deadline, (*evidences, expected, self._read())
            time.sleep(0.1)

    def _read(self) -> tuple[object, ...]:
        """How far the log was read, what is known of its worker, and where it says that one starts."""
        log = self._sources[0]
        assert isinstance(log, LogSource)
        path, memory = Path(log.name.removeprefix("log:")), log._place.memory
        lines = path.read_text(errors="replace").splitlines()
        starts = [line for line in lines if "worker initializing" in line or "Advertised URI" in line]
        return path.stat().st_size, memory.offset, memory.overlong, memory.worker, starts


def _polled(source: Source) -> tuple[Event, ...]:
    """Everything that is new; nothing from a worker that restarts."""
    events: list[Event] = []
    with suppress(SourceDownError):
        while chunk := source.poll():
            events += chunk.events
            if not chunk.more:
                break
    return tuple(events)


def _by_log(known: dict[str, Abandoned]) -> dict[str, tuple[int, int]]:
    return {name: (one.logged_current, one.logged_total) for name, one in known.items()}


def _by_threads(known: dict[str, Abandoned]) -> dict[str, tuple[int, int]]:
    return {name: (one.seen_current, one.seen_total) for name, one in known.items()}


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Iterator[Way]:
    url = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    settings = ConnectSettings(url=lab.connect_url, jolokia_url=lab.connect_jolokia_url)
    connect = ConnectSource(
        settings,
        saved=None,
        kafka_cluster="c",
        heartbeat_interval_ms=1_000,
        clock=now_ms,
        pause=lambda ms: time.sleep(ms / 1_000),
    )
    log = LogSource(
        lab.logs.connect,
        saved=None,
        scanner=Scanner(ZoneInfo("UTC")),
        worker="",
        kafka_cluster="c",
        poll_interval_ms=10,
        clock=now_ms,
    )
    with Store(url) as store:
        way = Way(store, url, (log, connect))
        yield way
        way.close()


def test_current_and_total_are_right_at_each_step_from_both_evidences(lab: Lab, way: Way) -> None:
    for number in (1, 2, 3):
        lab.abandon_task(A)
        way.until({A: (number, number)})
    for number in (1, 2):
        lab.abandon_task(B)
        way.until({A: (3, 3), B: (number, number)})

    lab.release_task(A)
    way.until({A: (0, 3), B: (2, 2)})

    lab.delete_connector(B)  # its live task waits too, so the worker gives up on it
    known = way.until({A: (0, 3), B: (3, 3)})
    assert all(one.compared and differences(one) == NOTHING for one in known.values())

    lab.restart_connect()  # the live task of A, which has been released, stops in time
    known = way.until({A: (0, 3), B: (0, 3)})
    assert {name: (one.current, one.total) for name, one in known.items()} == {A: (0, 3), B: (0, 3)}
    assert (lab.abandonments(A), lab.abandonments(B)) == (3, 3)
    assert lab.truth.abandoned_tasks_current == 0
