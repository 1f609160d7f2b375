"""Sources of the lab, and what they tell, poll by poll, in a store: what the api reads becomes of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine

from collector.settings import BrokerSettings, CollectorSettings, ConnectSettings
from collector.sources.brokers.dead_letter_topics import DeadLetterTopicsSource
from collector.sources.connect.tasks import ConnectTasksSource
from collector.sources.connect.workers import ConnectSource
from collector.sources.source import Publishing, Source
from deadwatch.contract.events import Event
from deadwatch.runtime.clock import clock_ms, wait_ms
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.batch import Batch
from deadwatch.store.store import Store
from lab import Lab

E = TypeVar("E", bound=Event)

REQUEST_MS = 60_000
"""A bound for a hang, for sources of which each poll has to answer, also on a busy machine."""


class Collected:
    """The store, and its next batch."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store, self._engine, self._batches = store, engine, count()

    def apply(self, *events: Event) -> None:
        number, now_ms = next(self._batches), clock_ms()
        self._store.apply(
            Batch(query_id="q", batch_id=number, committed_at_ms=now_ms, offsets={}, marks={}, events=events)
        )

    def poll(self, *sources: Source) -> None:
        """Apply all that is new, up to the first source that is down."""
        for source in sources:
            while chunk := source.poll():
                self.apply(*chunk.events)
                if not chunk.more:
                    break

    def read(self) -> Connection:
        return self._engine.connect()


@contextmanager
def collected(directory: Path) -> Iterator[Collected]:
    """An empty one."""
    url = f"sqlite:///{directory / 'collected.db'}"
    engine = create_engine(url)
    with Store(url) as store:
        yield Collected(store, engine)
    engine.dispose()


def published_every(heartbeat_interval_ms: int) -> Publishing:
    """For a source that has saved nothing."""
    return Publishing(lambda _: None, "c", heartbeat_interval_ms, clock_ms)


def worker_source(settings: ConnectSettings) -> ConnectSource:
    """Of a Connect worker's threads."""
    return ConnectSource(settings, published_every(1_000), pause=wait_ms)


def snapshot(source: Source, kind: type[E]) -> E:
    """The only event of this kind that a poll brings, without any trouble."""
    chunk = source.poll()
    assert chunk is not None
    assert not chunk.trouble
    (event,) = (one for one in chunk.events if isinstance(one, kind))
    return event


def connect_settings(lab: Lab) -> ConnectSettings:
    """Of the lab's Connect and its agent."""
    return ConnectSettings(
        url=lab.connect_url, jolokia_url=lab.connect_jolokia_url, request_timeout_ms=REQUEST_MS
    )


def tasks_source(lab: Lab, settings: ConnectSettings, heartbeat_interval_ms: int = 0) -> ConnectTasksSource:
    """Of the tasks that a Connect cluster on the lab's broker runs."""
    kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
    return ConnectTasksSource(settings, kafka, published_every(heartbeat_interval_ms))


def topics_source(lab: Lab) -> DeadLetterTopicsSource:
    """Of all dead letter topics of the lab, as its brokers and connectors name them."""
    settings = CollectorSettings(
        kafka=KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
        connect=(ConnectSettings(url=lab.connect_url, request_timeout_ms=REQUEST_MS),),
        brokers=(BrokerSettings(jolokia_url=lab.broker_jolokia_url, request_timeout_ms=REQUEST_MS),),
    )
    return DeadLetterTopicsSource(settings, replace(published_every(0), kafka_cluster=settings.kafka_cluster))
