"""Every string that a dialect recognises, as it stands in a log."""

from dataclasses import asdict, dataclass, field
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from collector.contract.events import Event, Position, WorkerStarted
from collector.dialects import brokers, clients, connect, layout, streams
from collector.dialects.cause import Cause, Mention, mention
from collector.sources.log_lines import last_header
from collector.sources.log_text import Text

APP = "wordcount-7f99e2d8-5383-481a-8dd1-773528d54f71"
STREAMS = f"[2026-11-21 12:35:35,202] ERROR stream-thread [{APP}-StreamThread-1] "
CONNECT = "[2026-11-21 12:35:23,893] ERROR [orders|task-0] "
PLAIN = "[2026-11-21 12:35:23,893] ERROR "
NEWER = ". The request has not been sent, or no server response has been received yet."
UNRESPONSIVE = (
    "Connector 'orders-sink' failed to properly shut down, has become unresponsive, and may be"
    " consuming external"
    " resources. Correct the configuration for this connector or remove the connector."
)


@dataclass(frozen=True)
class Case:
    name: str
    line: str
    expected: dict[str, object]
    header: str = PLAIN
    next_line: str = ""


STREAMS_CASES = [
    Case(
        "a task that made no progress",
        "Caused by: o.TimeoutException: Task 0_1 did not make progress within 300123 ms. Adjust"
        " `task.timeout.ms` if needed.",
        {"kind": "task_timeout", "application": "wordcount", "task": "0_1", "elapsed_ms": 300123},
        header=STREAMS,
    ),
    Case(
        "a task of the state updater",
        "Task 1_0 did not make progress within 4004 ms. Adjust `task.timeout.ms` if needed.",
        {"kind": "task_timeout", "application": "wordcount", "task": "1_0", "elapsed_ms": 4004},
        header=f"{PLAIN}state-updater [{APP}-StateUpdater-1] Encountered streams exception: ",
    ),
    Case(
        "the global thread",
        "Global task did not make progress to restore state within 310000 ms. Adjust"
        " `task.timeout.ms` if needed.",
        {"kind": "task_timeout", "application": "wordcount", "task": "global", "elapsed_ms": 310000},
        header=f"{PLAIN}global-stream-thread [{APP}-GlobalStreamThread] ",
    ),
    Case(
        "the global thread without patience",
        "Retrying is disabled. You can enable it by setting `task.timeout.ms` to a value larger than zero.",
        {"kind": "task_timeout", "application": "", "task": "global", "elapsed_ms": 0},
    ),
    Case(
        "a client id of the user's own",
        "Task 0_0 did not make progress within 9 ms. Adjust `task.timeout.ms` if needed.",
        {"kind": "task_timeout", "application": "billing", "task": "0_0", "elapsed_ms": 9},
        header=f"{PLAIN}stream-client [billing] Encountered the following exception",
    ),
    Case(
        "the thread's name in the layout of an application",
        "Task 0_0 did not make progress within 9 ms. Adjust `task.timeout.ms` if needed.",
        {"kind": "task_timeout", "application": "wordcount", "task": "0_0", "elapsed_ms": 9},
        header=f"2026-11-21 12:35:35.202 ERROR [{APP}-StreamThread-2] c.example.App - it died",
    ),
]

CLIENT_CASES = [
    Case(
        "an expiry up to 4.2",
        "Expiring 3 record(s) for topic-0:120004 ms has passed since batch creation",
        {
            "kind": "delivery_timeout",
            "client": "java",
            "topic": "topic",
            "partition": 0,
            "records": 3,
            "elapsed_ms": 120004,
        },
    ),
    Case(
        "an expiry from 4.3 on, of a Streams thread's producer",
        f"o.TimeoutException: Expiring 4 record(s) for a-1-b-12:3001 ms has passed since batch"
        f" creation{NEWER}",
        {"topic": "a-1-b", "partition": 12, "records": 4, "client_id": f"{APP}-StreamThread-1-producer"},
        header=STREAMS,
    ),
    Case(
        "an expiry of a Connect task's producer",
        "Expiring 1 record(s) for t-0:1 ms has passed since batch creation",
        {"client_id": "connector-producer-orders-0", "records": 1},
        header=CONNECT,
    ),
    Case(
        "an expiry of kafka-python",
        "KafkaTimeoutError: Expiring 3 record(s) for TopicPartition(topic='t', partition=1):"
        " 3000 ms has passed since batch creation",
        {
            "client": "kafka-python",
            "topic": "t",
            "partition": 1,
            "records": 3,
            "elapsed_ms": 3000,
            "client_id": "",
        },
    ),
    Case(
        "a topic without metadata",
        "Topic orders not present in metadata after 60000 ms.",
        {"kind": "client_timeout", "timeout": "metadata", "client": "java"},
    ),
    Case(
        "a partition without metadata",
        "Partition 7 of topic orders with partition count 3 is not present in metadata after 60000 ms.",
        {"kind": "client_timeout", "timeout": "metadata"},
    ),
    Case(
        "a full buffer",
        "Failed to allocate 16384 bytes within the configured max blocking time 2000 ms. Total"
        " memory: 33554432 bytes.",
        {"kind": "client_timeout", "timeout": "buffer"},
    ),
    Case(
        "a commit",
        "o.TimeoutException: Timeout of 2000ms expired before successfully committing offsets"
        " {in-0=OffsetAndMetadata{offset=191}}",
        {"kind": "client_timeout", "timeout": "commit"},
    ),
    Case(
        "a request",
        "[2026-11-21 12:35:26,332] INFO [Producer clientId=p-1] Disconnecting from node -1 due"
        " to request timeout. (x:921)",
        {"kind": "client_timeout", "timeout": "request", "client_id": "p-1"},
        header="[2026-11-21 12:35:26,332] INFO [Producer clientId=p-1] Disconnecting",
    ),
    Case(
        "a misconfigured backoff",
        "Configuration 'retry.backoff.ms' with value '2000' is greater than configuration"
        " 'retry.backoff.max.ms' with"
        " value '1000'. A static backoff with value '1000' will be applied. (o.CommonClientConfigs)",
        {"kind": "retry_backoff_misconfigured", "client_id": ""},
    ),
]

BROKER_CASES = [
    Case(
        "a lost dead letter whose exception names the group",
        f"{PLAIN}{brokers.LOST} (kafka.server.share.SharePartition:3400)",
        {"kind": "share_dead_letter_lost", "consumergroup": "billing"},
        next_line="o.ConfigException: DLQ is not enabled for share group: billing, topic: d.",
    ),
    Case(
        "a lost dead letter whose exception holds the record",
        f"{PLAIN}{brokers.LOST}",
        {"consumergroup": "g"},
        next_line="Unable to produce ShareGroupDLQRecordParameter[groupId=g, topicIdPartition=x] to DLQ",
    ),
    Case(
        "a group whose topic name is empty",
        f"{PLAIN}{brokers.LOST}",
        {"consumergroup": "g1"},
        next_line="o.ConfigException: Configured DLQ topic name in share group: g1 is empty.",
    ),
    Case("a lost dead letter of nobody known", brokers.LOST, {"consumergroup": ""}, next_line=PLAIN),
]


@pytest.mark.parametrize("case", STREAMS_CASES, ids=lambda case: case.name)
def test_streams_says(case: Case) -> None:
    _expect(case, list(streams.read(case.line, case.header)), streams.TRIGGERS)


@pytest.mark.parametrize("case", CLIENT_CASES, ids=lambda case: case.name)
def test_clients_say(case: Case) -> None:
    _expect(case, list(clients.read(case.line, case.header)), clients.TRIGGERS)


@pytest.mark.parametrize("case", BROKER_CASES, ids=lambda case: case.name)
def test_brokers_say(case: Case) -> None:
    _expect(case, brokers.read(case.line, case.next_line, "")[1], brokers.TRIGGERS)


def test_one_line_may_name_several_tasks() -> None:
    text = "Task {} did not make progress within 4004 ms. Adjust `task.timeout.ms` if needed."
    line = f"Get exceptions for: {{1_1=x: {text.format('1_1')}, 1_0=x: {text.format('1_0')}}}"
    assert [_event(cause)["task"] for cause in streams.read(line, STREAMS)] == ["1_1", "1_0"]


def test_what_only_sounds_alike_is_nothing() -> None:
    for line in (
        "Task did not make progress. Remaining time to deadline 12; retrying.",
        "3 record(s) for everybody",
        "Timeout of 2000ms expired before the last committed offset for partitions [a-0] could"
        " be determined.",
        "Failed to allocate a port",
    ):
        assert [*streams.read(line, PLAIN), *clients.read(line, PLAIN), *brokers.read(line, "", "")[1]] == []


@dataclass(frozen=True)
class Story:
    name: str
    lines: tuple[str, ...]
    expected: tuple[tuple[str, str, str, str], ...]
    worker: connect.Worker = field(default_factory=connect.Worker)


SCHEDULED = "Scheduled shutdown for WorkerConnector{id=orders-sink}"
COMPLETED = "Completed shutdown for WorkerConnector{id=orders-sink}"
STARTING = "Kafka Connect worker initializing ..."
ADVERTISED = "Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)"
SET = connect.Worker(name="w:1", named_by_setting=True)
STORIES = [
    Story(
        "a task is abandoned, with dashes in its connector's name",
        ("Graceful stop of task my-sink-12 failed. (o.Worker:1104)",),
        (("task_abandoned", "", "my-sink", "12"),),
    ),
    Story(
        "an abandoned task throws",
        (
            "WorkerSourceTask{id=my-sink-0} After being scheduled for shutdown, the orphan task"
            " threw an uncaught"
            " exception. A newer instance of this task might be already running",
        ),
        (("abandoned_ended", "", "my-sink", "0"),),
    ),
    Story("a healthy connector stops", (SCHEDULED, COMPLETED), ()),
    Story(
        "a connector is abandoned",
        (SCHEDULED, UNRESPONSIVE),
        (("connector_abandoned", "", "orders-sink", ""),),
    ),
    Story(
        "an abandoned connector ends after all",
        (SCHEDULED, UNRESPONSIVE, COMPLETED),
        (("connector_abandoned", "", "orders-sink", ""), ("abandoned_ended", "", "orders-sink", "")),
    ),
    Story(
        "its successor's healthy end is not its own",
        (SCHEDULED, UNRESPONSIVE, SCHEDULED, COMPLETED),
        (("connector_abandoned", "", "orders-sink", ""),),
    ),
    Story(
        "a new worker process has abandoned nothing",
        (SCHEDULED, UNRESPONSIVE, STARTING, ADVERTISED, COMPLETED),
        (("connector_abandoned", "", "orders-sink", ""), ("worker_started", "10.0.0.7:8083", "", "")),
    ),
    Story(
        "a start is told once, when the worker's name is known",
        (STARTING, ADVERTISED, ADVERTISED),
        (("worker_started", "10.0.0.7:8083", "", ""),),
    ),
    Story(
        "a name that is set is used at once and stays",
        (STARTING, ADVERTISED, "Graceful stop of task a-0 failed."),
        (("worker_started", "w:1", "", ""), ("task_abandoned", "w:1", "a", "0")),
        SET,
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_connect_says(story: Story) -> None:
    worker, told = story.worker, []
    for line in story.lines:
        worker, causes = connect.read(line, worker)
        told += [_event(cause) for cause in causes]
        assert any(trigger in line for trigger in connect.TRIGGERS)
    names = ("kind", "worker", "connector", "task")
    assert tuple(tuple(event.get(name, "") for name in names) for event in told) == story.expected


@pytest.mark.parametrize(
    ("header", "zone", "expected"),
    [
        ("[2026-11-21 06:36:31,123] ERROR x", "UTC", 1_795_242_991_123),
        ("2026-11-21 06:36:31,123 - root - ERROR - x", "UTC", 1_795_242_991_123),
        ("2026-11-21T06:36:31.123Z INFO x", "Asia/Tokyo", 1_795_242_991_123),
        ("2026-11-21T06:36:31.123456+02:00 INFO x", "UTC", 1_795_235_791_123),
        ("[2026-11-21 06:36:31,123] ERROR x", "Europe/Berlin", 1_795_239_391_123),
        ("2026-11-21 06:36:31 x", "UTC", 1_795_242_991_000),
        ("[2026-13-45 06:36:31,123] ERROR x", "UTC", None),
        ("no time", "UTC", None),
    ],
)
def test_the_time_of_an_entry(header: str, zone: str, expected: int | None) -> None:
    assert layout.time_ms(header, ZoneInfo(zone)) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"[2026-11-21 06:36:31,123] a\n\tb\n", 0),
        (b"\tb\n2026-11-21T06:36:31Z a\nc\n", 3),
        (b"2026-11-21 06:36:31 a\n[2026-11-21 06:36:31,1234] b\n", 22),
        (b"at x\n\t2026-11-21 06:36:31,123 no header\n", -1),
        (b"2026-11-21 06:36:31,123tail\n\n", -1),
        (b"", -1),
    ],
)
def test_where_the_last_entry_begins(block: bytes, expected: int) -> None:
    assert last_header(Text(layout.KNOWN, UTC), block, 0, len(block), plain=False) == expected


@dataclass(frozen=True)
class Mentions:
    name: str
    window_ms: int
    limit: int
    at_ms: tuple[int, ...]
    new: tuple[bool, ...]


MENTIONS = [
    Mentions("a hit told by three threads", 10_000, 0, (0, 128, 129), (True, False, False)),
    Mentions("the same numbers a minute later", 10_000, 0, (0, 62_391), (True, True)),
    Mentions("at the end of the window it is the same", 10_000, 0, (0, 10_000, 20_001), (True, False, True)),
    Mentions("a batch of three, told by each record", 50, 3, (0, 1, 2), (True, False, False)),
    Mentions("two batches of two at one moment", 50, 2, (0, 0, 0, 0), (True, False, True, False)),
    Mentions("single records", 50, 1, (0, 1, 2), (True, True, True)),
    Mentions("a batch half told, then another", 50, 4, (0, 1, 52), (True, False, True)),
    Mentions("always new", -1, 0, (0, 0), (True, True)),
]


@pytest.mark.parametrize("case", MENTIONS, ids=lambda case: case.name)
def test_when_a_mention_is_new(case: Mentions) -> None:
    cause = Cause(WorkerStarted, ("x",), window_ms=case.window_ms, mentions=case.limit)
    latest: Mention | None = None
    told = []
    for at_ms in case.at_ms:
        latest, new = mention(cause, latest, at_ms)
        told.append(new)
    assert tuple(told) == case.new


def _expect(case: Case, causes: list[Cause], triggers: tuple[str, ...]) -> None:
    assert any(trigger in case.line for trigger in triggers), "the scanner would pass this line over"
    events = [_event(cause) for cause in causes]
    assert [{name: event[name] for name in case.expected} for event in events] == [case.expected]


def _event(cause: Cause) -> dict[str, object]:
    event: Event = cause.event(
        source="log:x", position=Position(0), happened_at_ms=0, observed_at_ms=0, kafka_cluster="c"
    )
    return {"kind": event.kind, **asdict(event)}


@pytest.mark.parametrize(
    "line",
    [
        f"Expiring {'9' * 5_000} record(s) for topic-0:1 ms has passed since batch creation",
        f"Task 0_0 did not make progress within {'9' * 5_000} ms. Adjust `task.timeout.ms` if needed.",
    ],
    ids=["records", "milliseconds"],
)
def test_a_number_that_no_counter_holds_says_nothing(line: str) -> None:
    assert [*streams.read(line, STREAMS), *clients.read(line, STREAMS)] == []
