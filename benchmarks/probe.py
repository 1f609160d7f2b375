"""How long a record needs until somebody can see it counted: sent at a steady rate, watched all the time.

Records of a lane are counted in their order, so record n of it is seen as soon as its count is n + 1.
"""

import bisect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from confluent_kafka import Producer

from benchmarks.dead_letters import Headers
from benchmarks.row import BenchmarkError
from deadwatch.contract.events import ClientTimeout, Position, encode
from deadwatch.runtime.clock import clock_ms

SOURCES: Final = 4
LAST_WITHIN_S: Final = 300.0
LOOK_EVERY_S: Final = 0.01
SEND_EVERY_S: Final = 0.005
LATE: Final = 1.2
"""So much longer than asked for the sender may need: beyond, the rate was not the one that a row names."""


class Record(NamedTuple):
    """What is sent, and where."""

    topic: str
    key: str
    value: bytes
    headers: Headers


class Lane(NamedTuple):
    """Records that are counted together, under ``name``; ``record`` makes the n-th."""

    name: str
    record: Callable[[int], Record]


Seen = Callable[[], Mapping[str, int]]


def latencies_ms(  # noqa: PLR0917 -- the first three are one place
    servers: str, topic: str, seen: Seen, name: str, per_second: int, seconds: float
) -> list[float]:
    """The latency of every event of ``SOURCES`` sources, in order of its length.

    Raises:
        BenchmarkError: events were not seen within ``LAST_WITHIN_S`` after the last, or sent too slowly.
    """
    lanes = [Lane(source_name(name, at), _Events(topic, name, at)) for at in range(SOURCES)]
    return of_lanes(servers, lanes, seen, per_second, seconds)


def of_lanes(servers: str, lanes: Sequence[Lane], seen: Seen, per_second: int, seconds: float) -> list[float]:
    """The latency of every record of the lanes, which take turns; raises as ``latencies_ms``."""
    sent: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    looks: list[tuple[float, Mapping[str, int]]] = []
    began_s = time.monotonic()
    sender = threading.Thread(target=_send, args=(servers, lanes, per_second, seconds, sent))
    sender.start()
    while time.monotonic() < began_s + LATE * seconds + LAST_WITHIN_S:
        counts = seen()
        looks.append((time.monotonic(), counts))
        if not sender.is_alive() and all(counts.get(name, 0) >= len(times) for name, times in sent.items()):
            break
        time.sleep(LOOK_EVERY_S)
    sender.join()
    needed_s = max(times[-1] for times in sent.values() if times) - began_s
    if needed_s > LATE * seconds + 1:
        raise BenchmarkError(
            f"to send {per_second}/s for {seconds:.0f} s took {needed_s:.0f} s: not that rate"
        )
    return sorted(late for name, times in sent.items() for late in _of_lane(times, name, looks))


def percentile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def source_name(name: str, source: int) -> str:
    return f"log:/{name}-{source}.log"


def _of_lane(
    times: Sequence[float], name: str, looks: Sequence[tuple[float, Mapping[str, int]]]
) -> list[float]:
    counts = [counted.get(name, 0) for _, counted in looks]
    found = []
    for number, sent_s in enumerate(times):
        look = bisect.bisect_right(counts, number)
        if look == len(looks):
            raise BenchmarkError(f"{len(times) - number} records of {name} were not seen")
        found.append((looks[look][0] - sent_s) * 1_000)
    return found


def _send(
    servers: str, lanes: Sequence[Lane], per_second: int, seconds: float, sent: Mapping[str, list[float]]
) -> None:
    """Send what is due every ``SEND_EVERY_S``."""
    settings = {"linger.ms": 1, "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({"bootstrap.servers": servers, **settings})
    began_s = time.monotonic()
    number, end = 0, max(int(per_second * seconds), 1)
    while number < end:
        due = min(end, int((time.monotonic() - began_s) * per_second) + 1)
        while number < due:
            lane = lanes[number % len(lanes)]
            times = sent[lane.name]
            topic, key, value, headers = lane.record(len(times))
            producer.produce(topic, value, key, headers=headers)
            times.append(time.monotonic())
            number += 1
        producer.poll(0)
        time.sleep(SEND_EVERY_S)
    producer.flush()


class _Events:
    """Events of a source; encoded anew when the clock has moved, else only their positions change."""

    def __init__(self, topic: str, name: str, source: int) -> None:
        self._topic, self._source, self._client_id = topic, source_name(name, source), f"svc-{source}"
        self._made_ms = 0

    def __call__(self, number: int) -> Record:
        now_ms = clock_ms()
        if now_ms - self._made_ms >= SEND_EVERY_S * 1_000:
            self._made_ms = now_ms
            self._before, self._after = self._encoded(now_ms).split(b"4242424242")
        return Record(self._topic, self._source, b"%b%d%b" % (self._before, number, self._after), [])

    def _encoded(self, now_ms: int) -> bytes:
        return encode(
            ClientTimeout(
                source=self._source,
                position=Position(1, 4_242_424_242),
                happened_at_ms=now_ms,
                observed_at_ms=now_ms,
                kafka_cluster="bench",
                client="java",
                client_id=self._client_id,
                timeout="metadata",
                message="Topic orders not present in metadata after 60000 ms.",
            )
        )[1]
