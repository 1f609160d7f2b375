"""Topics of log lines on a real broker: kills, restarts, poison, partitions and records that come and go."""

import itertools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from collector.kafka import create_no_topics
from lab import Lab
from tests import waiting

pytestmark = pytest.mark.integration

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "5"))
RECORDS_A_SECOND = 300
WITHIN_S = 60
STAYS_AWAY_S = 5
NUMBERS = itertools.count()

Event = dict[str, Any]


class Shipper:
    """A topic that is filled as Vector does it, entries in several records, from two hosts."""

    def __init__(self, servers: str, topic: str) -> None:
        self.topic = topic
        self._admin = KafkaAdminClient(bootstrap_servers=servers)
        self._producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)
        create_no_topics(self._producer)
        self.create(2)

    def create(self, partitions: int) -> None:
        self._admin.create_topics([NewTopic(self.topic, partitions, 1)], wait_for_metadata=True)

    def entry(self, task: int) -> None:
        host = f"host-{task % 2}"
        for line in (
            f"[2026-11-21 12:35:23,893] ERROR [c|task-{task}] Graceful stop of task c-{task} failed. (o.W:1)",
            "\tat o.Worker.stop(Worker.java:1104)",
            f"Caused by: o.E: Graceful stop of task c-{task} failed.",
        ):
            value = {"file": "/a.log", "host": host, "message": line, "source_type": "file"}
            self._producer.send(self.topic, key=host.encode(), value=json.dumps(value).encode())

    def poison(self, key: bytes) -> None:
        for value in (None, b"\xff\x00\xfe", b'{"message": ', b"[" * 9_999):
            self._producer.send(self.topic, key=key, value=value)

    def flush(self) -> None:
        self._producer.flush()

    def add_partitions(self, total: int) -> None:
        self._admin.create_partitions({self.topic: total})

    def exists(self) -> bool:
        return self.topic in self._admin.list_topics()

    def truncate(self, partition: int, offset: int) -> None:
        self._admin.delete_records({TopicPartition(self.topic, partition): offset})

    def delete(self) -> None:
        self._admin.delete_topics([self.topic])
        until(lambda: self.topic not in self._admin.list_topics(), "deleting the topic")

    def close(self) -> None:
        self._producer.close()
        self._admin.close()


class Collector:
    """A collector of one topic of log lines, with an events topic of its own."""

    def __init__(self, servers: str, directory: Path, topic: str, **settings: object) -> None:
        self.name = f"events-of-{topic}"
        self.events: list[Event] = []
        self._servers, self._directory, self._topic = servers, directory, topic
        self._at = dict[TopicPartition, int]()
        collector = {
            "name": self.name,
            "data": str(directory / self.name),
            "dlq_topics_poll_interval_ms": 0,
            "log_topics": [{"topic": topic, **settings}],
            "poll_interval_ms": 10,
        }
        self._config = directory / f"{self.name}.yaml"
        self._config.write_text(
            yaml.safe_dump(
                {
                    "kafka": {"bootstrap_servers": servers},
                    "events_topic": self.name,
                    "quarantine_topic": f"dlq.{topic}",
                    "quarantine_auto_create_topics_enable": True,
                    "collector": collector,
                }
            )
        )

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen([sys.executable, "-m", "collector", "--config", str(self._config)])
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)

    def of_kind(self, kind: str) -> list[Event]:
        """The events of a kind, each position of a source once."""
        self._read_on()
        highest: dict[str, list[int]] = {}
        found = []
        for event in self.events:
            if event["position"] > highest.get(event["source"], []):
                highest[event["source"]] = event["position"]
                found += [event] if event["kind"] == kind else []
        return found

    def saved(self) -> dict[str, Any]:
        """The partitions of the last position."""
        file = self._directory / self.name / "positions" / f"{self.name}.sqlite"
        with closing(sqlite3.connect(file)) as connection:
            rows = connection.execute(
                "SELECT state FROM positions WHERE source = ?", (f"log-topic:{self._topic}",)
            ).fetchall()
        found: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return found

    def _read_on(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers, isolation_level="read_committed", group_id=None
        )
        with closing(consumer):
            places = [TopicPartition(self.name, n) for n in consumer.partitions_for_topic(self.name) or ()]
            if not places:
                return
            consumer.assign(places)
            for place in places:
                consumer.seek(place, self._at.get(place, 0))
            ends = consumer.end_offsets(places)
            while any(consumer.position(place) < end for place, end in ends.items()):
                for records in consumer.poll(timeout_ms=200).values():
                    self.events += [json.loads(record.value) for record in records]
            self._at = {place: consumer.position(place) for place in places}


until = partial(waiting.until, within_s=WITHIN_S)


@pytest.fixture
def shipper(lab: Lab) -> Iterator[Shipper]:
    with closing(Shipper(lab.bootstrap_servers, f"logs-{os.getpid()}-{next(NUMBERS)}")) as made:
        yield made


def tasks(own: Collector) -> list[int]:
    return sorted(int(event["task"]) for event in own.of_kind("task_abandoned"))


def test_a_killed_collector_loses_and_repeats_nothing(lab: Lab, tmp_path: Path, shipper: Shipper) -> None:
    own, stop, written = Collector(lab.bootstrap_servers, tmp_path, shipper.topic), threading.Event(), [0]

    def ship() -> None:
        while not stop.wait(3 / RECORDS_A_SECOND):
            shipper.entry(written[0])
            written[0] += 1

    writer, random = threading.Thread(target=ship), Random(KILLS)
    writer.start()
    try:
        for number in range(KILLS):
            if number == 1:
                shipper.add_partitions(4)
            with own.running() as process:
                time.sleep(random.uniform(0.7, 3))  # the random moment at which it dies
                process.kill()
    finally:
        stop.set()
        writer.join()
    shipper.flush()
    with own.running():
        until(lambda: len(own.of_kind("task_abandoned")) >= written[0], "publishing all of the topic")
    assert tasks(own) == list(range(written[0]))
    told = [(one["source"], *one["position"]) for one in own.events if one["kind"] == "task_abandoned"]
    assert len(set(told)) == written[0]


def test_poison_is_a_dead_letter_with_its_place_and_the_rest_goes_on(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    shipper.poison(b"host-0")
    shipper.entry(0)
    shipper.flush()
    own = Collector(lab.bootstrap_servers, tmp_path, shipper.topic, format="json")
    with own.running():
        until(lambda: tasks(own) == [0], "reading behind the poison")
        unread = own.of_kind("quarantined")
        assert [one["reason"] for one in unread] == ["no_value", "not_json", "not_json", "not_json"]
        until(lambda: len(letters_of(lab, f"dlq.{shipper.topic}")) == len(unread), "writing letters")
    places = [
        (headers["__dlq.errors.topic"], headers["__dlq.errors.offset"], headers["__dlq.errors.message"])
        for headers in letters_of(lab, f"dlq.{shipper.topic}")
    ]
    reasons = [one["reason"] for one in unread]
    assert places == [(shipper.topic, str(offset), reason) for offset, reason in enumerate(reasons)]


def letters_of(lab: Lab, topic: str) -> list[dict[str, str]]:
    consumer = KafkaConsumer(bootstrap_servers=lab.bootstrap_servers, group_id=None)
    with closing(consumer):
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end, records = consumer.end_offsets([place])[place], list[Any]()
        while consumer.position(place) < end:
            records += consumer.poll(timeout_ms=200).get(place, [])
    return [{name: value.decode() for name, value in record.headers} for record in records]


def test_records_deleted_unread_and_a_topic_made_anew_are_said_once(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    own = Collector(lab.bootstrap_servers, tmp_path, shipper.topic)
    shipper.entry(0)
    shipper.flush()
    with own.running():
        until(lambda: tasks(own) == [0], "reading")
        until(lambda: [one["offset"] for one in own.saved().values()].count(3) == 1, "saving")
    (partition,) = [int(number) for number, one in own.saved().items() if one["offset"] == 3]
    shipper.entry(2)
    shipper.entry(4)
    shipper.flush()
    shipper.truncate(partition, 6)
    with own.running():
        until(lambda: tasks(own) == [0, 4], "reading what is left")
        shipper.delete()
        shipper.create(2)
        shipper.entry(6)
        shipper.flush()
        until(lambda: tasks(own) == [0, 4, 6], "reading the topic made anew")
    gaps = [one for one in own.of_kind("quarantined") if one["source"].endswith(f"/{partition}")]
    assert [(one["reason"], one["position"]) for one in gaps] == [
        ("records_deleted_unread", [0, 3, -1]),
        ("topic_recreated", [1, 0, -1]),
    ]


def test_a_topic_that_is_deleted_stays_away_though_brokers_make_what_is_asked_for(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    own = Collector(lab.bootstrap_servers, tmp_path, shipper.topic)
    shipper.entry(0)
    shipper.flush()
    with own.running():
        until(lambda: tasks(own) == [0], "reading")
        shipper.delete()
        end_s = time.monotonic() + STAYS_AWAY_S
        while time.monotonic() < end_s:
            assert not shipper.exists()
