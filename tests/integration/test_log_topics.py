"""Topics of log lines on a real broker: kills, restarts, poison, partitions and records that come and go."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from collector.sources.logs.topic import KafkaLogReader
from collector.sources.source import SourceDownError
from deadwatch.runtime.kafka import KafkaConnection, create_no_topics
from lab import Lab
from lab.topics import Topics
from tests import waiting
from tests.collector_process import Collector
from tests.kafka_topics import delete, headers_of, make_anew, messages, produce_unreadable
from tests.names import fresh

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "5"))
RECORDS_A_SECOND = 300
WITHIN_S = 60
STAYS_AWAY_S = 5


class Shipper:
    """A topic that is filled as Vector does it, entries in several records, from two hosts."""

    def __init__(self, servers: str, topic: str) -> None:
        self.topic = topic
        self._admin = KafkaAdminClient(bootstrap_servers=servers)
        self._producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)
        create_no_topics(self._producer)
        Topics(servers).create(topic, partitions=2)

    def entry(self, task: int) -> None:
        host = f"host-{task % 2}"
        for line in (
            f"[2026-11-21 12:35:23,893] ERROR [c|task-{task}] Graceful stop of task c-{task} failed. (o.W:1)",
            "\tat o.Worker.stop(Worker.java:1104)",
            f"Caused by: o.E: Graceful stop of task c-{task} failed.",
        ):
            value = {"file": "/a.log", "host": host, "message": line, "source_type": "file"}
            self._producer.send(self.topic, key=host.encode(), value=json.dumps(value).encode())

    def ship(self, *tasks: int) -> None:
        """Their entries, which the broker has then."""
        for task in tasks:
            self.entry(task)
        self.flush()

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

    def close(self) -> None:
        self._producer.close()
        self._admin.close()


def collecting(lab: Lab, directory: Path, topic: str, **settings: object) -> Collector:
    """A collector of one topic of log lines."""
    own = {"log_topics": [{"topic": topic, **settings}], "poll_interval_ms": 10}
    quarantine = {"quarantine_topic": f"dlq.{topic}", "quarantine_auto_create_topics_enable": True}
    return Collector(lab.bootstrap_servers, directory, f"events-of-{topic}", own, **quarantine)


until = partial(waiting.until, within_s=WITHIN_S)


@pytest.fixture
def shipper(lab: Lab) -> Iterator[Shipper]:
    with closing(Shipper(lab.bootstrap_servers, fresh("logs-"))) as made:
        yield made


def test_a_killed_collector_loses_and_repeats_nothing(lab: Lab, tmp_path: Path, shipper: Shipper) -> None:
    own, stop, written = collecting(lab, tmp_path, shipper.topic), threading.Event(), [0]

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
    assert sorted(own.abandoned()) == list(range(written[0]))
    told = [(one["source"], *one["position"]) for one in own.events() if one["kind"] == "task_abandoned"]
    assert len(set(told)) == written[0]


def test_poison_is_a_dead_letter_with_its_place_and_the_rest_goes_on(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    shipper.poison(b"host-0")
    shipper.ship(0)
    own = collecting(lab, tmp_path, shipper.topic, format="json")
    with own.running():
        until(lambda: sorted(own.abandoned()) == [0], "reading behind the poison")
        unread = own.of_kind("quarantined")
        assert [one["reason"] for one in unread] == ["no_value", "not_json", "not_json", "not_json"]
        until(lambda: len(letters_of(lab, f"dlq.{shipper.topic}")) == len(unread), "writing letters")
    places = [
        (headers["__dlq.errors.topic"], headers["__dlq.errors.offset"], headers["__dlq.errors.message"])
        for headers in letters_of(lab, f"dlq.{shipper.topic}")
    ]
    reasons = [one["reason"] for one in unread]
    assert places == [(shipper.topic, str(offset), reason) for offset, reason in enumerate(reasons)]


def test_a_header_that_cannot_be_read_is_named_with_its_place_until_it_is_deleted(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    produce_unreadable(lab.bootstrap_servers, shipper.topic, 1, [])
    reader = KafkaLogReader(shipper.topic, KafkaConnection(bootstrap_servers=lab.bootstrap_servers))
    with closing(reader):
        reader.seek({0: 0, 1: 0})
        with pytest.raises(SourceDownError, match=r"\(1/0\) cannot be read"):
            until(lambda: reader.read() != [], "reading the record")
    own = collecting(lab, tmp_path, shipper.topic)
    shipper.truncate(1, 1)
    shipper.ship(0)
    with own.running():
        until(lambda: sorted(own.abandoned()) == [0], "reading on")


def partitions_read_to(own: Collector, shipper: Shipper, offset: int) -> list[int]:
    saved = own.saved(f"log-topic:{shipper.topic}")
    return [int(number) for number, one in saved.items() if one["offset"] == offset]


def letters_of(lab: Lab, topic: str) -> list[dict[str, str]]:
    """The headers of each."""
    found = [headers_of(one) for one in messages(lab.bootstrap_servers, topic)]
    return [{name: value.decode() for name, value in headers.items()} for headers in found]


def test_records_deleted_unread_and_a_topic_made_anew_are_said_once(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    own = collecting(lab, tmp_path, shipper.topic)
    shipper.ship(0)
    with own.running():
        until(lambda: sorted(own.abandoned()) == [0], "reading")
        until(lambda: partitions_read_to(own, shipper, 3), "saving")
    (partition,) = partitions_read_to(own, shipper, 3)
    shipper.ship(2, 4)
    shipper.truncate(partition, 6)
    with own.running():
        until(lambda: sorted(own.abandoned()) == [0, 4], "reading what is left")
        make_anew(lab.bootstrap_servers, shipper.topic)
        shipper.ship(6)
        until(lambda: sorted(own.abandoned()) == [0, 4, 6], "reading the topic made anew")
    gaps = [one for one in own.of_kind("quarantined") if one["source"].endswith(f"/{partition}")]
    assert [(one["reason"], one["position"]) for one in gaps] == [
        ("records_deleted_unread", [0, 3, -1]),
        ("topic_recreated", [1, 0, -1]),
    ]


def test_a_topic_that_is_deleted_stays_away_though_brokers_make_what_is_asked_for(
    lab: Lab, tmp_path: Path, shipper: Shipper
) -> None:
    own = collecting(lab, tmp_path, shipper.topic)
    shipper.ship(0)
    with own.running():
        until(lambda: sorted(own.abandoned()) == [0], "reading")
        delete(lab.bootstrap_servers, shipper.topic)
        end_s = time.monotonic() + STAYS_AWAY_S
        while time.monotonic() < end_s:
            assert not shipper.exists()
