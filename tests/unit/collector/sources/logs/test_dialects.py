"""What the dialects take from an entry's header, and the stories that several lines tell.

Which string gives which event is in ``kafka_strings``.
"""

from dataclasses import asdict, dataclass, field

import pytest

from collector.sources.logs.dialects import brokers, clients, connect, streams
from collector.sources.logs.dialects.cause import Cause, Mention, mention
from deadwatch.contract.events import Event, Position, WorkerStarted
from tests.tables import named

APP = "wordcount-7f99e2d8-5383-481a-8dd1-773528d54f71"
STREAMS = f"[2026-11-21 12:35:35,202] ERROR stream-thread [{APP}-StreamThread-1] "
CONNECT = "[2026-11-21 12:35:23,893] ERROR [orders|task-0] "
PLAIN = "[2026-11-21 12:35:23,893] ERROR "
NO_PROGRESS = "Task 0_0 did not make progress within 9 ms. Adjust `task.timeout.ms` if needed."
EXPIRED = "Expiring 4 record(s) for a-1-b-12:3001 ms has passed since batch creation"


def facts(cause: Cause) -> dict[str, object]:
    event: Event = cause.event(
        source="log:x", position=Position(0), happened_at_ms=0, observed_at_ms=0, kafka_cluster="c"
    )
    return {"kind": event.kind, **asdict(event)}


@pytest.mark.parametrize(
    ("header", "application"),
    [
        (f"{PLAIN}state-updater [{APP}-StateUpdater-1] Encountered streams exception: ", "wordcount"),
        (f"{PLAIN}stream-client [billing] Encountered the following exception", "billing"),
        (f"2026-11-21 12:35:35.202 ERROR [{APP}-StreamThread-2] c.example.App - it died", "wordcount"),
        (PLAIN, ""),
    ],
    ids=["the state updater", "a client id of the user's own", "the layout of an application", "nobody"],
)
def test_the_header_says_whose_task_it_is(header: str, application: str) -> None:
    (cause,) = streams.read(NO_PROGRESS, header)
    assert facts(cause)["application"] == application


@pytest.mark.parametrize(
    ("header", "client_id"),
    [(STREAMS, f"{APP}-StreamThread-1-producer"), (CONNECT, "connector-producer-orders-0"), (PLAIN, "")],
    ids=["a Streams thread", "a Connect task", "nobody"],
)
def test_the_header_says_whose_producer_it_is(header: str, client_id: str) -> None:
    (cause,) = clients.read(f"o.TimeoutException: {EXPIRED}", header)
    assert facts(cause).items() >= {"client_id": client_id, "topic": "a-1-b", "partition": 12}.items()


@pytest.mark.parametrize(
    "line",
    [
        "Task did not make progress. Remaining time to deadline 12; retrying.",
        "3 record(s) for everybody",
        "Timeout of 2000ms expired before the last committed offset for partitions [a-0] was determined.",
        "Failed to allocate a port",
        f"Expiring {'9' * 5_000} record(s) for topic-0:1 ms has passed since batch creation",
        f"Task 0_0 did not make progress within {'9' * 5_000} ms. Adjust `task.timeout.ms` if needed.",
    ],
    ids=lambda line: line[:40],
)
def test_what_only_sounds_alike_or_counts_beyond_all_numbers_is_nothing(line: str) -> None:
    assert [*streams.read(line, STREAMS), *clients.read(line, PLAIN), *brokers.read(line, "", "")[1]] == []


@dataclass(frozen=True)
class Story:
    name: str
    lines: tuple[str, ...]
    expected: tuple[tuple[str, str, str, str], ...]
    worker: connect.Worker = field(default_factory=connect.Worker)


UNRESPONSIVE = (
    "Connector 'orders-sink' failed to properly shut down, has become unresponsive, and may be consuming"
    " external resources. Correct the configuration for this connector or remove the connector."
)
SCHEDULED = "Scheduled shutdown for WorkerConnector{id=orders-sink}"
COMPLETED = "Completed shutdown for WorkerConnector{id=orders-sink}"
ORPHAN = (
    "WorkerSinkTask{id=my sink-0} After being scheduled for shutdown,"
    " the orphan task threw an uncaught exception."
)
STARTING = "Kafka Connect worker initializing ..."
INITIALIZED = "Kafka Connect worker initialization took 1864ms (o.AbstractConnectCli:141)"
ADVERTISED = "Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)"
IS_ABANDONED = ("connector_abandoned", "", "orders-sink", "")
STARTED = ("worker_started", "10.0.0.7:8083", "", "")
STORIES = [
    Story(
        "a task is abandoned, with dashes in its connector's name",
        ("Graceful stop of task my-sink-12 failed. (o.Worker:1104)",),
        (("task_abandoned", "", "my-sink", "12"),),
    ),
    Story(
        "a connector's name may have blanks",
        ("Graceful stop of task my sink-0 failed. (o.Worker:1104)", ORPHAN),
        (("task_abandoned", "", "my sink", "0"), ("abandoned_ended", "", "my sink", "0")),
    ),
    Story(
        "the healthy end of an abandoned connector's successor is not its own",
        (SCHEDULED, UNRESPONSIVE, SCHEDULED, COMPLETED),
        (IS_ABANDONED,),
    ),
    Story(
        "a new worker process has abandoned nothing",
        (SCHEDULED, UNRESPONSIVE, STARTING, ADVERTISED, COMPLETED),
        (IS_ABANDONED, STARTED),
    ),
    Story("a start counts once its worker's name is known", (STARTING, ADVERTISED, ADVERTISED), (STARTED,)),
    Story(
        "a start whose first line was not logged counts at the end of its initialization",
        (SCHEDULED, UNRESPONSIVE, ADVERTISED, ADVERTISED, INITIALIZED, COMPLETED),
        (IS_ABANDONED, STARTED),
    ),
    Story(
        "each start counts once, whether its first line was logged or not",
        (STARTING, ADVERTISED, INITIALIZED, ADVERTISED, INITIALIZED, STARTING, ADVERTISED, INITIALIZED),
        (STARTED, STARTED, STARTED),
    ),
    Story(
        "a start that fails before it is initialized counts, and so does the next one",
        (STARTING, ADVERTISED, STARTING, ADVERTISED, INITIALIZED),
        (STARTED, STARTED),
    ),
    Story(
        "a worker that does not say what it advertises has no name",
        ("Kafka Connect standalone worker initializing ...", INITIALIZED),
        (("worker_started", "", "", ""),),
    ),
    Story(
        "a name that is set is used at once and stays",
        (STARTING, ADVERTISED, INITIALIZED, "Graceful stop of task a-0 failed."),
        (("worker_started", "w:1", "", ""), ("task_abandoned", "w:1", "a", "0")),
        connect.Worker(name="w:1", named_by_setting=True),
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_connect_says(story: Story) -> None:
    worker, events = story.worker, list[dict[str, object]]()
    for line in story.lines:
        worker, causes = connect.read(line, worker)
        events += map(facts, causes)
        assert any(trigger in line for trigger in connect.TRIGGERS)
    names = ("kind", "worker", "connector", "task")
    assert tuple(tuple(event.get(name, "") for name in names) for event in events) == story.expected


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
