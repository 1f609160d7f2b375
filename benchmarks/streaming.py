"""A backlog of events, from Kafka to the committed store: ours beside what people write instead.

All read the same topic of one broker in turns; a ratio is the median over the rounds. The clock of each
starts with its first records and stops with its last commit. All must come to the same totals, else the
benchmark fails. ``DEADWATCH_BENCH_EVENTS`` and ``DEADWATCH_BENCH_ROUNDS`` size it; with much fewer events the
JVM has no time to compile what it runs, and ours runs before it is measured: a stream lives for months, and
its JVM gets quicker up to the fourth run.

``ConsumerPerformance`` only adds up bytes. Its own headline, ``nMsg.sec``, is of the whole run and has the
three seconds in it for which Kafka holds back a new group; so ours is of the whole run, too. The last row has
its fetches alone: how far anybody is from the limit who looks into the events.

A second topic has the same events with blanks, another order of fields and escapes: what it costs that nobody
asks how an event was written. ``DEADWATCH_BENCH_BEFORE`` is another checkout, as of the commit before, in
which ``make setup`` has run: it counts the first topic in turns with ours, in a process and a JVM of its own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import jars
from benchmarks import peers, traffic
from benchmarks.backlog import Counted, Ours
from benchmarks.row import BenchmarkError, Row, place
from benchmarks.traffic import Totals
from lab.jvm import Properties, launcher
from lab.topics import Topics

TOPIC: Final = "bench.events"
PARTITIONS: Final = 6
READ_WITHIN_S: Final = 300
EVENTS: Final = int(os.environ.get("DEADWATCH_BENCH_EVENTS", "3000000"))
WARM_UP_RUNS: Final = 3
STOCK: Final[Properties] = {"group.initial.rebalance.delay.ms": 3_000}
"""What Kafka does unless told otherwise, and the lab's broker does not."""
LIMIT: Final = 0.15
"""What is seen of it; Spark's Kafka source, warm, that only adds up lengths comes to about half."""
ROUNDS: Final = int(os.environ.get("DEADWATCH_BENCH_ROUNDS", "3"))
LOOSE_TOPIC: Final = "bench.events-loose"
LOOSE: Final = 0.6
BEFORE: Final = os.environ.get("DEADWATCH_BENCH_BEFORE", "")
NO_SLOWER: Final = 0.95
PROGRAM: Final = """
import json, sys, tempfile
from pathlib import Path
from benchmarks.backlog import Ours

servers, topic, truth, warm_up_runs = sys.argv[1:]
with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name, Ours(servers, topic, Path(name)) as ours:
    for _ in range(int(warm_up_runs)):
        ours.run(json.loads(truth))
    print("warm", flush=True)
    for _ in sys.stdin:
        print("rate", ours.run(json.loads(truth)).rate, flush=True)
"""
"""The directory that it is run in comes first among Python's paths: that of the checkout."""

Run = Callable[[str, str, Totals, Path], float]


class Peer(NamedTuple):
    """Somebody who reads the same topic; ``run`` gives events per second, a file to count into given.

    ``whole``: from its start, not from its first records.
    """

    name: str
    goal: float
    run: Run
    whole: bool = False


def rows() -> Iterator[Row]:
    """A row a peer, one for the second topic and, where it is there, one for the checkout before."""
    with ExitStack() as stack:
        servers, directory = stack.enter_context(place(STOCK))
        Topics(servers).create(TOPIC, LOOSE_TOPIC, partitions=PARTITIONS)
        truth = traffic.produce(servers, TOPIC, EVENTS)
        traffic.produce(servers, LOOSE_TOPIC, EVENTS, traffic.loosely)
        all_peers = _peers()
        if BEFORE:
            run = stack.enter_context(_before(Path(BEFORE).resolve(), servers, TOPIC, truth, WARM_UP_RUNS))
            all_peers.append(Peer("the checkout before", NO_SLOWER, run))
        ours = stack.enter_context(Ours(servers, TOPIC, directory))
        for _ in range(WARM_UP_RUNS):
            ours.run(truth)
            ours.run(truth, LOOSE_TOPIC)
        rounds = [
            _round(servers, ours, truth, all_peers, f"{directory}/{number}") for number in range(ROUNDS)
        ]
    for index, peer in enumerate(all_peers):
        pairs = [(mine.whole if peer.whole else mine.rate, theirs[index]) for mine, _, theirs in rounds]
        yield Row.of_rounds(f"count a backlog of events, beside {peer.name}", pairs, peer.goal)
    pairs = [(loose.rate, mine.rate) for mine, loose, _ in rounds]
    yield Row.of_rounds("the second topic, with blanks and escapes, beside the first", pairs, LOOSE)


def _round(
    servers: str, ours: Ours, truth: Totals, all_peers: Sequence[Peer], files: str
) -> tuple[Counted, Counted, list[float]]:
    """Both topics by ours, and the first by all_peers."""
    return (
        ours.run(truth),
        ours.run(truth, LOOSE_TOPIC),
        [
            peer.run(servers, TOPIC, truth, Path(f"{files}-{index}.db"))
            for index, peer in enumerate(all_peers)
        ],
    )


def _peers() -> list[Peer]:
    return [
        Peer("confluent-kafka and orjson into SQLite", 1.5, peers.confluent),
        Peer("kafka-python and orjson into SQLite", 2.5, peers.kafka_python),
        Peer("Quix Streams' state into SQLite", 4.5, partial(peers.quix, "state")),
        Peer("a sink of Quix Streams into SQLite", 2.5, partial(peers.quix, "sink")),
        Peer(
            "ConsumerPerformance of Kafka, bytes only, whole run", 0.5, partial(_tool, "nMsg.sec"), whole=True
        ),
        Peer("ConsumerPerformance of Kafka, its fetches alone", LIMIT, partial(_tool, "fetch.nMsg.sec")),
    ]


def _tool(figure: str, servers: str, topic: str, truth: Totals, _file: Path) -> float:
    """A figure that Kafka's ConsumerPerformance prints: it reads bytes, and does not look at them."""
    command = [
        *launcher(jars.find_java().path, "apps", 512),
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", servers, "--topic", topic, "--num-records", str(truth["events"])),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=READ_WITHIN_S, check=True)
    names, values = (re.split(r",\s*", line) for line in done.stdout.strip().splitlines()[-2:])
    return float(dict(zip(names, values, strict=True))[figure])


@contextmanager
def _before(checkout: Path, servers: str, topic: str, truth: Totals, warm_up_runs: int) -> Iterator[Run]:
    """Our query as another checkout has it: a process, a JVM and packages of its own, warm between its runs.

    A run counts the topic on a new store, events per second; it raises ``BenchmarkError`` if it cannot.
    """
    own = checkout / ".venv" / "bin" / "python"
    process = subprocess.Popen(
        [
            own if own.exists() else sys.executable,
            *("-c", PROGRAM, servers, topic, json.dumps(truth), str(warm_up_runs)),
        ],
        cwd=checkout,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def answer(word: str) -> str:
        """The rest of the next line that begins with it; Spark may have lines of its own."""
        for line in process.stdout or ():
            if line.startswith(word):
                return line.removeprefix(word)
        raise BenchmarkError(f"the checkout {checkout} ended: exit code {process.wait()}")

    def run(_servers: str, _topic: str, _truth: Totals, _file: Path) -> float:
        print("run", file=process.stdin, flush=True)
        return float(answer("rate"))

    answer("warm")
    try:
        yield run
    finally:
        process.communicate()
