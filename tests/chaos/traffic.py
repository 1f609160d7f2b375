"""Everything the service counts, written to a log and to Kafka, and the truth of it.

The log is read by a collector. Events that another collector would publish come late, out of order and again;
dead letters come in every dialect and of many causes, the value of each its dialect and a number of its own.
"""

import json
import struct
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import IO

from confluent_kafka import Producer

from deadwatch.contract.events import encode
from lab.topics import Topics
from tests.kafka_records import task_timeout
from tests.kafka_topics import Headers, connect_headers

EVENTS_TOPIC = "deadwatch.events"
DLQ_TOPIC = "dlq.orders"
ORIGIN = "orders"
"""Where the dead letters say that they come from."""
ELSEWHERE = "elsewhere"
"""Another topic that they may be put on."""
TOPICS = {EVENTS_TOPIC: 3, DLQ_TOPIC: 2, ORIGIN: 2, ELSEWHERE: 2}
"""With their partitions."""
CAUSES = 3_000
NAMES = 500
"""Of tasks, connectors and topics in the log each: of those that were abandoned the store keeps 10 000."""
NOW_MS = 1_795_300_000_000
DAY_MS = 86_400_000
BEGAN = datetime(2026, 11, 21, 12, 35, 23, tzinfo=UTC)
"""The log's time passes by a second an entry: what it repeats within 10 s is one failure, counted once."""

LINES = {
    "abandoned_tasks": "ERROR [c|task-{n}] Graceful stop of task c-{n} failed. (o.Worker:1104)",
    "abandoned_connectors": (
        "ERROR [c{n}|worker] Connector 'c{n}' failed to properly shut down, has become unresponsive,"
        " and may be consuming external resources. (o.Worker:1)"
    ),
    "task_timeouts": (
        "ERROR stream-thread [app-2c9ef2d8-1b2a-4bd5-9f3e-0a1b2c3d4e5f-StreamThread-1] Failed:"
        " Task 0_{n} did not make progress within {n} ms. Adjust `task.timeout.ms` if needed. (o.T:1)"
    ),
    "delivery_timeout_batches": (
        "ERROR [Producer clientId=p] o.TimeoutException: Expiring 3 record(s) for t{n}-0:120004 ms has passed"
        " since batch creation (o.P:1)"
    ),
    "share_dead_letters_lost": (
        "ERROR Failed to write to DLQ, proceeding to ARCHIVED regardless. (k.s.share.SharePartition:{n})"
    ),
}


class Traffic:
    """Writes until it is told to stop; ``truth`` holds when it has stopped."""

    pause_s = 0.05
    """Between two rounds."""

    def __init__(self, bootstrap_servers: str, log: Path, seed: int) -> None:
        self.truth: Counter[str] = Counter()
        self.causes: set[tuple[str, int]] = set()
        self.bootstrap_servers = bootstrap_servers
        self.log = log
        self._rng = Random(seed)
        self._offsets: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="traffic")
        for name, width in TOPICS.items():
            Topics(bootstrap_servers).create(name, partitions=width)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "log_level": 0}
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Return when all that is in the truth is written."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def _run(self) -> None:
        number = 0
        with self.log.open("a", buffering=1) as log:
            while not self._stop.wait(self.pause_s):
                number += 1
                self._log_entry(log, number)
                self._events()
                self._letters(number)
                self._producer.poll(0)

    def _log_entry(self, log: IO[str], number: int) -> None:
        signal = self._rng.choice(list(LINES))
        line, at = LINES[signal].format(n=number % NAMES), BEGAN + timedelta(seconds=number)
        log.write(
            f"[{at:%Y-%m-%d %H:%M:%S},893] {line}\n\tat o.Worker.stop(Worker.java:1104)\nCaused by: {line}\n"
        )
        self.truth[signal] += 1
        if signal == "delivery_timeout_batches":
            self.truth["delivery_timeout_records"] += 3

    def _events(self) -> None:
        """A chunk of one source, sometimes sent again, whose events happened in no order."""
        source = f"log:{self._rng.randrange(4)}"
        first, self._offsets[source] = self._offsets[source], self._offsets[source] + 5
        times_ms = [NOW_MS - self._rng.randrange(30 * DAY_MS) for _ in range(5)]
        chunk = [encode(task_timeout(source, at, at_ms)) for at, at_ms in enumerate(times_ms, first)]
        for _ in range(self._rng.choice((1, 1, 2))):
            for key, value in chunk:
                self._producer.produce(EVENTS_TOPIC, value, key)
        self.truth["task_timeouts"] += len(chunk)

    def _letters(self, number: int) -> None:
        for dialect, headers in self._dialects():
            self._producer.produce(
                DLQ_TOPIC, b"%s-%d" % (dialect.encode(), number), b"%d" % number, headers=headers
            )
            self.truth[f"dead_letters {dialect}"] += 1

    def _dialects(self) -> list[tuple[str, Headers]]:
        cause = self._rng.randrange(CAUSES)
        error = f"com.acme.Error{cause}"
        self.causes |= {(dialect, cause) for dialect in ("connect", "streams", "spring")}
        return [
            ("connect", connect(cause, error)),
            ("streams", streams(cause, error)),
            ("spring", spring(cause, error)),
            ("share_group", [("__dlq.errors.topic", ORIGIN), ("__dlq.errors.group", "g1")]),
            ("unknown", [("x", json.dumps({"n": cause}))]),
        ]


def connect(offset: int, error: str) -> Headers:
    told = connect_headers(ORIGIN, 1, offset, connector_name="sink", exception_class_name=error)
    return [*told, ("__connect.errors.exception.message", None)]


def streams(offset: int, error: str) -> Headers:
    return [
        ("__streams.errors.topic", ORIGIN),
        ("__streams.errors.partition", "1"),
        ("__streams.errors.offset", str(offset)),
        ("__streams.errors.exception", error),
        ("__streams.errors.message", "it broke"),
    ]


def spring(offset: int, error: str) -> Headers:
    return [
        ("kafka_dlt-original-topic", ORIGIN.encode()),
        ("kafka_dlt-original-partition", struct.pack(">i", 1)),
        ("kafka_dlt-original-offset", struct.pack(">q", offset)),
        ("kafka_dlt-original-consumer-group", b"group"),
        ("kafka_dlt-exception-fqcn", error.encode()),
    ]
