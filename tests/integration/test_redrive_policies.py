"""What comes back is noticed: an order in a loop pauses, and a policy tries again, then parks.

The whole way is real: ``python -m streaming`` counts, ``python -m streaming.redrive`` moves and looks at the
policies, the api is asked, and a consumer that fails writes its dead letters as Connect does.
"""

import contextlib
import os
import subprocess
import sys
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from api.settings import ApiSettings
from collector.kafka import KafkaConnection
from lab import Lab
from streaming.redrive.received import consume
from streaming.store.store import Store
from tests.integration.redrive_place import Place, Seen, Sent, create, ours, until
from tests.integration.test_streaming import Streaming, Traffic
from tests.operators import operator

pytestmark = pytest.mark.integration

WITHIN_S = 240
LETTERS, NEW = 1_200, 5
CLASS = "__connect.errors.exception.class.name"


class Service:
    """Streaming, a worker and the api on one store, and a topic with its dead letters."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        prefix = f"loop-{uuid.uuid4().hex[:8]}"
        self._traffic = Traffic(lab.bootstrap_servers, prefix)
        self.place = Place(lab.bootstrap_servers, f"{prefix}.orders", self._traffic.dlq_topic)
        create(lab.bootstrap_servers, **{self.place.topic: 2})
        self._url = f"sqlite:///{directory / 'deadwatch.db'}"
        with Store(self._url):
            self.streaming = Streaming(lab.bootstrap_servers, self._traffic, directory, self._url)
        kafka = KafkaConnection(bootstrap_servers=lab.bootstrap_servers)
        told = self._traffic.events_topic
        self.api = operator(ApiSettings(store_url=self._url, kafka=kafka, events_topic=told), directory)
        self._log = directory / "redrive.log"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with self.streaming.running(), self.api, self.worker() as worker:
            yield
            worker.terminate()
            assert worker.wait(30) == 0, self._log.read_text()

    @contextlib.contextmanager
    def worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        environment = {
            **os.environ,
            "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": self.place.servers,
            "REDRIVE_EVENTS_TOPIC": self._traffic.events_topic,
            "REDRIVE_STORE_URL": self._url,
            "REDRIVE_POLICIES_INTERVAL_MS": "200",
            "REDRIVE_LEASE_MS": "1000",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        with self._log.open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "streaming.redrive"],
                env=environment,
                cwd=self._log.parent,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait()

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
        until(lambda: self.tell(path)["status"] == "COMPLETED", WITHIN_S)
        until(lambda: self.tell(path)["moved"] >= order["to_move"], WITHIN_S)
        return self.tell(path)

    def tell(self, path: str) -> Any:  # noqa: ANN401 -- JSON
        return self.api.get(f"/api/v1/{path}").json()


@pytest.fixture
def service(lab: Lab, tmp_path: Path) -> Iterator[Service]:
    made = Service(lab, tmp_path)
    with made.running():
        yield made


@contextlib.contextmanager
def failing(place: Place, fails: Callable[[Seen], bool]) -> Iterator[None]:
    """A consumer whose records become dead letters, headers and all, as Connect writes them."""
    stop = threading.Event()

    def run() -> None:
        config = {"bootstrap.servers": place.servers, "group.id": "sink", "enable.auto.commit": False}
        consumer = Consumer(config | {"isolation.level": "read_committed"})
        consumer.assign([TopicPartition(place.topic, number, 0) for number in range(2)])
        producer = Producer({"bootstrap.servers": place.servers})
        while not stop.is_set():
            for message in consume(consumer, 100, 0.05):
                record = Seen.of(message)
                if not message.error() and fails(record):
                    said = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
                    kept = [pair for pair in record.headers if not pair[0].startswith("__connect")]
                    told = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
                    headers = cast("Sent", [*kept, *told])
                    producer.produce(place.dlq, record.value, record.key, headers=headers)
            producer.flush(30)
        consumer.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


def test_an_order_whose_records_come_back_pauses_and_after_a_resume_only_new_ones_count(
    service: Service,
) -> None:
    place = service.place
    place.letters(200)
    until(lambda: counted(service) == 200, WITHIN_S)
    with failing(place, lambda _: True):
        order = service.ask(
            "redrives",
            dlq_topic=place.dlq,
            selection={"all": True},
            retry={"retry_backoff_ms": 0},
            limits={"records_per_second": 2},
            dry_run=False,
        )
        path = f"redrives/{order['id']}"
        until(lambda: service.tell(path)["status"] == "PAUSED", WITHIN_S)
        until(lambda: (told := service.tell(path))["bounced"] == told["moved"] >= 20, WITHIN_S)
    paused = service.tell(path)
    assert "records came back" in paused["status_reason"]
    assert "mend the cause, then resume" in paused["status_reason"]
    assert (paused["settled"], paused["moved"] < 200) == (0, True)
    service.ask(f"{path}/resume")
    until(lambda: service.tell(path)["moved"] >= paused["moved"] + 20, WITHIN_S)
    assert service.tell(path)["status"] == "RUNNING"
    service.ask(f"{path}/cancel")


def test_a_policy_redrives_what_arrives_and_parks_what_still_fails(service: Service) -> None:
    place = service.place
    place.letters(3)
    policy = service.ask(
        "redrive-policies",
        dlq_topics=[place.dlq],
        exclude_error_classes=["a.b.SerializationException"],
        retry={"max_attempts": 2, "retry_backoff_ms": 0},
        guards={"settle_window_ms": 0},
    )
    path = f"redrive-policies/{policy['id']}"
    parked_topic = f"{place.dlq}.parked"
    with failing(place, lambda record: record.value == b"value-4"):
        place.letters(5)
        place.letters(1, headers=[(CLASS, b"a.b.SerializationException")])
        until(lambda: parked_topic in topics(place), WITHIN_S)
        until(lambda: len(place.read(parked_topic)) == 2, WITHIN_S)
    told = [
        (ours(one)["parked-reason"], ours(one)["attempts"], one.value) for one in place.read(parked_topic)
    ]
    assert sorted(told) == [
        ("attempts_used_up", "2", b"value-4"),
        ("error_class_excluded", "0", b"value-0"),
    ]
    arrived = sorted(record.value or b"" for record in place.read())
    assert arrived == [b"value-0", b"value-1", b"value-2", b"value-3", b"value-4", b"value-4"]
    until(lambda: counts(service, path) == {"moved": 6, "bounced": 2, "parked": 2, "skipped": 0}, WITHIN_S)
    made = service.tell(f"{path}/redrives")["items"]
    until(
        lambda: {one["status"] for one in service.tell(f"{path}/redrives")["items"]} == {"COMPLETED"},
        WITHIN_S,
    )
    assert {one["policy"] for one in made} == {policy["id"]}
    assert sum(one["settled"] for one in service.tell(f"{path}/redrives")["items"]) >= 4
    told = service.tell(path)
    assert (told["status_reason"], told["dlq_topics"]) == (None, [place.dlq])


def test_no_record_is_moved_twice_unless_that_is_asked_for(lab: Lab, tmp_path: Path) -> None:
    service = Service(lab, tmp_path)
    place = service.place
    place.letters(LETTERS)
    with service.api, service.streaming.running():
        until(lambda: counted(service) == LETTERS, WITHIN_S)
        with service.worker() as killed:
            limits = {"records_per_second": 400, "max_in_flight": 50}
            first = service.redrive(dry_run=False, limits=limits)
            until(lambda: len(place.read()) > LETTERS // 4, WITHIN_S)
            killed.kill()
        with service.worker():
            path = f"redrives/{first['id']}"
            until(lambda: service.tell(path)["status"] == "COMPLETED", WITHIN_S)
            dry = service.redrive()["plan"]
            assert (dry["to_move"], dry["skip_reasons"]) == (0, {"already_moved": LETTERS}), dry["warnings"]
            refused = service.redrive(dry_run=False)
            assert refused["type"] == "urn:deadwatch:problem:redrive-refused"
            assert f"all {LETTERS} records of the selection were moved or parked already" in refused["detail"]
            told = service.tell(path)
            assert (told["moved"], told["skipped"]) == (LETTERS, 0)  # also what the killed worker has moved

            place.letters(NEW)
            rest = service.redriven(selection={"filter": "offset >= 0"})
            assert (rest["moved"], rest["skip_reasons"]) == (NEW, {"already_moved": LETTERS})
            chosen = [{"partition": 0, "offset": offset} for offset in range(NEW)]
            twice = service.redriven(selection={"records": chosen}, again=True)
            assert (twice["moved"], twice["skip_reasons"]) == (NEW, {})

            place.letters(NEW)
            policy = service.ask("redrive-policies", dlq_topics=[place.dlq], include_existing=True)
            path = f"redrive-policies/{policy['id']}"
            until(lambda: counts(service, path)["moved"] == NEW, WITHIN_S)
            service.api.delete(f"/api/v1/{path}")
    sent: dict[str, Counter[bytes | None]] = defaultdict(Counter)
    for record in place.read():
        sent[ours(record)["id"]][record.value] += 1
    (of_policy,) = sent.keys() - {first["id"], rest["id"], twice["id"]}
    assert sent[first["id"]] == once(LETTERS)
    assert sent[rest["id"]] == sent[of_policy] == once(NEW)
    assert sent[twice["id"]].total() == NEW
    what_streaming_has_not_read_is_not_known(service)


def what_streaming_has_not_read_is_not_known(service: Service) -> None:
    """It is down: an order is refused, unless it asks for what was moved before."""
    place = service.place
    before = len(place.read())
    chosen = {"records": [{"partition": 0, "offset": 0}]}
    with service.api, service.worker():
        assert service.redrive(dry_run=False, selection=chosen, again=True)["status"] == "RUNNING"
        until(lambda: len(place.read()) == before + 1, WITHIN_S)
        until(lambda: service.tell("redrives")["items"][0]["status"] == "COMPLETED", WITHIN_S)
        (warning,) = (one for one in service.redrive()["plan"]["warnings"] if "streaming" in one)
        assert warning.startswith("streaming has not read ")
        refused = service.redrive(dry_run=False)
        assert refused["type"] == "urn:deadwatch:problem:redrive-history-unread"
        assert "start streaming or wait until it has caught up" in refused["detail"]


def once(count: int) -> Counter[bytes | None]:
    return Counter(b"value-%d" % number for number in range(count))


def topics(place: Place) -> set[str]:
    consumer = Consumer({"bootstrap.servers": place.servers, "group.id": "topics"})
    found = set(consumer.list_topics(timeout=10).topics)
    consumer.close()
    return found


def redrives(service: Service, policy: str) -> list[Any]:
    found: list[Any] = service.tell(f"{policy}/redrives")["items"]
    return found


def counted(service: Service) -> int:
    """Dead letters that streaming has seen."""
    return sum(one["records"] for one in service.tell("dead-letters/topics")["items"])


def counts(service: Service, path: str) -> dict[str, int]:
    """Of all redrives of a policy."""
    items = redrives(service, path)
    return {name: sum(one[name] for one in items) for name in ("moved", "bounced", "parked", "skipped")}
