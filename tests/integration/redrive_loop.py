"""A loop of redrives for tests: streaming, api and workers on one store, and a consumer that fails."""

import contextlib
import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from api.settings import ApiSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.store import Store
from lab import Lab
from lab.topics import Topics
from redrive.librdkafka import consume
from tests.integration.redrive_place import Place, Seen
from tests.integration.streaming_process import Streaming, Traffic
from tests.kafka_topics import connect_headers, producing
from tests.names import fresh
from tests.operators import operator
from tests.redrive_process import working
from tests.waiting import until

WITHIN_S = 240


class Service:
    """Streaming and the api on one store, workers of its own, and a topic with its dead letters."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self._prefix = fresh("loop-")
        self._traffic = Traffic(lab.bootstrap_servers, self._prefix)
        self._servers, self._directory = lab.bootstrap_servers, directory
        self._url = f"sqlite:///{directory / 'deadwatch.db'}"
        with Store(self._url):
            self.streaming = Streaming(
                *(lab.bootstrap_servers, self._traffic, directory, self._url),
                dlq_topics=json.dumps([rf"{self._prefix}\..*\.dlq"]),
                topics_poll_interval_ms="1000",
            )
        self.api = operator(
            ApiSettings(
                store_url=self._url,
                kafka=KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
                events_topic=self._traffic.events_topic,
            ),
            directory,
        )
        self.place = self.at("orders")

    def at(self, name: str) -> Place:
        """A topic and its dead letter topic, which it is about from now on."""
        topic = f"{self._prefix}.{name}"
        self.place = Place(self._servers, topic, f"{topic}.dlq")
        Topics(self._servers).create(topic, self.place.dlq)
        return self.place

    @contextlib.contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """It ends in good order unless it was killed."""
        log = self._directory / "redrive.log"
        with working(
            *(self._url, self.place.servers),
            log=log,
            events_topic=self._traffic.events_topic,
            policies_interval_ms="200",
            lease_ms="1000",
        ) as worker:
            yield worker
            worker.terminate()
            assert worker.wait(WITHIN_S) in {0, -signal.SIGKILL}, log.read_text()

    def ask(self, path: str, **body: object) -> Any:  # noqa: ANN401 -- JSON
        answer = self.api.post(f"/api/v1/{path}", json={**body, "reason": "flaky"})
        assert answer.is_success, answer.text
        return answer.json()

    def redrive(self, **request: object) -> Any:  # noqa: ANN401 -- JSON
        """What is answered to a redrive of the topic, if need be a refusal."""
        asked = {"dlq_topic": self.place.dlq, "selection": {"all": True}, "reason": "flaky", **request}
        return self.api.post("/api/v1/redrives", json={"retry": {"retry_backoff_ms": 0}, **asked}).json()

    def redriven(self, **request: object) -> Any:  # noqa: ANN401 -- JSON
        """The order at its end, when streaming has told of it."""
        order = self.redrive(dry_run=False, limits={"records_per_second": None}, **request)
        path = f"redrives/{order['id']}"
        until(lambda: self.tell(path)["status"] == "COMPLETED", within_s=WITHIN_S)
        until(lambda: self.tell(path)["moved"] >= order["to_move"], within_s=WITHIN_S)
        return self.tell(path)

    def tell(self, path: str) -> Any:  # noqa: ANN401 -- JSON
        return self.api.get(f"/api/v1/{path}").json()


@contextlib.contextmanager
def failing(place: Place, fails: Callable[[Seen], bool]) -> Iterator[None]:
    """A consumer whose records become dead letters, headers and all, as Connect writes them."""
    stop = threading.Event()

    def run() -> None:
        config = {"bootstrap.servers": place.servers, "group.id": "sink", "enable.auto.commit": False}
        consumer = Consumer(config | {"isolation.level": "read_committed"})
        consumer.assign([TopicPartition(place.topic, number, 0) for number in range(2)])
        with producing(place.servers) as producer:
            while not stop.is_set():
                for message in consume(consumer, 100, 0.05):
                    record = Seen.of(message)
                    if not message.error() and fails(record):
                        kept = [pair for pair in record.headers if not pair[0].startswith("__connect")]
                        told = connect_headers(record.topic, record.partition, record.offset)
                        producer.produce(place.dlq, record.value, record.key, headers=[*kept, *told])
                producer.flush(30)
        consumer.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
