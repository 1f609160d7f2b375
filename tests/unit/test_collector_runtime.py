"""Tasks that go on, go down, come back, block, and are abandoned."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import pytest

from collector.abandonment import Count
from collector.contract.backoff import Backoff
from collector.contract.events import Position, WorkerStarted
from collector.dead_letters import DeadLetters
from collector.delivery import Delivery
from collector.log_context import Scope, add_context
from collector.outbox import Outlet, Parcels
from collector.outgoing import Record
from collector.positions import Positions
from collector.publisher import Publisher
from collector.runtime import Runtime, backoff
from collector.settings import CollectorSettings
from collector.sources.source import Chunk, SourceDownError, SourceTimeoutError
from collector.status import Status
from collector.task import ABANDONED, BLOCKED, BLOCKED_MS, Surroundings
from tests.waiting import until

GRACEFUL_MS = 300
TASK_TIMEOUT_MS = 1_000


@dataclass
class Kafka:
    """Takes everything."""

    records: list[Record] = field(default_factory=list)

    def transact(self, records: Sequence[Record]) -> None:
        self.records += records

    def close(self) -> None:
        """Nothing is held."""

    def holds(self, *texts: str) -> bool:
        return any(all(text.encode() in value for text in texts) for _, value in tuple(self.records))


@dataclass
class Scripted:
    """A source that does one thing after the other, then has nothing more."""

    name: str
    script: list[Callable[[], Chunk | None]] = field(default_factory=list)
    kind: str = "log"
    poll_interval_ms: int = 1
    closed: bool = False

    def poll(self) -> Chunk | None:
        return self.script.pop(0)() if self.script else None

    def close(self) -> None:
        self.closed = True


@dataclass
class House:
    """A runtime on a Kafka that is well, in a thread of its own."""

    kafka: Kafka
    runtime: Runtime
    around: Surroundings
    positions: Positions
    clock_ms: list[int]
    stop: threading.Event = field(default_factory=threading.Event)
    failure: list[str] = field(default_factory=list)
    thread: threading.Thread | None = None

    def begin(self, *sources: Scripted) -> None:
        for source in sources:
            self.runtime.start(partial(_same, source))
        self.thread = threading.Thread(target=lambda: self.failure.append(self.runtime.run(self.stop)))
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join(10)
            assert not self.thread.is_alive()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    settings = CollectorSettings(
        name="test", heartbeat_interval_ms=100, connector_shutdown_graceful_timeout_ms=GRACEFUL_MS
    )
    clock_ms, kafka, parcels = [1_000], Kafka(), Parcels()
    around = Surroundings(
        threading.Event(),
        lambda: clock_ms[0],
        Random(1),
        Backoff(1, 2),
        save_interval_ms=0,
        task_timeout_ms=TASK_TIMEOUT_MS,
    )
    with Positions(tmp_path / "positions.sqlite") as positions:
        stopping = threading.Event()
        delivery = Delivery(
            lambda: kafka, topic="e", kafka="k", backoff=around.backoff, rng=around.rng, stopping=stopping
        )
        letters = DeadLetters(
            lambda: pytest.fail("no letter"),
            topic="dlq.d",
            backoff=around.backoff,
            rng=around.rng,
            stopping=stopping,
        )
        publisher = Publisher(parcels, positions, delivery, letters, stopping)
        house = House(kafka, Runtime(settings, parcels, publisher, around, {}), around, positions, clock_ms)
        yield house
        house.end()


def contextual(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines with their context, from WARNING up or as the caller has set the level."""
    return [f"{vars(record)['context']}{record.message}" for record in caplog.records]


def chunk(name: str, offset: int) -> Callable[[], Chunk]:
    event = WorkerStarted(
        source=name,
        position=Position(0, offset),
        happened_at_ms=0,
        observed_at_ms=0,
        kafka_cluster="c",
        worker=f"w{offset}",
    )
    return lambda: Chunk((event,), {"offset": offset}, more=True)


def fail(error: Exception) -> Callable[[], Chunk]:
    def poll() -> Chunk:
        raise error

    return poll


def test_events_are_published_in_order_and_positions_follow(house: House) -> None:
    source = Scripted("log:a", [chunk("log:a", number) for number in range(20)])
    house.begin(source)
    until(lambda: house.kafka.holds('"w19"'))
    house.end()
    told = [value.decode() for key, value in house.kafka.records if key == b"log:a"]
    assert [f'"w{number}"' in text for number, text in enumerate(told)] == [True] * 20
    assert house.positions.load()["log:a"] == {"offset": 19}
    assert source.closed
    assert (house.failure, house.runtime.abandoned.count(Scope.TASK)) == ([""], Count(0, 0))


def test_a_source_goes_down_and_comes_back_one_line_each(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "collector.task")
    caplog.handler.addFilter(add_context)
    down = fail(SourceDownError("the file does not exist yet"))
    house.begin(Scripted("log:a", [down, down, down, chunk("log:a", 1)]))
    until(lambda: house.kafka.holds('"up":true', '"subject":"log:a"'))
    house.end()
    assert house.kafka.holds('"up":false', '"message":"the file does not exist yet"')
    assert contextual(caplog) == [
        "[log:a|task-0|1] Down: the file does not exist yet",
        "[log:a|task-0|1] Up again",
    ]


def test_an_unexpected_failure_stays_its_own(house: House, caplog: pytest.LogCaptureFixture) -> None:
    odd = fail(ZeroDivisionError("odd"))
    house.begin(Scripted("log:a", [odd, odd, chunk("log:a", 1)]), Scripted("log:b", [chunk("log:b", 2)]))
    until(lambda: house.kafka.holds('"w1"') and house.kafka.holds('"w2"'))
    house.end()
    assert house.kafka.holds("failed unexpectedly", "ZeroDivisionError")
    assert caplog.messages.count("Poll failed") == 1


def test_trouble_beside_events_is_down_too(house: House) -> None:
    house.begin(Scripted("connect:x", [lambda: Chunk((), {}, trouble="no Jolokia")] * 500))
    until(lambda: house.kafka.holds('"up":false', "no Jolokia"))


def test_a_blocked_source_holds_up_nobody_and_is_abandoned(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()
    caplog.handler.addFilter(add_context)
    blocked = Scripted("log:blocked", [lambda: _none(release.wait(30))])
    house.begin(blocked, Scripted("log:b", [chunk("log:b", 2)]))
    until(lambda: house.kafka.holds('"w2"'))
    house.clock_ms[0] += BLOCKED_MS + 1
    until(lambda: house.kafka.holds('"up":false', BLOCKED))
    house.end()
    abandoned = house.runtime.abandoned
    assert (abandoned.count(Scope.TASK), abandoned.of("log:blocked")) == (Count(1, 1), Count(1, 1))
    assert (abandoned.count(Scope.CONNECTOR), abandoned.of("log:b")) == (Count(0, 0), Count(0, 0))
    release.set()
    until(lambda: abandoned.of("log:blocked") == Count(0, 1))
    assert house.kafka.holds('"up":false', '"subject":"log:blocked"', ABANDONED)
    counted = '{"name":"abandoned_tasks","subject":"log:blocked","current":1,"total":1}'
    assert house.kafka.holds('"kind":"collector_snapshot"', '"collector":"test"', counted)
    assert contextual(caplog) == [
        f"[log:blocked|task-0|1] Down: {BLOCKED}",
        "[log:blocked|task-0|1] Graceful stop of task log:blocked failed.",
        "[log:blocked|task-0|1] Ended after it was abandoned",
    ]


def test_a_source_that_only_times_out_is_started_anew_where_it_stood(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(add_context)
    timeout = SourceTimeoutError("GET /connectors", "no answer in time")

    def late() -> Chunk:
        house.clock_ms[0] += TASK_TIMEOUT_MS + 1
        raise timeout

    first = Scripted("log:a", [chunk("log:a", 1), fail(timeout), late])
    second = Scripted("log:a", [chunk("log:a", 2)])
    instances, saved = [first, second], []

    def make() -> Scripted:
        saved.append(house.runtime.saved("log:a"))
        return instances.pop(0)

    house.runtime.start(make)
    house.begin(Scripted("log:b", [chunk("log:b", 3)]))
    until(lambda: house.kafka.holds('"w2"') and house.kafka.holds('"w3"'))
    house.end()
    assert (first.closed, second.closed, saved) == (True, True, [None, {"offset": 1}])
    assert house.kafka.holds('"up":false', '"message":"failed: no progress within 1000 ms')
    assert [(task.failures, task.sequence) for task in house.runtime.tasks] == [(1, 2), (0, 1)]
    assert contextual(caplog)[0] == (
        "[log:a|task-0|1] GET /connectors timed out; without progress within 1000 ms the source fails"
    )


def test_an_instance_that_does_not_close_is_abandoned_and_the_next_one_takes_over(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(add_context)
    release = threading.Event()

    class Hanging(Scripted):
        def close(self) -> None:
            release.wait(30)

    def timed_out() -> Chunk:
        house.clock_ms[0] += TASK_TIMEOUT_MS + 1
        raise SourceTimeoutError("read", "late")

    instances = [Hanging("log:a", [timed_out, timed_out]), Scripted("log:a", [chunk("log:a", 5)])]
    house.runtime.start(lambda: instances.pop(0))
    house.begin()
    until(lambda: house.kafka.holds('"w5"'))
    abandoned = house.runtime.abandoned
    assert abandoned.of("log:a") == Count(1, 1)
    until(lambda: house.kafka.holds('"subject":"log:a","current":1,"total":1'))
    release.set()
    until(lambda: abandoned.of("log:a") == Count(0, 1))
    until(lambda: house.kafka.holds('"subject":"log:a","current":0,"total":1'))
    house.end()
    assert "[log:a|task-0|1] Graceful stop of task log:a failed." in contextual(caplog)


def test_a_source_that_cannot_be_started_anew_is_tried_until_it_can(house: House) -> None:
    def timed_out() -> Chunk:
        house.clock_ms[0] += TASK_TIMEOUT_MS + 1
        raise SourceTimeoutError("read", "late")

    first, good = Scripted("log:a", [timed_out, timed_out]), Scripted("log:a", [chunk("log:a", 5)])
    steps: list[Scripted | None] = [first, None, good]

    def make() -> Scripted:
        source = steps.pop(0)
        if source is None:
            raise OSError("no more files")
        return source

    house.runtime.start(make)
    house.begin()
    until(lambda: house.kafka.holds('"w5"'))
    house.end()
    assert house.kafka.holds('"up":false', "cannot be started anew", "no more files")


def _same(source: Scripted) -> Scripted:
    """The same source for every instance."""
    return source


def _none(_: object) -> None:
    """Nothing is new."""


def test_heartbeats_and_the_collectors_own_status(house: House) -> None:
    house.begin(Scripted("log:a"))
    until(lambda: house.kafka.holds('"subject":"collector:test"', '"up":true', '"source_kind":"collector"'))
    house.clock_ms[0] += 100
    until(lambda: house.kafka.holds('"subject":"log:a"', '"position":[1100,0,0]'))


def status(position_ms: int | None = None) -> Status:
    saved = None if position_ms is None else {"position_ms": position_ms}
    return Status("log:a", "log", saved=saved, kafka_cluster="c", heartbeat_interval_ms=100)


def test_a_status_is_due_at_each_change_and_each_interval() -> None:
    told, parcels = status(), Parcels()
    for trouble, now_ms in (("", 0), ("", 99), ("", 100), ("x", 101), ("x", 102), ("", 103)):
        told.announce(trouble, now_ms, Outlet(parcels))
    sent = [parcels.get().events[0] for _ in range(parcels.qsize())]
    assert [event.happened_at_ms for event in sent] == [0, 100, 101, 103]


def test_a_status_that_was_not_taken_stays_due() -> None:
    told, full = status(), Outlet(Parcels())
    while full.offer((), {}):
        pass
    told.announce("", 0, full)
    assert told.due("", 1) is not None


def test_positions_of_a_status_grow_when_the_clock_goes_back() -> None:
    told, parcels = status(5_000), Parcels()
    told.announce("", 1_000, Outlet(parcels))
    told.announce("x", 900, Outlet(parcels))
    assert [parcels.get().states for _ in range(2)] == [
        {"log:a#status": {"position_ms": 5_001}},
        {"log:a#status": {"position_ms": 5_002}},
    ]


def test_a_name_that_is_set_twice_is_read_once(house: House, caplog: pytest.LogCaptureFixture) -> None:
    twice = Scripted("log:a", [chunk("log:a", 7)])
    house.begin(Scripted("log:a", [chunk("log:a", 1)]), twice)
    until(lambda: house.kafka.holds('"w1"'))
    house.end()
    assert twice.closed
    assert not house.kafka.holds('"w7"')
    assert "log:a is set more than once; it is read once" in caplog.messages


GRACEFUL = [
    ("neither is set", {}, 5_000),
    ("the deprecated name serves", {"task_shutdown_graceful_timeout_ms": 7}, 7),
    (
        "the new name wins",
        {"task_shutdown_graceful_timeout_ms": 7, "connector_shutdown_graceful_timeout_ms": 5_000},
        5_000,
    ),
]


@pytest.mark.parametrize(
    ("given", "total_ms"), [row[1:] for row in GRACEFUL], ids=[row[0] for row in GRACEFUL]
)
def test_one_total_time_to_stop(given: dict[str, int], total_ms: int) -> None:
    assert CollectorSettings.model_validate(given).graceful_timeout_ms == total_ms


def test_settings_of_old_are_accepted_with_a_warning() -> None:
    settings = CollectorSettings(task_shutdown_graceful_timeout_ms=7, retries=0)
    deprecated, ignored = settings.warnings()
    assert deprecated.startswith("task_shutdown_graceful_timeout_ms is deprecated")
    assert ignored.startswith("retries is ignored")
    assert CollectorSettings().warnings() == ()


def test_a_misconfigured_backoff_is_said_in_kafkas_words(caplog: pytest.LogCaptureFixture) -> None:
    backoff(CollectorSettings(retry_backoff_ms=2_000, retry_backoff_max_ms=1_000))
    assert "A static backoff with value '1000' will be applied." in caplog.text
