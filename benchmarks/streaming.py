"""A backlog of events, from Kafka to the committed store: ours beside what people write instead.

All read the same topic of one broker in turns; a ratio is the median over the rounds. The clock of each
starts with its first records and stops with its last commit. All must come to the same totals, else the
benchmark fails. ``DEADWATCH_BENCH_EVENTS`` and ``DEADWATCH_BENCH_ROUNDS`` size it; with much fewer events the
JVM has no time to compile what it runs, and ours runs before it is measured: a stream lives for months, and
its JVM gets quicker up to the fourth run.

``ConsumerPerformance`` only adds up bytes. Its own headline, ``nMsg.sec``, is of the whole run and has the
three seconds in it for which Kafka holds back a new group; so ours is of the whole run, too. The last row has
its fetches alone: how far anybody is from the limit who looks into the events.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import kafka, peers, traffic
from benchmarks.backlog import Ours
from benchmarks.row import Row
from benchmarks.traffic import Totals
from lab.jvm import Properties
from lab.lone_broker import LoneBroker

TOPIC: Final = "bench.events"
PARTITIONS: Final = 6
EVENTS: Final = int(os.environ.get("DEADWATCH_BENCH_EVENTS", "3000000"))
WARM_UP_RUNS: Final = 3
STOCK: Final[Properties] = {"group.initial.rebalance.delay.ms": 3_000}
"""What Kafka does unless told otherwise, and the lab's broker does not."""
LIMIT: Final = 0.15
"""What is seen of it; Spark's Kafka source, warm, that only adds up lengths comes to about half."""
ROUNDS: Final = int(os.environ.get("DEADWATCH_BENCH_ROUNDS", "3"))


class Peer(NamedTuple):
    """Somebody who reads the same topic; ``run`` gives events per second, a file to count into given.

    ``whole``: from its start, not from its first records.
    """

    name: str
    goal: float
    run: Callable[[str, Totals, Path], float]
    whole: bool = False


def rows() -> Iterator[Row]:
    """A row a peer."""
    everyone = (
        Peer(f"confluent-kafka and {peers.parser()} into SQLite", 1.5, _confluent),
        Peer(f"kafka-python and {peers.parser()} into SQLite", 2.5, _kafka_python),
        Peer("Quix Streams' state into SQLite", 4.5, _quix_state),
        Peer("a sink of Quix Streams into SQLite", 2.5, _quix_sink),
        Peer("ConsumerPerformance of Kafka, bytes only, whole run", 0.5, _consumer_performance, whole=True),
        Peer("ConsumerPerformance of Kafka, its fetches alone", LIMIT, _fetches),
    )
    with LoneBroker(STOCK) as broker, tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name:
        servers = broker.bootstrap_servers
        kafka.create_topic(servers, TOPIC, PARTITIONS)
        truth = traffic.produce(servers, TOPIC, EVENTS)
        with Ours(servers, TOPIC, Path(name)) as ours:
            for _ in range(WARM_UP_RUNS):
                ours.run(truth)
            rates = []
            for number in range(ROUNDS):
                mine = ours.run(truth)
                rates.append(
                    (
                        mine,
                        [
                            peer.run(servers, truth, Path(name) / f"{number}-{index}.db")
                            for index, peer in enumerate(everyone)
                        ],
                    )
                )
    for index, peer in enumerate(everyone):
        pairs = [(mine.whole if peer.whole else mine.rate, theirs[index]) for mine, theirs in rates]
        yield _row(peer, pairs)


def _row(peer: Peer, pairs: list[tuple[float, float]]) -> Row:
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    return Row(
        work=f"count a backlog of events, beside {peer.name}",
        ours=round(statistics.median(mine for mine, _ in pairs)),
        peer=round(statistics.median(theirs for _, theirs in pairs)),
        ratio=round(ratio, 3),
        goal=peer.goal,
        holds=ratio >= peer.goal,
    )


def _confluent(servers: str, truth: Totals, file: Path) -> float:
    return peers.confluent(servers, TOPIC, truth, file)


def _kafka_python(servers: str, truth: Totals, file: Path) -> float:
    return peers.kafka_python(servers, TOPIC, truth, file)


def _quix_state(servers: str, truth: Totals, file: Path) -> float:
    return peers.quix("state", servers, TOPIC, truth, file)


def _quix_sink(servers: str, truth: Totals, file: Path) -> float:
    return peers.quix("sink", servers, TOPIC, truth, file)


def _consumer_performance(servers: str, truth: Totals, _file: Path) -> float:
    return kafka.consumer_performance(servers, TOPIC, truth["events"]).whole


def _fetches(servers: str, truth: Totals, _file: Path) -> float:
    return kafka.consumer_performance(servers, TOPIC, truth["events"]).fetches
