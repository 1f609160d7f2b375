"""The collector as a process on a real Kafka, Connect and Streams."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kafka.errors import KafkaError

from collector.publish.producer import FencedError, KafkaEventProducer, Record
from collector.settings import CollectorSettings
from deadwatch.runtime.kafka_topics import Admin
from lab import Lab
from lab.topics import Topics
from tests.collector_process import Collector, counted_once
from tests.kafka_topics import headers_of, messages
from tests.names import fresh
from tests.waiting import until

FAILED_CALLS = (
    ("process", "Could not complete processing records for"),
    ("init", "Encountered timeout exception. Reattempting initialization"),
    ("restore", "Could not complete restoration for"),
    ("restore", "Could not fetch all end offsets for"),
    ("restore", "Could not retrieve the committed offsets for"),
    ("init_transactions", "Timeout exception caught trying to initialize transactions"),
    ("offset_reset", "Could not reset offset for"),
    ("committed_offsets", "while trying to fetch committed offsets, will retry"),
    ("partitions_for", "Could not get partitions for topic"),
)
SHUT_DOWN = r"stream-(?:thread|client) \[\S+\] Shutdown complete"
TASKS_NAMED = {
    "commit": r"Committing task\(s\) (.*) failed\.",
    "corrupted": r"Detected the states of tasks \[(.*)\] are corrupted",
}


@pytest.fixture
def collector(lab: Lab, tmp_path: Path) -> Callable[..., Collector]:
    def make(shared: Mapping[str, object] | None = None, **settings: object) -> Collector:
        own = {"heartbeat_interval_ms": 500, **settings}
        return Collector(lab.bootstrap_servers, tmp_path, fresh("events-"), own, **(shared or {}))

    return make


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
        until(
            lambda: stalls(own) == stalls_in(lab.logs.streams),
            lambda: f"the collector says {stalls(own)}, the log {stalls_in(lab.logs.streams)}",
        )
    seen_at_last = stalls(own)
    assert seen_at_last["died"] > 0
    assert sum(seen_at_last.values()) > seen_at_last["died"] + seen_at_last["closed"]


def stalls(own: Collector) -> Counter[str]:
    """How many timers started, by the call that failed, tasks corrupted, clients died and closed."""
    found: Counter[str] = Counter()
    for event in counted_once(own.events()):
        match event:
            case {"kind": "task_timer_started", "call": call}:
                found[call] += 1
            case {"kind": "task_corrupted"}:
                found["corrupted"] += 1
            case {"kind": "stream_thread_died", "decision": "SHUTDOWN_CLIENT"}:
                found["died"] += 1
            case {"kind": "task_timer_ended", "reason": "closed"}:
                found["closed"] += 1
    return found


def stalls_in(log: Path) -> Counter[str]:
    """The same by another witness: what Streams logged (kafka-facts: the lines of task timeouts)."""
    text = log.read_text()
    found: Counter[str] = Counter()
    for call, line in FAILED_CALLS:
        found[call] += len(re.findall(line, text))
    for name, tasks in TASKS_NAMED.items():
        found[name] += sum(len(named.split(", ")) for named in re.findall(tasks, text))
    found["died"] = text.count("the registered exception handler opted to SHUTDOWN_CLIENT")
    found["closed"] = found["died"] + len(re.findall(SHUT_DOWN, text))
    return +found


def test_a_second_collector_of_the_same_name_ends_the_first(collector: Callable[..., Collector]) -> None:
    own = collector()
    with own.running() as first:
        until(lambda: own.of_kind("source_status"), "publishing")
        with own.running() as second:
            until(lambda: first.poll() is not None, "fencing the first")
            assert second.poll() is None
        assert first.returncode == 1


def settings_of(lab: Lab, **more: object) -> CollectorSettings:
    own = {"name": fresh("collector-"), "events_topic": fresh("events-"), **more}
    return CollectorSettings.model_validate({"kafka": {"bootstrap_servers": lab.bootstrap_servers}, **own})


def test_a_producer_fenced_amid_its_records_does_not_take_the_place_back(lab: Lab) -> None:
    settings = settings_of(lab)
    with closing(KafkaEventProducer(settings)) as first, closing(KafkaEventProducer(settings)) as second:

        class Records(list[Record]):
            def __iter__(self) -> Iterator[Record]:
                """The second comes once the first one has been found out."""
                yield b"a", b"1"
                until(first._producer._transaction_manager.has_fatal_error, "fencing the first")
                yield b"b", b"2"

        with pytest.raises(FencedError):
            first.transact(Records())
        second.transact([(b"a", b"3")])


def test_a_topic_that_may_not_be_created_is_not_created_by_the_broker_either(lab: Lab) -> None:
    settings = settings_of(lab, create_topics=False, request_timeout_ms=1_000, delivery_timeout_ms=2_000)
    with closing(KafkaEventProducer(settings)) as producer, pytest.raises(KafkaError):
        producer.transact([(b"a", b"1")])
    with closing(Admin(bootstrap_servers=lab.bootstrap_servers)) as admin:
        assert settings.events_topic not in admin.list_topics()


def test_a_broker_ends_no_transaction_before_the_time_of_its_delivery(lab: Lab) -> None:
    settings = settings_of(lab, name=(name := fresh("lasting-")))
    with closing(Admin(bootstrap_servers=lab.bootstrap_servers)) as admin:
        for given_ms, lasts_ms in ((settings.delivery_timeout_ms, 120_000), (31_000, 60_000)):
            with closing(KafkaEventProducer(settings.model_copy(update={"delivery_timeout_ms": given_ms}))):
                assert admin.describe_transactions([name])[name].transaction_timeout_ms == lasts_ms
    too_long = settings.model_copy(update={"delivery_timeout_ms": 900_001})
    with pytest.raises(KafkaError, match=r"transaction\.max\.timeout\.ms: lower it"):
        KafkaEventProducer(too_long)


@pytest.mark.parametrize(
    ("queue_bytes", "task"), [(100_000, "3"), (1_000, None)], ids=["copied", "too large to be copied"]
)
def test_an_event_the_broker_refuses_is_a_dead_letter_and_all_goes_on(
    collector: Callable[..., Collector], lab: Lab, tmp_path: Path, queue_bytes: int, task: str | None
) -> None:
    path = tmp_path / "connect.log"
    entry = "[2026-11-21 12:35:23,893] Graceful stop of task {}-{} failed.\n"
    path.write_text("".join(entry.format("c" * 900 if n == 3 else "c", n) for n in range(9)))
    queue = fresh("dlq.own-")
    quarantine = {"quarantine_topic": queue, "quarantine_copy_record_enable": True}
    own = collector(quarantine, logs=[{"path": str(path)}])
    for topic, max_bytes in ((own.topic, 2_000), (queue, queue_bytes)):
        limit = {"max.message.bytes": str(max_bytes)}
        Topics(lab.bootstrap_servers).create(topic, partitions=1, config=limit)
    with own.running() as process:
        until(lambda: len(own.of_kind("task_abandoned")) == 8, "publishing what the broker takes")
        until(lambda: [*messages(lab.bootstrap_servers, queue)], "writing the dead letter")
        process.terminate()
        assert process.wait(20) == 0
    (instead,) = own.of_kind("quarantined")
    assert (instead["reason"], instead["source"]) == ("event_refused", f"log:{path}@{own.topic}")
    (letter,) = messages(lab.bootstrap_servers, queue)
    assert (json.loads(copied)["task"] if (copied := letter.value()) else copied) == task
    headers = {name: value.decode() for name, value in headers_of(letter).items()}
    assert "MessageSizeTooLargeError" in headers.pop("__dlq.errors.message")
    assert headers == {
        "__dlq.errors.topic": own.topic,
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
    queue = fresh("dlq.never-")
    own = collector({"quarantine_topic": queue}, logs=[{"path": str(path)}])
    unwritten = f"1 dead letters cannot be written to {queue} (NoQueueError: it does not exist; create it"
    with own.running() as process:
        until(lambda: own.of_kind("task_abandoned"), "going on")
        until(lambda: unwritten in own.log.read_text(), own.log.read_text)
        process.terminate()
        assert process.wait(20) == 0
    assert [event["reason"] for event in own.of_kind("quarantined")] == ["not_json"]
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    assert queue not in admin.list_topics(timeout=30).topics
