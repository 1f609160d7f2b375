"""An order waits for what redrives have told in our events, and for nothing that others write there."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy import Engine

from deadwatch.orders.errors import OrderOverlapError
from deadwatch.orders.order import Order, Status
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.batch import Batch
from deadwatch.store.engine import connect
from deadwatch.store.store import Store
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.orders import OrderBook
from lab.topics import Topics
from redrive.cluster import Cluster
from redrive.move.task import Note, WorkerContext
from redrive.plan.history import WITHIN_MS, History, Notes
from redrive.settings import RedriveSettings
from redrive.worker import run
from tests.integration.redrive_place import Place
from tests.kafka_topics import undone, until_decided
from tests.waiting import until

LEASE_MS = 1_000
NOTHING_READ = Batch(query_id="q", batch_id=0, committed_at_ms=1, offsets={}, marks={})


class Room:
    """A store that nobody streams into, the orders of a topic, and who asks before the next one."""

    def __init__(self, place: Place, store: Store, engine: Engine) -> None:
        self.place, self._store, self._engine = place, store, engine
        self.book, self.orders = HandledBook(engine), OrderBook(engine)
        connection = KafkaConnection(bootstrap_servers=place.servers)
        self.cluster = Cluster(connection)
        self.note = Notes(self.book, place.events, self.cluster).note
        self._waited_ms = self._batches = 0
        self._history = History(self.book, place.events, lambda: self._waited_ms, self._wait)

    def unread(self) -> str:
        """Why the next order would be refused; "": it would not."""
        self._waited_ms = 0
        topic, topic_id = self.place.dlq, self.cluster.topic_ids([self.place.dlq])[self.place.dlq]
        return self._history.of(topic, topic_id, self.cluster, self.cluster.partitions()).unread

    def stream(self) -> None:
        """Streaming reads what is committed now."""
        events = self.place.events
        until_decided(self.place.servers, events)
        self._batches += 1
        end = self.cluster.extents(events, self.cluster.partitions()[events]).end
        at = {(events, partition): offset for partition, offset in end.items()}
        self._store.apply(replace(NOTHING_READ, batch_id=self._batches, offsets=at))

    def order(self) -> Order:
        """Of everything, and kept."""
        made = self.place.order()
        self.orders.create(made, "{}")
        return made

    def work(self, order: Order, note: Note) -> None:
        """Until the worker ends: of itself, or because the order is over."""
        stop = threading.Event()
        kafka = {"bootstrap_servers": self.place.servers}
        settings = RedriveSettings.model_validate(
            {"kafka": kafka, "events_topic": self.place.events, "lease_ms": LEASE_MS}
        )
        context = WorkerContext(settings, note=note)

        def live() -> None:
            with suppress(SystemExit):  # it dies
                run(OrderClaims(self._engine), context, stop, "w")

        worker = threading.Thread(target=live)
        worker.start()
        try:
            until(lambda: self.orders.get(order.id).status.final or not worker.is_alive())
        finally:
            stop.set()
            worker.join()

    def _wait(self, pause_ms: int) -> None:
        self._waited_ms += max(pause_ms, WITHIN_MS)  # nobody reads meanwhile


@pytest.fixture
def room(place: Place, tmp_path: Path) -> Iterator[Room]:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Store(url) as store:
        engine = connect(url)
        yield Room(place, store, engine)
        engine.dispose()


@pytest.fixture(autouse=True)
def _events(place: Place) -> None:
    Topics(place.servers).create(place.events)


def test_what_others_write_does_not_keep_an_order_waiting(room: Room) -> None:
    room.place.letters(3)
    assert room.unread() == "", "the first order"
    room.work(room.order(), room.note)
    assert room.unread().startswith("streaming has not read ")
    room.stream()
    assert room.unread() == ""
    with undone(room.place.servers) as producer:
        producer.produce(room.place.events, b"not committed yet")
        assert producer.flush(30) == 0
        Topics(room.place.servers).produce(room.place.events, [b"not read yet"])
        assert room.unread() == ""


def test_a_worker_that_dies_before_its_note_leaves_the_order_to_the_next(room: Room) -> None:
    room.place.letters(3)
    assert room.unread() == ""
    order = room.order()
    room.work(order, _die)
    assert len(room.place.read()) == 3, "it has committed"
    room.stream()
    assert room.orders.get(order.id).status is Status.RUNNING
    with pytest.raises(OrderOverlapError):
        room.order()
    room.work(order, room.note)
    assert room.orders.get(order.id).status is Status.COMPLETED
    assert room.book.ends(room.place.dlq)
    assert len(room.place.read()) == 3


def _die(topic: str, over: bool) -> NoReturn:
    """As by SIGKILL: the thread ends, and the order stays held."""
    del topic, over
    raise SystemExit
