"""Workers of a redrive are killed at any moment: every record arrives once, in its partition's order.

``DEADWATCH_CHAOS`` is how often; from 30 on it is the full size. The broker is killed and started again, too.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.lone_broker import LoneBroker
from streaming.redrive.order import Order, OrderRequest
from tests.chaos.account import Account
from tests.chaos.committed import messages, reader

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "3"))
FULL = KILLS >= 30
RECORDS = int(os.environ.get("DEADWATCH_CHAOS_RECORDS", "200000" if FULL else "4800"))
RESTARTS = 2 if FULL else 1
SLOWLY = 1_500 if FULL else 400
WIDTH = 12
WITHIN_S = 1_800 if FULL else 120
DELIVERY_MS = 31_000
"""Little more than the least: so long may a client wait in vain for a killed broker."""
ROOT = Path(__file__).parents[2]
WORKER = ROOT / "tests" / "integration" / "redrive_worker.py"
PAUSE = threading.Event()
Headers = list[tuple[str, str | bytes | None]]


def fill(broker: LoneBroker, topic: str, rate: int | None) -> Order:
    """Dead letters of every partition, and the order to put them back."""
    dlq = f"dlq.{topic}"
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient(servers)
    wanted = [NewTopic(name, WIDTH, 1) for name in (topic, dlq)]
    for future in admin.create_topics(wanted).values():
        future.result(30)
    in_order = {"enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    producer = Producer(servers | in_order)
    for number in range(RECORDS):
        at = number % WIDTH
        said = {"topic": topic, "partition": at, "offset": number // WIDTH}
        headers: Headers = [(f"__connect.errors.{name}", str(value).encode()) for name, value in said.items()]
        producer.produce(dlq, b"%d" % number, b"key-%d" % (number % 600), at, headers=headers)
        if number % 1_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    request = {"dlq_topic": dlq, "selection": {"all": True}, "dry_run": False, "reason": "chaos"}
    request["delivery_timeout_ms"] = DELIVERY_MS
    limits = {"records_per_second": rate, "max_in_flight": 1_000 if FULL else 40}
    return Order(
        id=f"{Random(topic).getrandbits(64):x}",
        request=OrderRequest.model_validate(request | {"limits": limits, "retry": {"retry_backoff_ms": 0}}),
        requested_by="test",
        created_at_ms=0,
        begin=dict.fromkeys(range(WIDTH), 0),
        cut_off={at: len(range(at, RECORDS, WIDTH)) for at in range(WIDTH)},
    )


@dataclass
class Workers:
    """Processes that work on one order."""

    broker: LoneBroker
    order: Path
    epoch: int = 0

    def start(self) -> subprocess.Popen[str]:
        self.epoch += 1
        environment = os.environ | {
            "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": self.broker.bootstrap_servers,
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, str(WORKER), str(self.order), str(self.epoch)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )


def written(broker: LoneBroker, topic: str) -> int:
    """How far the target reaches, committed or not."""
    consumer = reader(broker.bootstrap_servers, "read_uncommitted")
    try:
        places = [TopicPartition(topic, number) for number in range(WIDTH)]
        return sum(consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)
    except KafkaException:
        return 0
    finally:
        consumer.close()


def committed(broker: LoneBroker, topic: str) -> list[list[int]]:
    """The numbers of each partition, in the order that it has them."""
    found: list[list[int]] = [[] for _ in range(WIDTH)]
    for message in every(broker, topic):
        found[message.partition() or 0].append(int(message.value() or b""))
    return found


def every(broker: LoneBroker, topic: str) -> Iterator[Message]:
    """Every committed record, in the order of each partition."""
    return messages(broker.bootstrap_servers, topic, WITHIN_S)


def offsets(broker: LoneBroker, topic: str) -> Counter[tuple[int, int]]:
    """Where the committed records are."""
    return Counter((one.partition() or 0, one.offset() or 0) for one in every(broker, topic))


def told_ranges(broker: LoneBroker) -> Counter[tuple[int, int]]:
    """Where the events say that they are."""
    events = (json.loads(one.value() or b"") for one in every(broker, "deadwatch.events"))
    return Counter(
        (one["partition"], offset)
        for event in events
        if event["kind"] == "redrive_written"
        for one in event["written"]
        for offset in range(one["first"], one["end"])
    )


def run_until_killed(workers: Workers, topic: str, rng: Random, account: Account, *, overlap: bool) -> None:
    """Kill one worker after the other by chance; with ``overlap`` the next one comes before the kill."""
    broker, process = workers.broker, workers.start()
    restarts = set(rng.sample(range(1, KILLS), RESTARTS))
    while account.kills < KILLS and written(broker, topic) < RECORDS:
        goal = written(broker, topic) + rng.randint(1, RECORDS // KILLS // 3)
        while process.poll() is None and written(broker, topic) < goal:
            PAUSE.wait(rng.random() / 20)
        successor = workers.start() if overlap else None
        if successor is not None:
            PAUSE.wait(rng.random() * 2)
        process.kill()
        process.communicate()
        account.kills += 1
        if account.kills in restarts:
            broker.kill()
            account.broker_kills += 1
            broker.start_again()
        process = successor or workers.start()
    process.communicate(timeout=WITHIN_S)


def work_to_the_end(workers: Workers) -> None:
    """Undisturbed."""
    deadline_s = time.monotonic() + WITHIN_S
    answers = [""]
    while not answers[-1].startswith("COMPLETED"):
        assert time.monotonic() < deadline_s, answers
        with suppress(subprocess.TimeoutExpired):
            answers.append(workers.start().communicate(timeout=WITHIN_S)[0])


@pytest.mark.parametrize("overlap", [False, True], ids=["one after the other", "two compete"])
def test_every_record_arrives_exactly_once_whenever_workers_are_killed(
    broker: LoneBroker, tmp_path: Path, account: Account, overlap: bool
) -> None:
    order = fill(broker, "orders", SLOWLY if overlap else None)  # so that two are there at every kill
    file = tmp_path / "order.json"
    file.write_text(order.model_dump_json(by_alias=True))
    workers = Workers(broker, file)
    run_until_killed(workers, "orders", Random(7), account, overlap=overlap)
    assert (account.kills, account.broker_kills) == (KILLS, RESTARTS)
    work_to_the_end(workers)
    found = committed(broker, "orders")
    seen = Counter(number for partition in found for number in partition)
    account.written = RECORDS
    account.lost = RECORDS - len(seen)
    account.twice = seen.total() - len(seen)
    assert (account.lost, account.twice) == (0, 0)
    assert found == committed(broker, "dlq.orders")
    assert told_ranges(broker) == offsets(broker, "orders")
