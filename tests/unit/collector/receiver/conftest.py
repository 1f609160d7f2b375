"""A receiver over loopback whose events are committed at once, and what is sent to it."""

import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from collector.publish.publisher import ChunkQueue, QueuedChunk
from collector.receiver.journal import Journal
from collector.receiver.receiver import Receiver
from collector.settings import CollectorSettings, ReceiverSettings
from collector.sources.source import State
from deadwatch.contract.events import encode

NOW_MS = 1_800_000_000_000
MOST = 1 << 20
PROTOBUF = {"Content-Type": "application/x-protobuf"}


def report(number: int, **more: object) -> dict[str, object]:
    body: dict[str, object] = {"id": f"id-{number}", "source": "shop", "kind": "client_timeout"}
    body |= {"happened_at_ms": 5, "client": "java", "client_id": "c", "timeout": "poll", "message": "late"}
    return body | more


class Running:
    """A receiver whose events are committed at once, while ``kafka_is_up``; ``states`` are what is saved."""

    def __init__(
        self, saved: State | None = None, now_ms: int = NOW_MS, **limits: int | tuple[str, ...]
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.states: list[State] = [saved] if saved else []
        self.kafka_is_up = threading.Event()
        self.kafka_is_up.set()
        self._chunks, self._stop = ChunkQueue(), threading.Event()
        settings = CollectorSettings(
            name="c", receiver=ReceiverSettings(enabled=True, port=0, max_body_bytes=MOST, **limits)
        )
        self.receiver = Receiver(settings, Journal(self._chunks, saved, now_ms), lambda: now_ms)
        self.receiver.poll()
        self._threads = [threading.Thread(target=self._poll), threading.Thread(target=self._publish)]
        for thread in self._threads:
            thread.start()
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read the system's authorities takes 25 ms
        self.http = httpx2.Client(
            base_url=f"http://127.0.0.1:{self.receiver.port}", trust_env=False, verify=nobody
        )

    def stop(self) -> None:
        self.http.close()
        self._stop.set()
        self.kafka_is_up.set()
        self._chunks.put(QueuedChunk((), {}, lambda: None))
        for thread in self._threads:
            thread.join()
        self.receiver.close()

    def kinds(self) -> Counter[str]:
        return Counter(event["kind"] for event in self.events)

    def reasons(self) -> list[str]:
        return [event["reason"] for event in self.events if event["kind"] == "quarantined"]

    def _poll(self) -> None:
        while not self._stop.is_set():
            self.receiver.poll()

    def _publish(self) -> None:
        while not self._stop.is_set():
            chunk = self._chunks.get()
            self.kafka_is_up.wait()
            self.events += [json.loads(encode(event)[1]) for event in chunk.events]
            self.states += [state for state in chunk.states.values() if state is not None]
            chunk.sent()


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(saved: State | None = None, now_ms: int = NOW_MS, **limits: int | tuple[str, ...]) -> Running:
        running.append(Running(saved, now_ms, **limits))
        return running[-1]

    yield begin
    for receiver in running:
        receiver.stop()


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    """One receiver for all tests of a module."""
    running = Running()
    yield running
    running.stop()


@pytest.fixture
def own(shared: Running) -> Running:
    """The receiver of the module, without what earlier tests have sent to it."""
    shared.events.clear()
    return shared
