"""The Connect source against REST and Jolokia servers that behave, and that do not."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field

import pytest

from collector.settings import CollectorSettings, ConnectSettings
from collector.sources.connect import interfaces
from collector.sources.connect.workers import (
    MAX_EXPLAINED,
    THREADLESS_MS,
    ConnectSource,
    source_name,
)
from collector.sources.source import Publishing, SourceDownError, State
from deadwatch.contract.events import THREADLESS, WorkerSnapshot, encode
from tests.tables import named
from tests.unit.collector.sources.connect.conftest import Cluster

BEAN = "kafka.connect:connector=pipe,task=0,type=connector-task-metrics"
RUNNING = {"worker_id": "w", "state": "RUNNING"}


def status(connector: Mapping[str, object], *tasks: Mapping[str, object]) -> bytes:
    return json.dumps({"pipe": {"status": {"connector": connector, "tasks": tasks}}}).encode()


@dataclass
class Watch:
    """Sources that are closed with the test, their clock, and how long they have paused between readings."""

    cluster: Cluster
    opened: ExitStack
    now_ms: int = 1_000
    pauses: list[int] = field(default_factory=list)

    def source(
        self, saved: State | None = None, jolokia: str = "http://{host}:{port}/jolokia/"
    ) -> ConnectSource:
        settings = ConnectSettings(url=self.cluster.url, jolokia_url=jolokia, request_timeout_ms=20_000)
        publishing = Publishing(lambda _: saved, "c", 5_000, lambda: self.now_ms)
        source = ConnectSource(settings, publishing, pause=self.pauses.append)
        return self.opened.enter_context(closing(source))


@pytest.fixture
def watch(cluster: Cluster) -> Iterator[Watch]:
    with ExitStack() as opened:
        yield Watch(cluster, opened)


def polled(source: ConnectSource) -> tuple[list[WorkerSnapshot], str]:
    chunk = source.poll()
    assert chunk is not None
    return [event for event in chunk.events if isinstance(event, WorkerSnapshot)], chunk.trouble


def snapshot(source: ConnectSource) -> WorkerSnapshot:
    ((event,), _) = polled(source)
    return event


def abandoned(event: WorkerSnapshot) -> dict[tuple[str, str], int]:
    return {(instance.connector, instance.task): instance.abandoned for instance in event.instances}


def states(event: WorkerSnapshot) -> dict[str, str]:
    return {f"{instance.connector}-{instance.task}": instance.state for instance in event.instances}


def test_an_abandoned_task_is_seen_and_its_end_too(cluster: Cluster, watch: Watch) -> None:
    source = watch.source()
    cluster.connectors, cluster.beans = {"pipe": ["0"]}, {interfaces.TASKS: {BEAN: {"status": "running"}}}
    cluster.threads = ["main", "task-thread-pipe-0", "connector-thread-pipe"]
    assert abandoned(snapshot(source)) == {("pipe", ""): 0, ("pipe", "0"): 0}
    assert watch.pauses == [], "it is read once where no count changes"
    cluster.threads.append("task-thread-pipe-0")
    assert abandoned(snapshot(source)) == {("pipe", ""): 0, ("pipe", "0"): 1}
    cluster.connectors, cluster.beans, cluster.threads = {"other": []}, {}, ["connector-thread-other"]
    event = snapshot(source)
    assert abandoned(event) == {("other", ""): 0, ("pipe", "0"): 0}
    assert states(event) == {"other-": "RUNNING", "pipe-0": ""}
    assert watch.pauses == [50, 50]


TRACE = """org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator.execAndHandleError(R.java:244)
Caused by: org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed
\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:333)
Caused by: com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'x'
\t... 13 more
"""


def test_a_failed_task_says_why(cluster: Cluster, watch: Watch) -> None:
    failed = {"id": 0, "state": "FAILED", "worker_id": cluster.worker, "trace": TRACE}
    cluster.body = status({"state": "RUNNING", "worker_id": cluster.worker, "trace": None}, failed)
    connector, task = snapshot(watch.source()).instances
    assert (connector.state, connector.trace) == ("RUNNING", "")
    assert (task.state, task.trace) == (
        "FAILED",
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler … "
        "com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'x'",
    )


def test_a_thousand_failed_tasks_fit_into_an_event(cluster: Cluster, watch: Watch) -> None:
    failed = {"state": "FAILED", "worker_id": cluster.worker, "trace": "E: " + "x" * 10_000}
    cluster.body = status(failed, *({"id": number, **failed} for number in range(1_000)))
    event = snapshot(watch.source())
    assert sum(bool(one.trace) for one in event.instances) == MAX_EXPLAINED
    assert len(encode(event)[1]) < 500_000


def test_positions_grow_over_a_restart_even_when_the_clock_does_not(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors, cluster.threads = {"pipe": []}, ["task-thread-pipe-0"]
    chunk = watch.source().poll()
    assert chunk is not None
    cluster.threads = []
    again = snapshot(watch.source(json.loads(json.dumps(chunk.state))))
    assert again.position == (1_001, 0, 0)
    assert abandoned(again) == {("pipe", ""): 0, ("pipe", "0"): 0}


def test_a_worker_whose_agent_fails_is_published_without_its_threads(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors, cluster.jolokia_body = {"pipe": ["0"]}, b"<html>no</html>"
    (event,), trouble = polled(watch.source())
    assert f"Jolokia of worker {cluster.worker} answers 200, but not as a Jolokia agent" in trouble
    assert not event.threads_known
    assert abandoned(event) == {("pipe", ""): 0, ("pipe", "0"): 0}


def test_without_an_agent_rest_alone_is_published_without_complaint(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": ["0"]}
    assert polled(watch.source(jolokia=""))[1] == ""
    assert cluster.asked == ["/connectors?expand=status"]


def test_a_worker_that_has_left_is_published_empty_once(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": ["0"]}
    source = watch.source()
    assert snapshot(source).instances
    cluster.connectors, cluster.jolokia_body = {}, b"gone"
    assert snapshot(source).instances == ()
    assert source.poll() is None


def test_of_several_workers_each_is_published_when_it_changes(cluster: Cluster, watch: Watch) -> None:
    cluster.workers.append("other:8083")
    cluster.connectors = {"pipe": ["0", "1"]}
    source = watch.source(jolokia="")
    assert len(polled(source)[0]) == 2
    assert source.poll() is None


def test_one_agent_for_several_workers_is_refused(cluster: Cluster, watch: Watch) -> None:
    cluster.workers.append("other:8083")
    cluster.connectors = {"pipe": ["0", "1"]}
    snapshots, trouble = polled(watch.source(jolokia=cluster.url))
    assert trouble.startswith(interfaces.ONE_FOR_SEVERAL)
    known = {event.worker: event.threads_known for event in snapshots}
    assert known == {cluster.worker: False, "other:8083": False}
    assert cluster.asked == ["/connectors?expand=status"]


def test_one_agent_is_not_asked_for_a_worker_that_has_left(cluster: Cluster, watch: Watch) -> None:
    source = watch.source({"workers": {"left:8083": [["pipe", "0"]]}}, jolokia=cluster.url)
    cluster.connectors, cluster.threads = {"pipe": ["0"]}, ["task-thread-pipe-0"]
    instances = {event.worker: len(event.instances) for event in polled(source)[0]}
    assert instances == {cluster.worker: 2, "left:8083": 0}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>a proxy</html>", "not as Connect's REST does"),
        (200, b"[]", "not as Connect's REST does"),
        (200, b'{"pipe": {"status": {}}}', "not as Connect's REST does"),
        (200, status({**RUNNING, "worker_id": None}), "not as Connect's REST does"),
        (200, status({**RUNNING, "state": None}), "not as Connect's REST does"),
        (200, status(RUNNING, {**RUNNING, "state": "FAILED"}), "not as Connect's REST does"),
        (200, b"[" * 100_000, "not as Connect's REST does"),
        (404, b"", "still starting"),
        (500, b"", "answers 500"),
    ],
)
def test_an_answer_that_is_none(
    cluster: Cluster, watch: Watch, status: int, body: bytes, message: str
) -> None:
    cluster.status, cluster.body = status, body
    with pytest.raises(SourceDownError, match=message):
        watch.source().poll()


def test_rest_that_refuses_is_down_until_it_is_back(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": []}
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    port, cluster.port = cluster.port, free
    with pytest.raises(SourceDownError, match="cannot be reached"):
        watch.source().poll()
    cluster.port = port
    assert snapshot(watch.source()).worker == cluster.worker


def test_the_sources_name_carries_no_secret() -> None:
    settings = ConnectSettings(url="http://user:secret@connect.example:8083/?token=secret")
    assert source_name(settings) == "connect:http://connect.example:8083"


CLUSTERS = [
    ("of one name", {"name": "blue"}, "2 Connect clusters have the name 'blue'"),
    (
        "with one agent",
        {"jolokia_url": "http://agent:8778"},
        "is the agent of one worker, 2 Connect clusters",
    ),
    ("with one template and no name", {"jolokia_url": "http://{host}:8778"}, ""),
]


@pytest.mark.parametrize(("two", "why"), named(CLUSTERS))
def test_clusters_that_cannot_be_told_apart_are_refused(two: dict[str, str], why: str) -> None:
    clusters = [{"url": f"http://{host}:8083", **two} for host in ("a", "b")]
    with pytest.raises(ValueError, match=why) if why else nullcontext():
        assert len(CollectorSettings.model_validate({"connect": clusters}).connect) == 2


THREADS: list[tuple[str, list[tuple[int, list[str] | None, str]]]] = [
    (
        "until its thread is there",
        [
            (0, [], "RUNNING"),
            (THREADLESS_MS - 1, [], "RUNNING"),  # it may be starting
            (1, [], THREADLESS),
            (0, ["task-thread-pipe-1"], "RUNNING"),
        ],
    ),
    (
        "anew after it had one in between",
        [
            (0, [], "RUNNING"),
            (THREADLESS_MS // 2, ["task-thread-pipe-1"], "RUNNING"),
            (THREADLESS_MS // 2, [], "RUNNING"),
            (THREADLESS_MS - 1, [], "RUNNING"),
        ],
    ),
    (
        "not while the agent does not answer",
        [(0, [], "RUNNING"), (THREADLESS_MS, None, "RUNNING"), (0, [], THREADLESS), (0, None, "RUNNING")],
    ),
]


@pytest.mark.parametrize("looks", named(THREADS))
def test_a_running_task_without_a_thread_has_a_state_of_its_own(
    cluster: Cluster, watch: Watch, looks: list[tuple[int, list[str] | None, str]]
) -> None:
    cluster.connectors, source = {"pipe": ["0", "1"]}, watch.source()
    for after_ms, threads, state in looks:
        watch.now_ms += after_ms
        cluster.threads = ["task-thread-pipe-0", *(threads or ())]
        cluster.jolokia_body = b"" if threads is not None else b"no JSON"
        assert states(snapshot(source)) == {"pipe-": "RUNNING", "pipe-0": "RUNNING", "pipe-1": state}
