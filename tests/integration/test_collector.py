"""The collector as a process on a real Kafka, Connect and Streams."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import NewTopic

from collector.kafka import KafkaConnection
from collector.outgoing import Record
from collector.producer import FencedError, KafkaEvents
from collector.settings import CollectorSettings
from lab import Lab
from tests.kafka_events import Event, counted_once, events
from tests.waiting import until

pytestmark = pytest.mark.integration

NUMBERS = itertools.count()


@dataclass(frozen=True)
class Collector:
    """How one collector is run, and what it has published; each has a topic of its own."""

    lab: Lab
    directory: Path
    name: str
    settings: dict[str, Any]

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        config = self.directory / f"{self.name}.yaml"
        config.write_text(yaml.safe_dump(self._config()))
        process = subprocess.Popen(
            [sys.executable, "-m", "collector", "--config", str(config)], stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise

    def events(self) -> list[Event]:
        """Everything committed, in the order of each partition."""
        return events(self.lab.bootstrap_servers, self.name)

    def of_kind(self, *kinds: str) -> list[Event]:
        """The events of some kinds, each position of a source once."""
        return [event for event in counted_once(self.events()) if event["kind"] in kinds]

    def _config(self) -> dict[str, Any]:
        return {
            "kafka": {"bootstrap_servers": self.lab.bootstrap_servers},
            "events_topic": self.name,
            "collector": {
                "name": self.name,
                "data": str(self.directory / self.name),
                "heartbeat_interval_ms": 500,
                **self.settings,
            },
        }


@pytest.fixture
def collector(lab: Lab, tmp_path: Path) -> Callable[..., Collector]:
    def make(**settings: object) -> Collector:
        return Collector(lab, tmp_path, f"events-{os.getpid()}-{next(NUMBERS)}", settings)

    return make


def test_an_abandoned_task_is_one_and_then_none(collector: Callable[..., Collector], lab: Lab) -> None:
    own = collector(
        logs=[{"path": str(lab.logs.connect)}],
        connect=[{"url": lab.connect_url, "jolokia_url": lab.connect_jolokia_url, "poll_interval_ms": 200}],
    )

    def abandoned() -> int | None:
        snapshots = own.of_kind("worker_snapshot")
        counts = [i["abandoned"] for i in snapshots[-1]["instances"] if i["task"]] if snapshots else []
        return sum(counts) if counts and snapshots[-1]["threads_known"] else None

    with own.running():
        before = lab.truth.abandoned_tasks_total
        lab.abandon_task()
        until(lambda: abandoned() == lab.truth.abandoned_tasks_current, "seeing the abandoned task")
        lab.release_task()
        until(lambda: abandoned() == 0, "seeing its end")
        until(
            lambda: len(own.of_kind("task_abandoned")) == lab.truth.abandoned_tasks_total, "counting the log"
        )
    assert lab.truth.abandoned_tasks_total == before + 1
    names = {event["worker"] for event in own.of_kind("task_abandoned", "worker_snapshot", "worker_started")}
    assert names == {lab.connect_url.removeprefix("http://").rstrip("/")}


def test_a_stalled_broker_gives_the_true_numbers_once_it_is_back(
    collector: Callable[..., Collector], lab: Lab
) -> None:
    own = collector(logs=[{"path": str(lab.logs.streams)}])
    with own.running():
        until(lambda: own.of_kind("source_status"), "publishing")
        lab.stall_broker()

        def seen() -> tuple[int, int, int]:
            batches = own.of_kind("delivery_timeout")
            return (
                len(own.of_kind("task_timeout")),
                len(batches),
                sum(batch["records"] for batch in batches),
            )

        def truth() -> tuple[int, int, int]:
            return lab.truth.task_timeouts, lab.truth.expired_batches, lab.truth.expired_records

        until(lambda: seen() == truth(), "seeing the true numbers")
        assert truth() > (0, 0, 0)
        until(lambda: stalls(own) == stalls_in(lab.logs.streams), "seeing timers, corrupted tasks and deaths")
    started, _, died = stalls(own)
    assert (started > 0, died > 0) == (True, True)
    assert "commit" in {event["call"] for event in own.of_kind("task_timer_started")}
    closed = {
        event["streams_client"]
        for event in own.of_kind("task_timer_ended")
        if event["reason"] == "closed" and event["thread"] == event["streams_client"]
    }
    assert closed == {event["streams_client"] for event in own.of_kind("stream_thread_died")}


def stalls(own: Collector) -> list[int]:
    kinds = [event["kind"] for event in counted_once(own.events())]
    return [kinds.count(kind) for kind in ("task_timer_started", "task_corrupted", "stream_thread_died")]


def stalls_in(log: Path) -> list[int]:
    """The same by another witness: tasks that failed calls name, tasks that are corrupted, deaths."""
    text = log.read_text()
    failed = re.findall(r"Committing task\(s\) (.*) failed\.", text)
    one_each = (
        "while trying to fetch committed offsets, will retry",
        "Could not complete processing records for",
        "Could not get partitions for topic",
        "Encountered timeout exception. Reattempting initialization",
    )
    corrupted = re.findall(r"Detected the states of tasks \[(.*)\] are corrupted", text)
    return [
        sum(map(text.count, one_each)) + sum(len(tasks.split(", ")) for tasks in failed),
        sum(len(tasks.split(", ")) for tasks in corrupted),
        text.count("the registered exception handler opted to SHUTDOWN_CLIENT"),
    ]


def test_a_second_collector_of_the_same_name_ends_the_first(collector: Callable[..., Collector]) -> None:
    own = collector()
    with own.running() as first:
        until(lambda: own.of_kind("source_status"), "publishing")
        with own.running() as second:
            until(lambda: first.poll() is not None, "fencing the first")
            assert second.poll() is None
        assert first.returncode == 1


def test_a_producer_fenced_amid_its_records_does_not_take_the_place_back(lab: Lab) -> None:
    settings = CollectorSettings(
        name=f"fenced-{os.getpid()}",
        kafka=KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
        events_topic=f"events-{os.getpid()}-fenced",
    )
    with closing(KafkaEvents(settings)) as first, closing(KafkaEvents(settings)) as second:

        class Records(list[Record]):
            def __iter__(self) -> Iterator[Record]:
                """The second comes once the first one has been found out."""
                yield b"a", b"1"
                until(first._producer._transaction_manager.has_fatal_error, "fencing the first")
                yield b"b", b"2"

        with pytest.raises(FencedError):
            first.transact(Records())
        second.transact([(b"a", b"3")])


def test_a_collector_told_to_stop_ends_well_and_publishes_what_it_read(
    collector: Callable[..., Collector], tmp_path: Path
) -> None:
    path = tmp_path / "connect.log"
    path.write_text(
        "".join(f"[2026-11-21 12:35:23,893] Graceful stop of task c-{n} failed.\n" for n in range(9))
    )
    own = collector(logs=[{"path": str(path)}], connect=[{"url": "http://127.0.0.1:9"}])
    with own.running() as process:
        until(lambda: own.of_kind("task_abandoned"), "publishing")
        process.terminate()
        assert process.wait(20) == 0
    assert len(own.of_kind("task_abandoned")) == 9
    down = [
        event for event in own.of_kind("source_status") if event["subject"] == "connect:http://127.0.0.1:9"
    ]
    assert {event["up"] for event in down} == {False}


@pytest.mark.parametrize(
    ("queue_bytes", "task"), [(100_000, "3"), (1_000, None)], ids=["copied", "too large to be copied"]
)
def test_an_event_the_broker_refuses_is_a_dead_letter_and_all_goes_on(
    collector: Callable[..., Collector], lab: Lab, tmp_path: Path, queue_bytes: int, task: str | None
) -> None:
    path = tmp_path / "connect.log"
    entry = "[2026-11-21 12:35:23,893] Graceful stop of task {}-{} failed.\n"
    path.write_text("".join(entry.format("c" * 900 if n == 3 else "c", n) for n in range(9)))
    queue = f"dlq.own-{os.getpid()}-{queue_bytes}"
    own = collector(
        logs=[{"path": str(path)}],
        quarantine_topic=queue,
        quarantine_copy_record_enable=True,
        dlq_topics_poll_interval_ms=0,  # what it tells of the lab's topics is refused as well
    )
    with closing(KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers)) as admin:
        for topic, max_bytes in ((own.name, 2_000), (queue, queue_bytes)):
            new = NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": str(max_bytes)})
            admin.create_topics([new], wait_for_metadata=True)
    with own.running() as process:
        until(lambda: len(own.of_kind("task_abandoned")) == 8, "publishing what the broker takes")
        process.terminate()
        assert process.wait(20) == 0
    (instead,) = own.of_kind("quarantined")
    assert (instead["reason"], instead["source"]) == ("event_refused", f"log:{path}")
    (letter,) = read_all(lab, queue)
    assert (json.loads(letter.value)["task"] if letter.value else letter.value) == task
    headers = {name: value.decode() for name, value in letter.headers}
    assert "MessageSizeTooLargeError" in headers.pop("__dlq.errors.message")
    assert headers == {
        "__dlq.errors.topic": own.name,
        "__dlq.errors.delivery.count": "1",
        "__dlq.errors.group": "deadwatch",
    }


def test_without_its_queue_a_dead_letter_is_said_and_stops_nothing(
    collector: Callable[..., Collector], lab: Lab, tmp_path: Path
) -> None:
    path = tmp_path / "broken.log"
    path.write_text(
        '{"message": "x"}\nno JSON\n{"message": "Graceful stop of task c-1 failed.", "level": "ERROR"}\n'
    )
    queue = f"dlq.never-{os.getpid()}"
    own = collector(logs=[{"path": str(path)}], quarantine_topic=queue)
    with own.running() as process:
        until(lambda: own.of_kind("task_abandoned"), "going on")
        process.terminate()
        lines = process.communicate(timeout=20)[1]
    assert [event["reason"] for event in own.of_kind("quarantined")] == ["not_json"]
    assert f"1 dead letters cannot be written to {queue} (NoQueueError: it does not exist; create it" in lines
    with closing(KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers)) as admin:
        assert queue not in admin.list_topics()


def read_all(lab: Lab, topic: str) -> list[Any]:
    """Every record of a topic with one partition."""
    consumer = KafkaConsumer(bootstrap_servers=lab.bootstrap_servers, group_id=None)
    with closing(consumer):
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end, records = consumer.end_offsets([place])[place], []
        while consumer.position(place) < end:
            records += consumer.poll(timeout_ms=200).get(place, [])
    return records
