"""``python -m streaming`` for tests: the process, what it reads, and the truth of what it has to count."""

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import psutil
from confluent_kafka import Producer
from sqlalchemy import NullPool, Row, create_engine, text
from sqlalchemy.exc import DBAPIError

from deadwatch.contract.events import encode
from lab.topics import Topics
from tests import waiting
from tests.kafka_records import task_timeout
from tests.kafka_topics import Headers, headers_of, messages
from tests.paths import ROOT

WITHIN_S = 600.0
CHUNK = 20
Totals = dict[str, int]
Record = tuple[str, bytes, bytes, Headers]
CONNECT: Headers = [("__connect.errors.topic", "orders"), ("__connect.errors.connector.name", "sink")]


eventually = partial(waiting.eventually, within_s=WITHIN_S)


class Traffic:
    """What a collector, Connect and a broker would write, and the truth of it."""

    def __init__(self, servers: str, prefix: str) -> None:
        self.events_topic = f"{prefix}.events"
        self.quarantine_topic = f"dlq.{prefix}.own"
        self.dlq_topic = f"{prefix}.orders.dlq"
        self.truth: Counter[str] = Counter()
        self._random = Random(prefix)
        self._next = Counter[str]()
        topics = Topics(servers)
        others = [
            f"{name}{suffix}" for name in (self.events_topic, self.dlq_topic) for suffix in ("2", ".old")
        ]
        for partitions, names in ((3, (self.events_topic,)), (2, (self.dlq_topic,)), (1, others)):
            topics.create(*names, partitions=partitions)
        self._producer = Producer({"bootstrap.servers": servers, "transactional.id": prefix})
        self._producer.init_transactions()
        self._transaction([(name, b"k", b"of a topic that nobody asked for", []) for name in others])

    def write(self, chunks: int = 10) -> None:
        """Chunks of events, every third sent twice, and beside them dead letters of both dialects."""
        for _ in range(chunks):
            source = f"log:{self._random.randrange(4)}"
            first = self._next[source]
            self._next[source] += CHUNK
            for _ in range(self._random.choice((1, 1, 2))):
                self._transaction(self._events(source, first))
            self.truth["task_timeouts"] += CHUNK
            self._transaction(self._letters())

    def write_dead_letters(self, count: int) -> None:
        """So many of Connect."""
        self._transaction([(self.dlq_topic, b"", b"v", CONNECT)] * count)
        self.truth["connect"] += count

    def write_corrupt(self) -> None:
        """One record that is no event; refused, it is a dead letter of ours."""
        self._transaction([(self.events_topic, b"k", b"{corrupt", [])])
        self.truth["quarantined"] += 1

    def _transaction(self, records: list[Record]) -> None:
        self._producer.begin_transaction()
        for topic, key, value, headers in records:
            self._producer.produce(topic, value, key, headers=headers)
        self._producer.commit_transaction()

    def _events(self, source: str, first: int) -> list[Record]:
        events = (task_timeout(source, offset, offset + 1) for offset in range(first, first + CHUNK))
        return [(self.events_topic, *encode(event), []) for event in events]

    def _letters(self) -> list[Record]:
        share: Headers = [("__dlq.errors.topic", "orders"), ("__dlq.errors.group", "g1")]
        self.truth["connect"] += 3
        self.truth["share_group"] += 2
        return [(self.dlq_topic, b"", b"v", headers) for headers in (*[CONNECT] * 3, *[share] * 2)]


class Streaming:
    """``python -m streaming`` on a directory of its own."""

    def __init__(
        self,
        servers: str,
        traffic: Traffic,
        directory: Path,
        store_url: str = "",
        *,
        checkpoint: Path | None = None,
        **settings: str,
    ) -> None:
        self.checkpoint = checkpoint or directory / "checkpoint"
        self._store = store_url or f"sqlite:///{directory / 'deadwatch.db'}"
        self._engine = create_engine(self._store, poolclass=NullPool)
        self._log = directory / "streaming.log"
        self._directory = directory
        self._dlq_topic = traffic.dlq_topic
        temporary = directory / "tmp"
        temporary.mkdir(exist_ok=True)
        self._environment = {
            **os.environ,
            "TMPDIR": str(temporary),
            "STREAMING_KAFKA__BOOTSTRAP_SERVERS": servers,
            "STREAMING_EVENTS_TOPIC": traffic.events_topic,
            "STREAMING_QUARANTINE_TOPIC": traffic.quarantine_topic,
            "STREAMING_QUARANTINE_AUTO_CREATE_TOPICS_ENABLE": "true",
            "STREAMING_QUARANTINE_COPY_RECORD_ENABLE": "true",
            "STREAMING_DLQ_TOPICS": json.dumps([rf"{traffic.dlq_topic}|{traffic.quarantine_topic}"]),
            "STREAMING_STORE_URL": self._store,
            "STREAMING_CHECKPOINT": str(self.checkpoint),
            "STREAMING_MAX_OFFSETS_PER_TRIGGER": "150",
            "STREAMING_DRIVER_MEMORY": "512m",
            "PYTHONPATH": str(ROOT),
            **{f"STREAMING_{name}".upper(): value for name, value in settings.items()},
        }

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The process, or another one of its stage."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *(arguments or ("streaming",))],
                env=self._environment,
                cwd=self._directory,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            children = psutil.Process(process.pid).children() if process.poll() is None else []
            process.kill()
            process.wait()
            psutil.wait_procs(children, WITHIN_S)

    def backfill(self, *arguments: str) -> int:
        """The exit code of ``python -m streaming.backfill``."""
        return self.command("streaming.backfill", *arguments)

    def command(self, *arguments: str) -> int:
        """The exit code of another process of its stage, which ends by itself."""
        with self.running(*arguments) as process:
            return process.wait(WITHIN_S)

    def execute(self, statement: str) -> None:
        """Change the store by hand."""
        with self._engine.begin() as connection:
            connection.execute(text(statement))

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def totals(self) -> Totals:
        """Counters by name, dead letters of the topic by dialect."""
        totals: Counter[str] = Counter()
        for name, labels, value in self._read("SELECT name, labels, value FROM series"):
            told = json.loads(labels)
            if name in {"task_timeouts", "quarantined", "cardinality_limited"}:
                totals[name] += value
            elif name == "dead_letters" and told["dlq_topic"] == self._dlq_topic:
                totals[told["dialect"]] += value
        return dict(totals)

    def by_topic(self) -> dict[tuple[str, ...], int]:
        """Dead letters by topic, what was missed by topic and reason; nothing that is 0."""
        totals: Counter[tuple[str, ...]] = Counter()
        for name, labels, value in self._read("SELECT name, labels, value FROM series"):
            told = json.loads(labels)
            if name == "dead_letters":
                totals[(told["dlq_topic"],)] += value
            elif name == "records_missed":
                totals[told["topic"], told["reason"]] += value
        return +totals

    def missed(self) -> dict[str, int]:
        """Records that were not read, or are not counted any more, by reason."""
        reasons: Counter[str] = Counter()
        for labels, value in self._read("SELECT labels, value FROM series WHERE name = 'records_missed'"):
            reasons[json.loads(labels)["reason"]] += value
        return dict(reasons)

    def behind(self) -> int:
        """Records that are not read yet, by what streaming says; -1 before it has said anything."""
        rows = self._read("SELECT value FROM stream_figures WHERE name = 'behind_records'")
        return sum(value for (value,) in rows) if rows else -1

    def offsets(self) -> dict[tuple[str, int], int]:
        """Where each partition is read on."""
        rows = self._read("SELECT topic, partition, next_offset FROM offsets")
        return {(topic, partition): offset for topic, partition, offset in rows}

    def batches(self) -> int:
        return sum(row[0] + 1 for row in self._read("SELECT batch_id FROM batches"))

    def _read(self, statement: str) -> Sequence[Row]:  # type: ignore[type-arg]  # rows of any shape
        with contextlib.suppress(DBAPIError), self._engine.connect() as connection:
            return connection.execute(text(statement)).all()
        return []  # the tables are not there yet, or their server is away


def settle(streaming: Streaming, traffic: Traffic) -> None:
    """Wait until the totals are the truth."""
    assert eventually(lambda: streaming.totals() == dict(traffic.truth)), (
        streaming.totals(),
        dict(traffic.truth),
        streaming.log(),
    )


def spoil(streaming: Streaming) -> None:
    """Make every count wrong."""
    streaming.execute("UPDATE series SET value = value + 7")
    streaming.execute("DELETE FROM dead_letter_groups")
    streaming.execute("DELETE FROM marks")


def dead_letters_of(servers: str, topic: str) -> list[tuple[bytes | None, bytes]]:
    """Value and group of every record of our own dead letter topic."""
    return [(one.value(), headers_of(one)["__dlq.errors.group"]) for one in messages(servers, topic)]
