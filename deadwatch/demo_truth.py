"""When each failure happened, by other witnesses: the lab's logs and the dead letters' own times.

A dead letter of Connect keeps the time at which its record was produced, so its delay includes Connect's own
work; one that was put back and failed again begins anew then. One of a share group carries the
time at which the broker wrote it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from collector.contract.headers import REDRIVE_MOVED_AT_MS
from deadwatch.demo_watch import Signal
from lab import Lab, share
from lab.connect import FILESINK_DLQ
from lab.truth import count_expired, count_task_timeouts, entries

ABANDONED = "Graceful stop of task "
POLL_MS = 1_000
POLLS = 10


def happened(lab: Lab) -> Mapping[Signal, Sequence[int]]:
    """The times of all occurrences so far, in milliseconds since the epoch."""
    streams = lab.logs.streams
    abandoned = log_times(lab.logs.connect, lambda text: text.count(ABANDONED))
    return {
        Signal.ABANDONED_NOW: abandoned,
        Signal.ABANDONED_TOTAL: abandoned,
        Signal.SHARE_DEAD_LETTERS: record_times(lab.bootstrap_servers, share.DLQ),
        Signal.CONNECT_DEAD_LETTERS: record_times(lab.bootstrap_servers, FILESINK_DLQ),
        Signal.TASK_TIMEOUTS: log_times(streams, count_task_timeouts),
        Signal.EXPIRED_RECORDS: log_times(streams, lambda text: count_expired(text).records),
    }


def log_times(log: Path, count: Callable[[str], int]) -> list[int]:
    """The time of every occurrence that ``count`` finds; the entry that raises the count has its time."""
    times: list[int] = []
    told = ""
    for entry in entries(log.read_text(encoding="utf-8", errors="replace")):
        if count(entry.text) > 0:
            told += entry.text
            times += [int(entry.at.timestamp() * 1_000)] * (count(told) - len(times))
    return times


def record_times(bootstrap_servers: str, topic: str) -> list[int]:
    """The times of all records of a topic, oldest first."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest", enable_auto_commit=False
    )
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        if not partitions:
            return []
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        times: list[int] = []
        for _ in range(POLLS):
            if all(consumer.position(place) >= end for place, end in ends.items()):
                break
            batches = consumer.poll(timeout_ms=POLL_MS)
            times += [_time_of(record) for records in batches.values() for record in records]
        return sorted(times)
    finally:
        consumer.close()


def _time_of(record: ConsumerRecord) -> int:
    """When it was produced, or put back by the last redrive."""
    moved = dict(record.headers).get(REDRIVE_MOVED_AT_MS)
    return int(moved) if moved else int(record.timestamp)
