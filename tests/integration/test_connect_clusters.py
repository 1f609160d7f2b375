"""Two real Connect clusters on one Kafka run a connector of the same name, and are told apart."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from api.abandoned import evidence_rows, reconcile
from api.connect_tasks import connect_task_rows
from collector.kafka import KafkaConnection
from collector.settings import ConnectSettings
from collector.sources.connect import ConnectSource
from collector.sources.connect_tasks import ConnectTasksSource
from collector.sources.source import Source
from lab import Lab
from streaming.store.batch import Batch
from streaming.store.store import Store

pytestmark = pytest.mark.integration

NAME = "twin"
WITHIN_S = 60


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def sources(lab: Lab, name: str, url: str, jolokia_url: str) -> tuple[Source, Source]:
    settings = ConnectSettings(name=name, url=url, jolokia_url=jolokia_url)
    connect = ConnectSource(
        settings,
        saved=None,
        kafka_cluster="c",
        heartbeat_interval_ms=1_000,
        clock=now_ms,
        pause=lambda ms: time.sleep(ms / 1_000),
    )
    tasks = ConnectTasksSource(
        settings,
        KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
        saved=None,
        kafka_cluster="c",
        heartbeat_interval_ms=1_000,
        clock=now_ms,
    )
    return connect, tasks


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'deadwatch.db'}"


@pytest.fixture
def collect(url: str) -> Iterator[Callable[..., None]]:
    """Poll sources and put what they tell into the store."""
    batches = count()
    with Store(url) as store:

        def poll(*polled: Source) -> None:
            events = tuple(event for source in polled if (chunk := source.poll()) for event in chunk.events)
            number = next(batches)
            store.apply(
                Batch(query_id="q", batch_id=number, committed_at_ms=1, offsets={}, marks={}, events=events)
            )

        yield poll


def test_a_connector_of_one_name_in_two_clusters_is_two(
    lab: Lab, url: str, collect: Callable[..., None]
) -> None:
    lab.abandon_task(NAME)
    engine = create_engine(url)
    with lab.another_connect() as second:
        for _ in range(2):
            second.abandon_task(NAME)
        blue = sources(lab, "blue", lab.connect_url, lab.connect_jolokia_url)
        green = sources(lab, "green", second.url, second.jolokia_url)
        collect(*blue, *green)
        collect(*blue, *green)
    with engine.connect() as connection:
        rows = connect_task_rows(connection)
        known = reconcile(evidence_rows(connection))
    engine.dispose()
    abandoned = {one.worker: one.current for one in known if one.connector == NAME and one.task}
    workers = {row.connect_cluster: row.worker for row in rows if row.connector == NAME}
    for source in (*blue, *green):
        source.close()
    assert set(workers) == {"blue", "green"}
    assert {name: abandoned[worker] for name, worker in workers.items()} == {"blue": 1, "green": 2}
    lab.release_task(NAME)
