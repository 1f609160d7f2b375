"""Error counters of a real sink, from its beans to what the api reads, over a restart of its worker."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from api.connect_tasks import ConnectTaskRow, connect_task_rows
from collector.kafka import KafkaConnection
from collector.settings import ConnectSettings
from collector.sources.connect_tasks import ConnectTasksSource
from collector.sources.source import SourceDownError
from lab import Lab
from streaming.store.batch import Batch
from streaming.store.store import Store

pytestmark = pytest.mark.integration

SINK = "filesink"
WITHIN_S = 60

Look = Callable[[], ConnectTaskRow | None]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def look(lab: Lab, tmp_path: Path) -> Iterator[Look]:
    """What the store knows of the sink's task after one more poll."""
    url = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    source = ConnectTasksSource(
        ConnectSettings(url=lab.connect_url, jolokia_url=lab.connect_jolokia_url),
        KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
        saved=None,
        kafka_cluster="c",
        heartbeat_interval_ms=0,
        clock=now_ms,
    )
    engine, batches = create_engine(url), count()
    with Store(url) as store:

        def row() -> ConnectTaskRow | None:
            chunk = source.poll()
            events = chunk.events if chunk else ()
            number = next(batches)
            store.apply(
                Batch(query_id="q", batch_id=number, committed_at_ms=1, offsets={}, marks={}, events=events)
            )
            with engine.connect() as connection:
                rows = connect_task_rows(connection)
            return next((one for one in rows if one.connector == SINK), None)

        yield row
    source.close()
    engine.dispose()


def until_skipped(look: Look, total: int) -> ConnectTaskRow:
    """The row once it has counted so many skipped records; REST may be away meanwhile."""
    deadline, row = time.monotonic() + WITHIN_S, None
    while row is None or row.records_skipped_total != total:
        assert time.monotonic() < deadline, row
        try:
            row = look()
        except SourceDownError:
            time.sleep(0.2)
    return row


def test_errors_are_added_up_over_a_restart_of_the_worker(lab: Lab, look: Look) -> None:
    lab.break_connect_records(1)
    began = look()
    assert began is not None
    assert began.counted
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
