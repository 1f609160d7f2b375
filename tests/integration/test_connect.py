"""Abandoned tasks and errors of real Connect workers: log, threads and beans have it right at each step."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from api.signals.abandoned import Abandoned, differences, evidence_rows, reconcile
from api.store import every_row
from collector.settings import ConnectSettings
from collector.sources.logs.files import Following, LogSource
from collector.sources.logs.scan import Scanner
from collector.sources.source import Source, SourceDownError
from deadwatch.store import schema
from lab import Lab
from tests.integration.collected import (
    REQUEST_MS,
    Collected,
    collected,
    connect_settings,
    published_every,
    tasks_source,
    worker_source,
)
from tests.waiting import until

A, B = "abandoned-a", "abandoned-b"
NOTHING = (0, 0)


class Way:
    """From the worker to what the api reads: both sources, the store, the reconciled figures."""

    def __init__(self, store: Collected, sources: tuple[Source, ...]) -> None:
        self._store, self._sources = store, sources

    def figures(self) -> dict[str, Abandoned]:
        """What is known of our tasks, by connector, after a poll of every source."""
        for source in self._sources:
            with suppress(SourceDownError):  # a worker that restarts
                self._store.poll(source)
        with self._store.read() as connection:
            known = reconcile(evidence_rows(connection))
        return {one.connector: one for one in known if one.connector in {A, B} and one.task}

    def until(self, expected: dict[str, tuple[int, int]]) -> dict[str, Abandoned]:
        """Poll until both evidences have these (current, total) of each connector."""
        known: dict[str, Abandoned] = {}

        def agree() -> bool:
            known.clear()
            known.update(self.figures())
            return _by_log(known) == _by_threads(known) == expected

        until(agree, lambda: (_by_log(known), _by_threads(known), expected))
        return known


def _by_log(known: dict[str, Abandoned]) -> dict[str, tuple[int, int]]:
    return {name: (one.logged_current, one.logged_total) for name, one in known.items()}


def _by_threads(known: dict[str, Abandoned]) -> dict[str, tuple[int, int]]:
    return {name: (one.seen_current, one.seen_total) for name, one in known.items()}


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Iterator[Way]:
    connect = worker_source(connect_settings(lab))
    log = LogSource(lab.logs.connect, Following(published_every(0), poll_interval_ms=10, scanner=Scanner()))
    with collected(tmp_path) as store:
        yield Way(store, (log, connect))
    for source in (log, connect):
        source.close()


def test_current_and_total_are_right_at_each_step_from_both_evidences(lab: Lab, way: Way) -> None:
    for number in (1, 2):
        lab.abandon_task(A)
        way.until({A: (number, number)})
    lab.abandon_task(B)
    way.until({A: (2, 2), B: (1, 1)})

    lab.release_task(A)
    way.until({A: (0, 2), B: (1, 1)})

    lab.delete_connector(B)  # its live task waits too, so the worker gives up on it
    known = way.until({A: (0, 2), B: (2, 2)})
    assert all(one.compared and differences(one) == NOTHING for one in known.values())

    lab.restart_connect()  # the live task of A, which has been released, stops in time
    known = way.until({A: (0, 2), B: (0, 2)})
    assert {name: (one.current, one.total) for name, one in known.items()} == {A: (0, 2), B: (0, 2)}
    assert (lab.connect.abandonments(A), lab.connect.abandonments(B)) == (2, 2)
    assert lab.truth.abandoned_tasks_current == 0


NAME = "twin"


def sources(lab: Lab, name: str, url: str, jolokia_url: str) -> tuple[Source, Source]:
    settings = ConnectSettings(name=name, url=url, jolokia_url=jolokia_url, request_timeout_ms=REQUEST_MS)
    return worker_source(settings), tasks_source(lab, settings, heartbeat_interval_ms=1_000)


def test_a_connector_of_one_name_in_two_clusters_is_two(lab: Lab, tmp_path: Path) -> None:
    lab.abandon_task(NAME)
    with collected(tmp_path) as store, lab.another_connect() as second:
        for _ in range(2):
            second.abandon_task(NAME)
        blue = sources(lab, "blue", lab.connect_url, lab.connect_jolokia_url)
        green = sources(lab, "green", second.url, second.jolokia_url)
        for _ in range(2):
            store.poll(*blue, *green)
        with store.read() as connection:
            rows = every_row(connection, schema.connect_tasks)
            known = reconcile(evidence_rows(connection))
    abandoned = {one.worker: one.current for one in known if one.connector == NAME and one.task}
    workers = {row.connect_cluster: row.worker for row in rows if row.connector == NAME}
    for source in (*blue, *green):
        source.close()
    assert set(workers) == {"blue", "green"}
    assert {name: abandoned[worker] for name, worker in workers.items()} == {"blue": 1, "green": 2}
    lab.release_task(NAME)


SINK = "filesink"

Look = Callable[[], Row[Any] | None]


@pytest.fixture
def look(lab: Lab, tmp_path: Path) -> Iterator[Look]:
    """What the store knows of the sink's task after one more poll; REST may be away meanwhile."""
    source = tasks_source(lab, connect_settings(lab))
    with collected(tmp_path) as store:

        def row() -> Row[Any] | None:
            with suppress(SourceDownError):
                store.poll(source)
            with store.read() as connection:
                rows = every_row(connection, schema.connect_tasks)
            return next((one for one in rows if one.connector == SINK), None)

        yield row
    source.close()


def until_skipped(look: Look, total: int | None) -> Row[Any]:
    """The row once it is counted, and has so many skipped records; None: however many."""
    seen: list[Row[Any] | None] = [None]

    def skipped() -> bool:
        seen[0] = look()
        row = seen[0]
        return row is not None and row.counted and total in {None, row.records_skipped_total}

    until(skipped, lambda: seen)
    assert seen[0]
    return seen[0]


def test_errors_are_added_up_over_a_restart_of_the_worker(lab: Lab, look: Look) -> None:
    lab.break_connect_records(1)
    began = until_skipped(look, None)
    lab.break_connect_records(3)
    before = until_skipped(look, began.records_skipped_total + 3)
    lab.restart_connect()
    lab.break_connect_records(2)
    row = until_skipped(look, began.records_skipped_total + 5)
    failures = (row.record_failures_total, row.record_errors_total, row.dlq_produce_requests_total)
    assert failures == (row.records_skipped_total,) * 3
    assert row.last_error_at_ms > before.last_error_at_ms > 0
    assert (row.retries_total, row.dlq_produce_failures_total) == (0, 0)
    assert row.errors_logged_total == row.records_skipped_total
