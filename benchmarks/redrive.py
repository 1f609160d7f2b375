"""What a redrive costs, beside bare loops that move the same records in transactions, in turns on one broker.

Records are 1.9 kB with the headers of a Connect dead letter; every side keeps key, value, headers, time and
partition. A round reads a dead letter topic from its beginning and ends with its last commit. Memory is
that of a process that moves small records.
"""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, cast

import kafka
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.structs import OffsetAndMetadata

from benchmarks.row import Row, in_turns, seconds
from deadwatch.orders.order import Claim, Limits, Order, OrderRequest
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.process import leave_records_alone
from lab import Lab
from lab.topics import Topics
from redrive.librdkafka import consume
from redrive.move.mover import Finished, Idle, Paused
from redrive.move.task import OrderTask, WorkerContext
from redrive.settings import RedriveSettings
from redrive.telemetry import EndedTransaction, Telemetry

TARGET: Final = "bench-redrive"
DLQ: Final = f"dlq.{TARGET}"
WIDTH: Final = 12
RECORDS: Final = 60_000
ROUNDS: Final = 5
IN_FLIGHT: Final = 10_000
RATE: Final = 500.0
WITHIN: Final = 0.02
SMALL: Final = "bench-redrive-small"
SIZES: Final = (10_000, 1_000_000)
"""Records of the orders whose memory is compared."""
FLAT: Final = 0.8
REFUSED: Final = "bench-redrive-refused"
RECORDS_OF_REFUSED: Final = 12_000
LARGEST: Final = 1_048_588
"""Bytes of a batch that Kafka takes by default."""
REFUSED_GOALS: Final = {1: 1 / 1.5, 50: 1 / 4}
"""By how many are refused: an order may take so much longer than one of which none is."""

Headers = list[tuple[str, str | bytes | None]]


def fill(servers: str) -> None:
    Topics(servers).create(TARGET, DLQ, partitions=WIDTH)
    headers = {
        "connector.name": "sink",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": "Converting byte[] to Kafka Connect data failed due to serialization error:",
    }
    produce(servers, TARGET, DLQ, (os.urandom(1_600) for _ in range(RECORDS)), headers)


def produce(
    servers: str, target: str, dlq: str, values: Iterable[bytes], more: Mapping[str, str] | None = None
) -> None:
    """Dead letters of ``target`` with these values, one partition after the other."""
    settings = {"queue.buffering.max.messages": 1_000_000, "message.max.bytes": 2 * LARGEST}
    producer = Producer({"bootstrap.servers": servers, **settings})
    for number, value in enumerate(values):
        offset, partition = divmod(number, WIDTH)
        origin = {"topic": target, "partition": partition, "offset": offset, **(more or {})}
        headers: Headers = [(f"__connect.errors.{name}", str(text).encode()) for name, text in origin.items()]
        producer.produce(dlq, value, b"%d" % number, partition, headers=headers)
        if number % 10_000 == 0:
            producer.flush(60)
    producer.flush(60)


def order(records: int, rate: float | None, dlq: str, in_flight: int) -> Order:
    """The first records of every partition."""
    request = {"dlq_topic": dlq, "selection": {"all": True}, "dry_run": False, "reason": "bench"}
    limits = {"records_per_second": rate, "max_in_flight": in_flight}
    return Order(
        id=uuid.uuid4().hex,
        request=OrderRequest.model_validate(request | {"limits": limits, "retry": {"retry_backoff_ms": 0}}),
        requested_by="bench",
        created_at_ms=0,
        begin=dict.fromkeys(range(WIDTH), 0),
        cut_off=dict.fromkeys(range(WIDTH), records // WIDTH),
    )


class Moments(Telemetry):
    """When each transaction was done, and how many records had been moved by then."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[float, int]] = []
        self._moved = 0

    def ended(self, transaction: EndedTransaction) -> None:
        """Note it; one that was aborted has moved nothing."""
        self._moved += 0 if transaction.error_type else transaction.batch.moved
        self.found.append((time.perf_counter(), self._moved))


def ours(
    servers: str, records: int, rate: float | None = None, dlq: str = DLQ, in_flight: int = IN_FLIGHT
) -> list[tuple[float, int]]:
    """One order, by the mover of the house: when each transaction was done, and how many had been moved."""
    moments = Moments()
    settings = RedriveSettings.model_validate({"kafka": {"bootstrap_servers": servers}})
    context = WorkerContext(settings, telemetry=moments)
    with OrderTask(context, Claim(order(records, rate, dlq, in_flight), 1, 0), lambda: None) as work:
        while not isinstance(step := work.step(), Finished):
            match step:
                case Idle(until_ms):
                    time.sleep(max(until_ms - clock_ms(), 0) / 1_000)
                case Paused(reason):
                    raise RuntimeError(reason)
    return moments.found


def confluent(servers: str, records: int) -> None:
    name = uuid.uuid4().hex
    reading = {"group.id": name, "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": servers, **reading})
    writing = {"transactional.id": name, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({"bootstrap.servers": servers, **writing})
    producer.init_transactions()
    consumer.assign([TopicPartition(DLQ, partition, 0) for partition in range(WIDTH)])
    group, left = consumer.consumer_group_metadata(), records
    ends: dict[int, int] = {}
    while left:
        messages = consume(consumer, min(IN_FLIGHT, left), 0.1)
        producer.begin_transaction()
        for message in messages:
            producer.produce(
                TARGET,
                message.value(),
                message.key(),
                message.partition(),
                timestamp=message.timestamp()[1],
                headers=cast("Headers", message.headers()),
            )
            ends[message.partition()] = message.offset() + 1
        producer.send_offsets_to_transaction(
            [TopicPartition(DLQ, at, end) for at, end in ends.items()], group
        )
        producer.commit_transaction()
        left -= len(messages)
    consumer.close()


def kafka_python(servers: str, records: int) -> None:
    """A bare loop on kafka-python; its checksums are those of crc32c."""
    name = uuid.uuid4().hex
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers,
        group_id=name,
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_poll_records=IN_FLIGHT,
    )
    producer = kafka.KafkaProducer(bootstrap_servers=servers, transactional_id=name, linger_ms=5, acks="all")
    producer.init_transactions()
    places = [kafka.TopicPartition(DLQ, partition) for partition in range(WIDTH)]
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    left = records
    while left > 0:
        taken = consumer.poll(timeout_ms=100, max_records=min(IN_FLIGHT, left))
        producer.begin_transaction()
        for place, found in taken.items():
            for record in found:
                producer.send(
                    TARGET, record.value, record.key, record.headers, place.partition, record.timestamp
                )
        ends = {place: OffsetAndMetadata(found[-1].offset + 1, "", -1) for place, found in taken.items()}
        producer.send_offsets_to_transaction(ends, name)
        producer.commit_transaction()
        left -= sum(map(len, taken.values()))
    producer.close()
    consumer.close()


def limited(servers: str, taking_s: int = 12) -> Row:
    """How near a rate limit is met, from the first record to the last: the peer is the limit itself."""
    records = round(RATE * taking_s / WIDTH) * WIDTH
    moments = ours(servers, records, RATE)
    (first_s, first), (last_s, last) = moments[0], moments[-1]
    rate = (last - first) / (last_s - first_s)
    row = Row.more("redrive with records_per_second, beside the limit", rate, RATE, 1 - WITHIN)
    return replace(row, holds=abs(rate / RATE - 1) <= WITHIN)


def refused(servers: str) -> Iterator[Row]:
    """Beside an order of which Kafka takes every record, in turns; transactions are of the default size."""
    Topics(servers).create(REFUSED, partitions=WIDTH)
    moving = partial(ours, servers, RECORDS_OF_REFUSED, in_flight=Limits().max_in_flight)
    orders = {large: partial(moving, dlq=f"dlq.{REFUSED}-{large}") for large in (0, *REFUSED_GOALS)}
    for large, run in orders.items():
        fill_refused(servers, large)
        run()
    rates = [
        {large: RECORDS_OF_REFUSED / seconds(run) for large, run in orders.items()} for _ in range(ROUNDS)
    ]
    for large, goal in REFUSED_GOALS.items():
        work = f"redrive of {RECORDS_OF_REFUSED} records, {large} too large, beside none, records/s"
        yield Row.of_rounds(work, [(rate[large], rate[0]) for rate in rates], goal)


def fill_refused(servers: str, large: int) -> None:
    """Of the size that dead letters have, but for some that only the dead letter topic takes."""
    dlq, rng = f"dlq.{REFUSED}-{large}", Random(large)
    Topics(servers).create(dlq, partitions=WIDTH, config={"max.message.bytes": str(2 * LARGEST)})
    chosen = set(rng.sample(range(RECORDS_OF_REFUSED), large))
    sizes = (
        rng.randrange(LARGEST, LARGEST * 3 // 2) if number in chosen else 1_600
        for number in range(RECORDS_OF_REFUSED)
    )
    produce(servers, REFUSED, dlq, map(os.urandom, sizes))


def flat(servers: str) -> Row:
    """The most memory that a worker needs for the largest order, beside that for the smallest."""
    Topics(servers).create(SMALL, f"dlq.{SMALL}", partitions=WIDTH)
    produce(servers, SMALL, f"dlq.{SMALL}", (b"%d" % number for number in range(SIZES[-1])))
    small, large = (peak_mib(servers, size) for size in SIZES)
    return Row.fewer(f"redrive of {SIZES[0]} and of {SIZES[-1]} records, MiB at most", large, small, FLAT)


def peak_mib(servers: str, records: int) -> float:
    command = [sys.executable, "-m", "benchmarks.redrive", servers, str(records)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def move_small(servers: str, records: int) -> None:
    """Move so many of the small ones, and print the most memory that it took."""
    leave_records_alone()
    ours(servers, records, dlq=f"dlq.{SMALL}")
    status = Path("/proc/self/status").read_text()  # getrusage knows what the parent had before it
    print(int(status.split("VmHWM:")[1].split()[0]) / 1_024)


def rows() -> Iterator[Row]:
    """Both peers, the limit, what is refused, and memory."""
    leave_records_alone()
    with Lab() as lab:
        servers = lab.bootstrap_servers
        fill(servers)
        for peer, loop, records, goal in (
            ("confluent-kafka", confluent, RECORDS, 0.9),
            ("kafka-python", kafka_python, 36_000, 4.0),
        ):
            work = f"redrive beside a bare {peer} loop, records/s"
            mine, theirs = partial(ours, servers, records), partial(loop, servers, records)
            yield in_turns(work, records, mine, theirs, rounds=ROUNDS, goal=goal)
        yield limited(servers)
        yield from refused(servers)
        yield flat(servers)


if __name__ == "__main__":
    move_small(sys.argv[1], int(sys.argv[2]))
