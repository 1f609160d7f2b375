"""Events as collectors publish them, in transactions, keyed by their sources: the same for every reader."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from confluent_kafka import Producer

from deadwatch.contract.events import ClientTimeout, DeliveryTimeout, Event, Position, TaskTimeout, encode

SOURCES = 40
CHUNK = 5_000
TASK_TIMEOUTS, DELIVERY_TIMEOUTS = 0.3, 0.5
"""Parts of the whole; the rest are other timeouts of clients."""
FROM_MS = 1_795_250_000_000
RECORD_MESSAGE = "Expiring 3 record(s) for orders-0:120004 ms has passed since batch creation"
TASK_MESSAGE = "Task 0_1 did not make progress within 300123 ms. Adjust `task.timeout.ms` if needed."


Totals = dict[str, int]
"""Counts by the name of the series in the store."""


def events(count: int, seed: int = 1) -> Iterator[Event]:
    """``count`` events of three kinds and ``SOURCES`` sources, three a millisecond."""
    rng = Random(seed)
    for number in range(count):
        yield _event(rng, number)


def loosely(event: Event) -> tuple[bytes, bytes]:
    """The event as another writer of JSON may put it: blanks and lines, fields turned round, escapes."""
    key, value = encode(event)
    text = json.dumps(dict(reversed(json.loads(value).items())), separators=(" ,\n  ", " : "))
    return key, text.replace("/", r"\/").replace("E", r"\u0045").encode()


def produce(
    servers: str, topic: str, count: int, write: Callable[[Event], tuple[bytes, bytes]] = encode
) -> Totals:
    """Write them, ``CHUNK`` in a transaction; what is to be counted."""
    truth: Counter[str] = Counter()
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": topic, "linger.ms": 20, "batch.size": 500_000}
    )
    producer.init_transactions()
    producer.begin_transaction()
    for number, event in enumerate(events(count)):
        if number and number % CHUNK == 0:
            producer.commit_transaction()
            producer.begin_transaction()
        key, value = write(event)
        producer.produce(topic, value, key)
        truth.update(counts(event))
    producer.commit_transaction()
    return dict(truth)


def counts(event: Event) -> Totals:
    """What an event adds to the store."""
    match event:
        case DeliveryTimeout(records=records):
            return {"events": 1, "delivery_timeout_batches": 1, "delivery_timeout_records": records}
        case TaskTimeout():
            return {"events": 1, "task_timeouts": 1}
        case _:
            return {"events": 1, "client_timeouts": 1}


def _event(rng: Random, number: int) -> Event:
    happened_ms = FROM_MS + number // 3
    source = number % SOURCES
    common: dict[str, Any] = {
        "source": f"log:/var/log/kafka/application-{source:02}.log",
        "position": Position(1, number * 300),
        "happened_at_ms": happened_ms,
        "observed_at_ms": happened_ms + 40,
        "kafka_cluster": "prod-eu",
    }
    chance = rng.random()
    if chance < TASK_TIMEOUTS:
        task = f"{source % 3}_{rng.randrange(8)}"
        elapsed_ms = 300_000 + rng.randrange(999)
        application = f"app-{source % 10}"
        return TaskTimeout(
            **common, application=application, task=task, elapsed_ms=elapsed_ms, message=TASK_MESSAGE
        )
    client: dict[str, Any] = {"client": "java", "client_id": f"svc-{source}", "message": RECORD_MESSAGE}
    if chance < TASK_TIMEOUTS + DELIVERY_TIMEOUTS:
        return DeliveryTimeout(
            **common,
            **client,
            topic=f"orders-{rng.randrange(10)}",
            partition=rng.randrange(12),
            records=1 + rng.randrange(9),
            elapsed_ms=120_004,
        )
    return ClientTimeout(**common, **client, timeout=rng.choice(("metadata", "buffer", "commit", "request")))
