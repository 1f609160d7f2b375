"""What a redrive costs, beside bare loops that move the same records in transactions, in turns on one broker.

Records are 1.9 kB with the headers of a Connect dead letter; every side keeps key, value, headers, time and
partition. A round reads a dead letter topic from its beginning and ends with its last commit. Memory is
that of a process that moves small records.
"""

import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, cast

import kafka
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.structs import OffsetAndMetadata

from benchmarks.row import Row
from lab import Lab
from lab.topics import Topics
from streaming.memory import leave_records_alone
from streaming.redrive.claim import Claim
from streaming.redrive.guards import Returns
from streaming.redrive.order import Limits, Order, OrderRequest
from streaming.redrive.received import consume
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.steps import Finished, Idle, Moved, Paused
from streaming.redrive.work import House, Work

TARGET: Final = "bench-redrive"
DLQ: Final = f"dlq.{TARGET}"
WIDTH: Final = 12
RECORDS: Final = 60_000
RECORDS_OF_KAFKA_PYTHON: Final = 36_000
ROUNDS: Final = 5
IN_FLIGHT: Final = 10_000
RATE: Final = 500.0
WITHIN: Final = 0.02
SMALL: Final = "bench-redrive-small"
SIZES: Final = "BENCH_REDRIVE_SIZES"
"""Records of the orders whose memory is compared, separated by commas; ten million take some minutes."""
FLAT: Final = 0.8
REFUSED: Final = "bench-redrive-refused"
RECORDS_OF_REFUSED: Final = 12_000
LARGEST: Final = 1_048_588
"""Bytes of a batch that Kafka takes by default."""
REFUSED_GOALS: Final = {1: 1 / 1.5, 50: 1 / 4}
"""By how many are refused: an order may take so much longer than one of which none is."""
GOALS: Final = {"confluent-kafka": 0.9, "kafka-python": 4.0}

Headers = list[tuple[str, str | bytes | None]]


def clock_ms() -> int:
    return time.time_ns() // 1_000_000


def fill(servers: str) -> None:
    """The dead letter topic."""
    Topics(servers).create(TARGET, DLQ, partitions=WIDTH)
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 1_000_000})
    for number in range(RECORDS):
        at = number % WIDTH
        said = {
            "topic": TARGET,
            "partition": at,
            "offset": number // WIDTH,
            "connector.name": "sink",
            "exception.class.name": "org.apache.kafka.connect.errors.DataException",
            "exception.message": "Converting byte[] to Kafka Connect data failed due to serialization error:",
        }
        headers: Headers = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
        producer.produce(DLQ, os.urandom(1_600), b"%d" % number, at, headers=headers)
        if number % 1_000 == 0:
            producer.poll(0)
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


def ours(
    servers: str, records: int, rate: float | None = None, dlq: str = DLQ, in_flight: int = IN_FLIGHT
) -> list[tuple[float, int]]:
    """One order, by the mover of the house: when each transaction was done, and how many had been moved."""
    moments: list[tuple[float, int]] = []
    settings = RedriveSettings.model_validate({"kafka": {"bootstrap_servers": servers}})
    house = House(settings, lambda _: lambda _: True, lambda _: Returns(0, 0), clock_ms, Random())
    with Work(house, Claim(order(records, rate, dlq, in_flight), 1, 0), lambda: None) as work:
        while not isinstance(step := work.step(), Finished):
            match step:
                case Moved():
                    moments.append((time.perf_counter(), work.moved))
                case Idle(until_ms):
                    time.sleep(max(until_ms - clock_ms(), 0) / 1_000)
                case Paused(reason):
                    raise RuntimeError(reason)
    return moments


def confluent(servers: str, records: int) -> None:
    """A bare loop on the same library."""
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
            for one in found:
                producer.send(TARGET, one.value, one.key, one.headers, place.partition, one.timestamp)
        ends = {place: OffsetAndMetadata(found[-1].offset + 1, "", -1) for place, found in taken.items()}
        producer.send_offsets_to_transaction(ends, name)
        producer.commit_transaction()
        left -= sum(map(len, taken.values()))
    producer.close()
    consumer.close()


def compare(peer: str, records: int, loop: Callable[[str, int], None], servers: str) -> Row:
    """In turns, the first one changing; the ratio is the median over the rounds."""
    mine, theirs = partial(ours, servers, records), partial(loop, servers, records)
    mine()
    times = [
        (seconds(mine), seconds(theirs)) if number % 2 else (seconds(theirs), seconds(mine))[::-1]
        for number in range(ROUNDS)
    ]
    ratio = statistics.median(peer_s / ours_s for ours_s, peer_s in times)
    return Row(
        work=f"redrive beside a bare {peer} loop, records/s",
        ours=records / statistics.median(ours_s for ours_s, _ in times),
        peer=records / statistics.median(peer_s for _, peer_s in times),
        ratio=round(ratio, 3),
        goal=GOALS[peer],
        holds=ratio >= GOALS[peer],
    )


def limited(servers: str, taking_s: int = 12) -> Row:
    """How near a rate limit is met, from the first record to the last: the peer is the limit itself."""
    records = round(RATE * taking_s / WIDTH) * WIDTH
    moments = ours(servers, records, RATE)
    (first_s, first), (last_s, last) = moments[0], moments[-1]
    rate = (last - first) / (last_s - first_s)
    ratio = rate / RATE
    return Row(
        work="redrive with records_per_second, beside the limit",
        ours=rate,
        peer=RATE,
        ratio=round(ratio, 3),
        goal=1 - WITHIN,
        holds=abs(ratio - 1) <= WITHIN,
    )


def refused(servers: str) -> Iterator[Row]:
    """Beside an order of which Kafka takes every record, in turns; transactions are of the default size."""
    Topics(servers).create(REFUSED, partitions=WIDTH)
    works = {0: partial(redrive_refused, servers, 0)}
    works |= {large: partial(redrive_refused, servers, large) for large in REFUSED_GOALS}
    for large, work in works.items():
        fill_refused(servers, large)
        work()
    times = [{large: seconds(work) for large, work in works.items()} for _ in range(ROUNDS)]
    for large, goal in REFUSED_GOALS.items():
        ratio = statistics.median(one[0] / one[large] for one in times)
        yield Row(
            work=f"redrive of {RECORDS_OF_REFUSED} records, {large} too large, beside none, records/s",
            ours=RECORDS_OF_REFUSED / statistics.median(one[large] for one in times),
            peer=RECORDS_OF_REFUSED / statistics.median(one[0] for one in times),
            ratio=round(ratio, 3),
            goal=round(goal, 3),
            holds=ratio >= goal,
        )


def redrive_refused(servers: str, large: int) -> None:
    """Of so many that are too large."""
    in_flight = Limits().max_in_flight
    ours(servers, RECORDS_OF_REFUSED, dlq=f"dlq.{REFUSED}-{large}", in_flight=in_flight)


def fill_refused(servers: str, large: int) -> None:
    """Of the size that dead letters have, but for some that only the dead letter topic takes."""
    dlq, rng = f"dlq.{REFUSED}-{large}", Random(large)
    Topics(servers).create(dlq, partitions=WIDTH, config={"max.message.bytes": str(2 * LARGEST)})
    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 2 * LARGEST})
    chosen = set(rng.sample(range(RECORDS_OF_REFUSED), large))
    for number in range(RECORDS_OF_REFUSED):
        at = number % WIDTH
        said = {"topic": REFUSED, "partition": at, "offset": number // WIDTH}
        headers: Headers = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
        size = rng.randrange(LARGEST, LARGEST * 3 // 2) if number in chosen else 1_600
        producer.produce(dlq, os.urandom(size), b"%d" % number, at, headers=headers)
        producer.poll(0)
    producer.flush(60)


def flat(servers: str) -> Row:
    """The most memory that a worker needs for the largest order, beside that for the smallest."""
    sizes = sorted(int(size) for size in os.environ.get(SIZES, "10000,100000,1000000").split(","))
    fill_small(servers, sizes[-1])
    peaks = [peak_mib(servers, size) for size in sizes]
    ratio = peaks[0] / peaks[-1]
    return Row(
        work=f"redrive of {sizes[0]} and of {sizes[-1]} records, MiB at most",
        ours=peaks[-1],
        peer=peaks[0],
        ratio=round(ratio, 3),
        goal=FLAT,
        holds=ratio >= FLAT,
    )


def fill_small(servers: str, records: int) -> None:
    """Many dead letters of a few bytes."""
    Topics(servers).create(SMALL, f"dlq.{SMALL}", partitions=WIDTH)
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        at = number % WIDTH
        said = {"topic": SMALL, "partition": at, "offset": number // WIDTH}
        headers: Headers = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
        producer.produce(f"dlq.{SMALL}", b"%d" % number, b"%d" % number, at, headers=headers)
        if number % 10_000 == 0:
            producer.poll(0)
            producer.flush(60)
    producer.flush(60)


def peak_mib(servers: str, records: int) -> float:
    """Of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.redrive", servers, str(records)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def move_small(servers: str, records: int) -> None:
    """Move so many of the small ones, and print the most memory that it took."""
    leave_records_alone()
    ours(servers, records, dlq=f"dlq.{SMALL}")
    status = Path("/proc/self/status").read_text()  # getrusage knows what the parent had before it
    print(int(status.split("VmHWM:")[1].split()[0]) / 1_024)


def seconds(work: Callable[[], object]) -> float:
    """Until it is done."""
    begin_s = time.perf_counter()
    work()
    return time.perf_counter() - begin_s


def rows() -> Iterator[Row]:
    """Both peers, the limit, what is refused, and memory."""
    leave_records_alone()
    with Lab(sasl=False) as lab:
        servers = lab.bootstrap_servers
        fill(servers)
        yield compare("confluent-kafka", RECORDS, confluent, servers)
        yield compare("kafka-python", RECORDS_OF_KAFKA_PYTHON, kafka_python, servers)
        yield limited(servers)
        yield from refused(servers)
        yield flat(servers)


if __name__ == "__main__":
    move_small(sys.argv[1], int(sys.argv[2]))
