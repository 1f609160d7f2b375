"""Tasks that go on, go down, come back, block, and are abandoned."""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Self
from unittest.mock import Mock

import pytest

from collector.positions import Positions
from collector.publish.publisher import CHUNKS_PER_SOURCE, ChunkQueue
from collector.settings import CollectorSettings
from collector.sources.logs.gone import EPOCHS, KEPT_MS, next_place, shortened
from collector.sources.source import Chunk, SourceDownError, SourceTimeoutError, State
from collector.tasks import runtime
from collector.tasks.runtime import Runtime
from collector.tasks.task import ABANDONED, BLOCKED, BLOCKED_MS, TaskContext
from collector.telemetry import Count
from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.logs import Scope, add_context
from tests.unit.collector.publishing import Broker, Queue, event, publisher_of
from tests.waiting import until

GRACEFUL_MS, PUBLISHER_SHARE = 3_000, 1.5
"""A second for all sources together, two for the publisher: what does not block has ended by then, on a busy
machine too.
"""
TASK_TIMEOUT_MS = 1_000


@dataclass
class Scripted:
    """A source that does one thing after the other, then has nothing more."""

    name: str
    script: list[Callable[[], Chunk | None]] = field(default_factory=list)
    kind: str = "log"
    poll_interval_ms: int = 1
    closed: int = 0
    release: threading.Event | None = None
    """One that has it does not close before it is let."""

    def poll(self) -> Chunk | None:
        return self.script.pop(0)() if self.script else None

    def close(self) -> None:
        if self.release is not None:
            self.release.wait(30)
        self.closed += 1


class Harness:
    """A runtime on a Kafka that is well, in a thread of its own."""

    def __init__(
        self, positions: Positions, saved: Mapping[str, State] | None = None, save_interval_ms: int = 0
    ) -> None:
        settings = CollectorSettings(
            name="test", heartbeat_interval_ms=100, connector_shutdown_graceful_timeout_ms=GRACEFUL_MS
        )
        self.now_ms, self.kafka, self.failure = 1_000, Broker(), list[str]()
        self.stop, chunks, rng = threading.Event(), ChunkQueue(), Random(1)
        context = TaskContext(
            threading.Event(),
            lambda: self.now_ms,
            rng,
            Backoff(1, 2),
            save_interval_ms,
            task_timeout_ms=TASK_TIMEOUT_MS,
        )
        publisher = publisher_of(self.kafka, positions, chunks, Queue())
        self.runtime = Runtime(settings, chunks, publisher, context, saved or {}, shortened=shortened)
        self.thread = threading.Thread(target=lambda: self.failure.append(self.runtime.run(self.stop)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self, *sources: Scripted) -> None:
        for source in sources:
            self.runtime.start(repeat(source).__next__)
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def times_out(self) -> Chunk:
        """What a source does that has timed out for longer than it may."""
        self.now_ms += TASK_TIMEOUT_MS + 1
        raise SourceTimeoutError("GET /connectors", "no answer in time")


@pytest.fixture
def harness(
    positions: Positions, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Harness]:
    monkeypatch.setattr(runtime, "PUBLISHER_SHARE", PUBLISHER_SHARE)
    caplog.handler.addFilter(add_context)
    with Harness(positions) as harness:
        yield harness


def contextual(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines with their context, from WARNING up or as the caller has set the level."""
    return [f"{vars(record)['context']}{record.message}" for record in caplog.records]


def chunk(name: str, offset: int) -> Callable[[], Chunk]:
    return lambda: Chunk((event(offset, name),), {"offset": offset}, more=True)


def test_events_are_published_in_order_and_positions_follow(harness: Harness, positions: Positions) -> None:
    source = Scripted("log:a", [chunk("log:a", number) for number in range(20)])
    harness.begin(source)
    until(lambda: harness.kafka.holds('"w19"'))
    harness.end()
    published = [value.decode() for key, value in harness.kafka.committed if key == b"log:a"]
    assert [f'"w{number}"' in text for number, text in enumerate(published)] == [True] * 20
    assert positions.load()["log:a"] == {"offset": 19}
    assert source.closed
    assert (harness.failure, harness.runtime.abandoned.count(Scope.TASK)) == ([""], Count(0, 0))


def test_a_position_without_events_is_saved_in_time_though_nothing_comes_after_it(
    positions: Positions, tmp_path: Path
) -> None:
    with Harness(positions, save_interval_ms=5_000) as harness:
        source = Scripted("log:a", [lambda: Chunk((), {"offset": 1})])
        harness.begin(source)
        until(lambda: not source.script)
        with Positions(tmp_path / "positions.sqlite") as on_disk:
            assert "log:a" not in on_disk.load()
            harness.now_ms += 5_000
            until(lambda: on_disk.load().get("log:a") == {"offset": 1})


def test_a_source_goes_down_and_comes_back_one_line_each(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "collector.tasks.task")
    down = Mock(side_effect=SourceDownError("the file does not exist yet"))
    harness.begin(Scripted("log:a", [down, down, down, chunk("log:a", 1)]))
    until(lambda: harness.kafka.holds('"up":true', '"subject":"log:a"'))
    harness.end()
    assert harness.kafka.holds('"up":false', '"message":"the file does not exist yet"')
    lines = ["Down: the file does not exist yet", "Up again"]
    assert contextual(caplog) == [f"[log:a|task-0|1] {line}" for line in lines]


def test_an_unexpected_failure_stays_its_own(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    odd = Mock(side_effect=ZeroDivisionError("odd"))
    harness.begin(Scripted("log:a", [odd, odd, chunk("log:a", 1)]), Scripted("log:b", [chunk("log:b", 2)]))
    until(lambda: harness.kafka.holds('"w1"') and harness.kafka.holds('"w2"'))
    harness.end()
    assert harness.kafka.holds("failed unexpectedly", "ZeroDivisionError")
    assert caplog.messages.count("Poll failed") == 1


def test_trouble_beside_events_is_down_too(harness: Harness) -> None:
    harness.begin(Scripted("connect:x", [lambda: Chunk((), {}, trouble="no Jolokia")] * 500))
    until(lambda: harness.kafka.holds('"up":false', "no Jolokia"))


def test_a_blocked_source_holds_up_nobody_and_is_abandoned(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def block() -> None:
        release.wait(30)

    blocked = Scripted("log:blocked", [block])
    harness.begin(blocked, Scripted("log:b", [chunk("log:b", 2)]))
    until(lambda: harness.kafka.holds('"w2"'))
    harness.now_ms += BLOCKED_MS + 1
    until(lambda: harness.kafka.holds('"up":false', BLOCKED))
    harness.end()
    abandoned = harness.runtime.abandoned
    assert (abandoned.count(Scope.TASK), abandoned.count("log:blocked")) == (Count(1, 1), Count(1, 1))
    assert (abandoned.count(Scope.CONNECTOR), abandoned.count("log:b")) == (Count(0, 0), Count(0, 0))
    release.set()
    until(lambda: abandoned.count("log:blocked") == Count(0, 1))
    assert harness.kafka.holds('"up":false', '"subject":"log:blocked"', ABANDONED)
    counted = '{"name":"abandoned_tasks","subject":"log:blocked","current":1,"total":1}'
    assert harness.kafka.holds('"kind":"collector_snapshot"', '"collector":"test"', counted)
    stopped = ["Graceful stop of task log:blocked failed.", "Ended after it was abandoned"]
    assert contextual(caplog) == [f"[log:blocked|task-0|1] {line}" for line in (f"Down: {BLOCKED}", *stopped)]


def test_a_source_that_only_times_out_is_started_anew_where_it_stood(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    first = Scripted("log:a", [chunk("log:a", 1), harness.times_out, harness.times_out])
    second = Scripted("log:a", [chunk("log:a", 2)])
    instances, saved = [first, second], []

    def make() -> Scripted:
        saved.append(harness.runtime.saved("log:a"))
        return instances.pop(0)

    harness.runtime.start(make)
    harness.begin(Scripted("log:b", [chunk("log:b", 3)]))
    until(lambda: harness.kafka.holds('"w2"') and harness.kafka.holds('"w3"'))
    harness.end()
    assert (first.closed, second.closed, saved) == (True, True, [None, {"offset": 1}])
    assert harness.runtime.abandoned.count("log:a") == Count(0, 0), "it has closed in time"
    failed = (
        "failed: no progress within 1000 ms (task_timeout_ms), GET /connectors timed out; it is started anew"
    )
    assert harness.kafka.holds('"up":false', f'"message":"{failed}"')
    assert [task.sequence for task in harness.runtime.tasks.values()] == [2, 1]
    assert contextual(caplog)[0] == (
        "[log:a|task-0|1] GET /connectors timed out; without progress within 1000 ms the source fails"
    )


def test_an_instance_that_does_not_close_is_abandoned_and_the_next_one_takes_over(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()
    hanging = Scripted("log:a", [harness.times_out] * 2, release=release)
    next_one = Scripted("log:a", [chunk("log:a", 5)])
    harness.runtime.start(Mock(side_effect=[hanging, OSError("no more files"), next_one]))
    harness.begin()
    until(lambda: harness.kafka.holds('"w5"'))
    abandoned = harness.runtime.abandoned
    assert abandoned.count("log:a") == Count(1, 1)
    until(lambda: harness.kafka.holds('"subject":"log:a","current":1,"total":1'))
    release.set()
    until(lambda: abandoned.count("log:a") == Count(0, 1))
    until(lambda: harness.kafka.holds('"subject":"log:a","current":0,"total":1'))
    harness.end()
    assert "[log:a|task-0|1] Graceful stop of task log:a failed." in contextual(caplog)
    assert harness.kafka.holds('"up":false', "cannot be started anew", "no more files"), "it is tried again"


def test_an_instance_that_none_has_followed_at_the_end_is_closed_once(harness: Harness) -> None:
    last = Scripted("log:a", [harness.times_out] * 2)
    made: list[Scripted] = [last]
    harness.runtime.start(made.pop)
    harness.begin()
    until(lambda: harness.kafka.holds("cannot be started anew", "IndexError"))
    harness.end()
    assert last.closed == 1


def test_heartbeats_and_the_collectors_own_status(harness: Harness) -> None:
    harness.begin(Scripted("log:a"))
    until(lambda: harness.kafka.holds('"subject":"collector:test"', '"up":true', '"source_kind":"collector"'))
    harness.now_ms += 100
    until(lambda: harness.kafka.holds('"subject":"log:a"', '"position":[1100,0,0]'))


def test_a_source_that_has_ended_is_told_of_and_goes_on_from_there_when_it_comes_again(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "collector.tasks.task")
    ends = Mock(side_effect=[SourceDownError("gone"), Chunk((), {"offset": 7}, ended=True)])
    source = Scripted("log:a", [chunk("log:a", 1), ends, ends])
    harness.begin(source)
    until(lambda: harness.kafka.holds('"subject":"log:a"', '"ended":true'))
    until(lambda: not harness.runtime.runs("log:a"))
    assert source.closed
    assert contextual(caplog)[1:] == ["[log:a|task-0|1] Down: gone", "[log:a|task-0|1] Ended: it is gone"]
    assert harness.runtime.saved("log:a") == {"offset": 7}
    harness.runtime.start(lambda: Scripted("log:a", [chunk("log:a", 8)]))
    until(lambda: harness.kafka.holds('"w8"'))
    assert harness.runtime.runs("log:a")


def test_a_source_that_has_read_nothing_yet_stands_where_it_was_saved(positions: Positions) -> None:
    with Harness(positions, {"log:a": {"offset": 7}}) as harness:
        harness.begin(Scripted("log:a"))
        saved = harness.runtime.saved("log:a")
    assert saved == {"offset": 7}


def test_of_a_log_whose_file_has_long_been_gone_a_number_is_kept(positions: Positions) -> None:
    gone, status = {"epoch": 3, "inode": 7, "gone_ms": 1}, {"position_ms": 1, "ended": True}
    saved: dict[str, State] = {"log:a": gone, "log:a#status": status, "log:b": gone, "log:away": gone}
    saved |= {"log:b#status": {"position_ms": 1}, "log:*": {"inodes": {"away": 7}}}
    positions.save(saved)
    with Harness(positions, saved) as harness:
        harness.begin(Scripted("log:b", [chunk("log:b", 1)]), Scripted("log:*"))
        until(lambda: harness.runtime.runs("log:b"))
        harness.now_ms = KEPT_MS
        harness.runtime.shorten()
        assert "log:a" in positions.load()
        harness.now_ms += 1

        def shortens() -> bool:  # the queue may have no room at first
            harness.runtime.shorten()
            return harness.runtime.saved("log:a") is None

        until(shortens)
        assert next_place(harness.runtime.saved(EPOCHS), "log:a") == {"epoch": 4}
        assert next_place(harness.runtime.saved(EPOCHS), "log:b") is None, "it is read again"
    left = positions.load()
    assert next_place(left[EPOCHS], "log:a") == {"epoch": 4}
    assert not {"log:a", "log:a#status"} & left.keys()
    assert (left["log:b"], left["log:away"]) == ({"offset": 1}, gone)


def test_what_is_kept_of_logs_is_shortened_while_the_collector_runs(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SHORTEN_MS", 0)
    with Harness(positions, {"log:a": {"epoch": 3, "inode": 7, "gone_ms": 1}}) as harness:
        harness.now_ms = KEPT_MS + 1
        harness.begin()
        until(lambda: harness.runtime.saved("log:a") is None)


def test_a_log_is_shortened_only_once_the_queue_has_room(positions: Positions) -> None:
    logs = range(CHUNKS_PER_SOURCE + 1)
    saved = {f"log:{log}": {"epoch": 3, "inode": 7, "gone_ms": log + 1} for log in logs}
    harness = Harness(positions, saved)
    for log in logs:
        harness.now_ms = KEPT_MS + log + 1
        harness.runtime.shorten()
    left = [log for log in logs if harness.runtime.saved(f"log:{log}")]
    assert left == [CHUNKS_PER_SOURCE], "Kafka has taken none yet"


def test_sources_that_are_read_no_more_are_told_of_once_after_a_start(positions: Positions) -> None:
    at = {"position_ms": 5}
    saved = {"log:a#status": at, "log:b#status": at, "log:c#status": {**at, "ended": True}, "log:d": at}
    with Harness(positions, {**saved, "collector:test#status": at}) as harness:
        harness.begin(Scripted("log:a", [chunk("log:a", 1)]))
        until(lambda: harness.kafka.holds('"subject":"log:b"', '"ended":true'))
    told = [value.decode() for _, value in harness.kafka.committed if b'"ended":true' in value]
    assert [json.loads(one)["subject"] for one in told] == ["log:b"]
    assert positions.load()["log:b#status"]["ended"]
    assert not positions.load()["log:a#status"]["ended"]


def test_a_name_that_is_set_twice_is_read_once(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    twice = Scripted("log:a", [chunk("log:a", 7)])
    harness.begin(Scripted("log:a", [chunk("log:a", 1)]), twice)
    until(lambda: harness.kafka.holds('"w1"'))
    harness.end()
    assert twice.closed
    assert not harness.kafka.holds('"w7"')
    assert "log:a is set more than once; it is read once" in caplog.messages
