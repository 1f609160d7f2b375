"""When two mentions are one, and what no string of Kafka's can show; ``kafka_strings`` has all others."""

import pytest

from collector.sources.logs.dialects import clients, connect, streams
from collector.sources.logs.dialects.cause import Cause, Mention, mention
from deadwatch.contract.events import WorkerStarted
from tests.tables import named

NUMBER = "9" * 5_000


def test_what_counts_beyond_all_numbers_is_nothing() -> None:
    expired = f"Expiring {NUMBER} record(s) for topic-0:1 ms has passed since batch creation"
    timed_out = f"Task 0_0 did not make progress within {NUMBER} ms. Adjust `task.timeout.ms` if needed."
    assert [*clients.read(expired, ""), *streams.read(timed_out, "")] == []


def test_a_workers_name_that_is_set_is_used_at_once_and_stays() -> None:
    worker, found = connect.Worker(name="w:1", named_by_setting=True), list[Cause]()
    for line in (
        "Kafka Connect worker initializing ...",
        "Graceful stop of task a-0 failed.",
        "Advertised URI: http://10.0.0.7:8083/",
        "Kafka Connect worker initialization took 1864ms",
    ):
        worker, causes = connect.read(line, worker)
        found += causes
    assert [cause.identity[0] for cause in found] == ["worker_started", "task_abandoned"]
    assert {getattr(cause.event, "keywords", {})["worker"] for cause in found} == {"w:1"}


MENTIONS = [
    ("a hit that three threads log", 10_000, 0, (0, 128, 129), (True, False, False)),
    ("the same numbers a minute later", 10_000, 0, (0, 62_391), (True, True)),
    ("at the end of the window it is the same", 10_000, 0, (0, 10_000, 20_001), (True, False, True)),
    ("a batch of three, logged by each record", 50, 3, (0, 1, 2), (True, False, False)),
    ("two batches of two at one moment", 50, 2, (0, 0, 0, 0), (True, False, True, False)),
    ("single records", 50, 1, (0, 1, 2), (True, True, True)),
    ("a batch half logged, then another", 50, 4, (0, 1, 52), (True, False, True)),
    ("always new", -1, 0, (0, 0), (True, True)),
]


@pytest.mark.parametrize(("window_ms", "limit", "at_ms", "expected"), named(MENTIONS))
def test_when_a_mention_is_new(
    window_ms: int, limit: int, at_ms: tuple[int, ...], expected: tuple[bool, ...]
) -> None:
    cause = Cause(WorkerStarted, ("x",), window_ms=window_ms, mentions=limit)
    latest: Mention | None = None
    seen = []
    for moment_ms in at_ms:
        latest, new = mention(cause, latest, moment_ms)
        seen.append(new)
    assert tuple(seen) == expected
