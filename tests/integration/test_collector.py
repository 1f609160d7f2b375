"""The collector as a process on a real Kafka, Connect and Streams."""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from kafka import KafkaConsumer, TopicPartition

from lab import Lab

pytestmark = pytest.mark.integration

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "5"))
LINES_A_SECOND = 200
WITHIN_S = 60
NUMBERS = itertools.count()

Event = dict[str, Any]


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
        consumer = KafkaConsumer(
            bootstrap_servers=self.lab.bootstrap_servers, isolation_level="read_committed", group_id=None
        )
        try:
            partitions = [
                TopicPartition(self.name, number) for number in consumer.partitions_for_topic(self.name) or ()
            ]
            if not partitions:
                return []
            consumer.assign(partitions)
            consumer.seek_to_beginning(*partitions)
            return list(_read(consumer, consumer.end_offsets(partitions)))
        finally:
            consumer.close()

    def of_kind(self, *kinds: str) -> list[Event]:
        """The events of some kinds, each position of a source once."""
        return [event for event in _once(self.events()) if event["kind"] in kinds]

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


def _read(consumer: KafkaConsumer, ends: dict[TopicPartition, int]) -> Iterator[Event]:
    deadline = time.monotonic() + WITHIN_S
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        assert time.monotonic() < deadline, "the topic could not be read to its end"
        for records in consumer.poll(timeout_ms=200).values():
            for record in records:
                event: Event = json.loads(record.value)
                assert record.key.decode() == event["source"]
                yield event


def _once(events: list[Event]) -> Iterator[Event]:
    """What is left when a reader drops all that is at or below what it has seen of a source."""
    highest: dict[str, list[int]] = {}
    for event in events:
        if event["position"] > highest.get(event["source"], []):
            highest[event["source"]] = event["position"]
            yield event


@pytest.fixture
def collector(lab: Lab, tmp_path: Path) -> Callable[..., Collector]:
    def make(**settings: object) -> Collector:
        return Collector(lab, tmp_path, f"events-{os.getpid()}-{next(NUMBERS)}", settings)

    return make


def until(condition: Callable[[], object], what: str, within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s} s"
        time.sleep(0.1)


def write_failures(path: Path, stop: threading.Event) -> int:
    """Entries of an abandoned task each, stack traces between them, until told to stop; how many."""
    with path.open("a", buffering=1) as log:
        for number in itertools.count():
            if stop.wait(1 / LINES_A_SECOND):
                return number
            log.write(f"[2026-11-21 12:35:23,893] ERROR [c|task-{number}] Graceful stop of task c-{number}")
            log.write(" failed. (o.Worker:1104)\n\tat o.Worker.stop(Worker.java:1104)\n")
            log.write(f"Caused by: o.Exception: Graceful stop of task c-{number} failed.\n")
    raise AssertionError("unreachable")


def test_a_killed_collector_loses_and_repeats_nothing(
    collector: Callable[..., Collector], tmp_path: Path
) -> None:
    path, stop, written = tmp_path / "connect.log", threading.Event(), list[int]()
    own = collector(logs=[{"path": str(path)}], poll_interval_ms=10)
    writer = threading.Thread(target=lambda: written.append(write_failures(path, stop)))
    writer.start()
    try:
        random = Random(KILLS)
        for _ in range(KILLS):
            with own.running() as process:
                time.sleep(random.uniform(0.5, 3))  # the random moment at which it dies
                process.kill()
    finally:
        stop.set()
        writer.join()
    truth = [str(number) for number in range(written[0])]
    with own.running():
        until(lambda: len(own.of_kind("task_abandoned")) >= len(truth), "publishing all of the log")
    events = own.events()
    assert [event["task"] for event in _once(events) if event["kind"] == "task_abandoned"] == truth
    every = {
        (event["source"], tuple(event["position"])) for event in events if event["kind"] == "task_abandoned"
    }
    assert len(every) == len(truth)


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


def test_a_second_collector_of_the_same_name_ends_the_first(collector: Callable[..., Collector]) -> None:
    own = collector()
    with own.running() as first:
        until(lambda: own.of_kind("source_status"), "publishing")
        with own.running() as second:
            until(lambda: first.poll() is not None, "fencing the first")
            assert second.poll() is None
        assert first.returncode == 1


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
