"""How long an event needs until somebody can see it counted: sent at a steady rate, watched all the time.

Events of a source are counted in their order, so event n of it is seen as soon as its count is n + 1.
"""

import bisect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import Producer

from collector.contract.events import ClientTimeout, Position, encode

SOURCES: Final = 4
LAST_WITHIN_S: Final = 150.0
LOOK_EVERY_S: Final = 0.01


class ProbeError(Exception):
    """What was sent was not seen in time."""


def latencies_ms(
    servers: str,
    topic: str,
    seen: Callable[[], Mapping[str, int]],
    *,
    per_second: int,
    seconds: float,
    name: str = "probe",
) -> list[float]:
    """The latency of every event, in order of its length.

    Raises:
        ProbeError: events were not seen within ``LAST_WITHIN_S`` after the last.
    """
    sent: list[list[float]] = [[] for _ in range(SOURCES)]
    looks: list[tuple[float, Mapping[str, int]]] = []
    sender = threading.Thread(target=_send, args=(servers, topic, name, (per_second, seconds), sent))
    sender.start()
    end_s = time.monotonic() + seconds + LAST_WITHIN_S
    while time.monotonic() < end_s:
        counts = seen()
        looks.append((time.monotonic(), counts))
        if not sender.is_alive() and all(
            counts.get(source_name(name, source), 0) >= len(times) for source, times in enumerate(sent)
        ):
            break
        time.sleep(LOOK_EVERY_S)
    sender.join()
    return sorted(
        late
        for source, times in enumerate(sent)
        for late in _of_source(times, source_name(name, source), looks)
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """Of values in their order."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def source_name(name: str, source: int) -> str:
    """As in the label ``source``."""
    return f"log:/{name}-{source}.log"


def _of_source(
    times: Sequence[float], source: str, looks: Sequence[tuple[float, Mapping[str, int]]]
) -> list[float]:
    counts = [counted.get(source, 0) for _, counted in looks]
    found = []
    for number, sent_s in enumerate(times):
        look = bisect.bisect_right(counts, number)
        if look == len(looks):
            raise ProbeError(f"{len(times) - number} events of {source} were not seen")
        found.append((looks[look][0] - sent_s) * 1_000)
    return found


def _send(servers: str, topic: str, name: str, pace: tuple[int, float], sent: Sequence[list[float]]) -> None:
    per_second, seconds = pace
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "enable.idempotence": True})
    began_s = time.monotonic()
    for number in range(int(per_second * seconds)):
        early_s = began_s + number / per_second - time.monotonic()
        if early_s > 0:
            producer.poll(0)
            time.sleep(early_s)
        source = number % SOURCES
        producer.produce(topic, _event(name, source, len(sent[source])), source_name(name, source))
        sent[source].append(time.monotonic())
    producer.flush()


def _event(name: str, source: int, number: int) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    return encode(
        ClientTimeout(
            source=source_name(name, source),
            position=Position(1, number),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster="bench",
            client="java",
            client_id=f"svc-{source}",
            timeout="metadata",
            message="Topic orders not present in metadata after 60000 ms.",
        )
    )[1]
