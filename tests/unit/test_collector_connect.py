"""The Connect source against REST and Jolokia servers that behave, and that do not."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from collector.contract.events import WorkerSnapshot
from collector.settings import CollectorSettings, ConnectSettings
from collector.sources import agents
from collector.sources.connect import ConnectSource, source_name
from collector.sources.source import SourceDownError, State


@dataclass
class Cluster:
    """What the fake worker answers; ``hang`` makes it never answer."""

    port: int = 0
    status: int = 200
    body: bytes = b""
    connectors: dict[str, list[str]] = field(default_factory=dict)
    threads: list[str] = field(default_factory=list)
    beans: list[str] = field(default_factory=list)
    jolokia_body: bytes = b""
    hang: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def worker(self) -> str:
        return f"127.0.0.1:{self.port}"

    def rest(self) -> bytes:
        running = {"state": "RUNNING", "worker_id": self.worker}
        return (
            self.body
            or json.dumps(
                {
                    name: {
                        "status": {
                            "connector": running,
                            "tasks": [{"id": int(task), **running} for task in tasks],
                        }
                    }
                    for name, tasks in self.connectors.items()
                }
            ).encode()
        )

    def jolokia(self) -> bytes:
        names = {
            f"kafka.connect:{bean},type=connector-task-metrics": {"status": "running"} for bean in self.beans
        }
        tasks: dict[str, Any] = {"status": 200, "value": names} if names else {"status": 404, "error": "none"}
        threads = [{"threadName": name, "threadId": number} for number, name in enumerate(self.threads)]
        none = {"status": 404, "error": "none"}
        return (
            self.jolokia_body
            or json.dumps([tasks, none, {"status": 200, "value": threads}, tasks, none]).encode()
        )


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(cluster.status, cluster.rest())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(200, cluster.jolokia())

        def answer(self, status: int, body: bytes) -> None:
            cluster.asked.append(self.path)
            if cluster.hang.is_set():
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cluster.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield cluster
        server.shutdown()
        thread.join()


@dataclass
class Clock:
    now_ms: int = 1_000

    def __call__(self) -> int:
        return self.now_ms


@dataclass
class Watch:
    """Sources that are closed with the test, and their clock."""

    cluster: Cluster
    clock: Clock = field(default_factory=Clock)
    sources: list[ConnectSource] = field(default_factory=list)

    def source(
        self, saved: State | None = None, jolokia: str = "http://{host}:{port}/jolokia/"
    ) -> ConnectSource:
        settings = ConnectSettings(url=self.cluster.url, jolokia_url=jolokia, request_timeout_ms=200)
        source = ConnectSource(
            settings,
            saved=saved,
            kafka_cluster="c",
            heartbeat_interval_ms=5_000,
            clock=self.clock,
            pause=lambda _: None,
        )
        self.sources.append(source)
        return source


@pytest.fixture
def watch(cluster: Cluster) -> Iterator[Watch]:
    watch = Watch(cluster)
    yield watch
    for source in watch.sources:
        source.close()


def snapshot(source: ConnectSource) -> WorkerSnapshot:
    chunk = source.poll()
    assert chunk is not None
    (event,) = chunk.events
    assert isinstance(event, WorkerSnapshot)
    return event


def abandoned(event: WorkerSnapshot) -> dict[tuple[str, str], int]:
    return {(instance.connector, instance.task): instance.abandoned for instance in event.instances}


def test_an_abandoned_task_is_seen_and_its_end_too(cluster: Cluster, watch: Watch) -> None:
    source = watch.source()
    cluster.connectors, cluster.beans = {"pipe": ["0"]}, ["connector=pipe,task=0"]
    cluster.threads = ["main", "task-thread-pipe-0", "connector-thread-pipe"]
    assert abandoned(snapshot(source)) == {("pipe", ""): 0, ("pipe", "0"): 0}
    cluster.threads.append("task-thread-pipe-0")
    assert abandoned(snapshot(source)) == {("pipe", ""): 0, ("pipe", "0"): 1}
    cluster.connectors, cluster.beans, cluster.threads = {"other": []}, [], ["connector-thread-other"]
    assert abandoned(snapshot(source)) == {("other", ""): 0, ("pipe", "0"): 0}


def test_only_changes_and_heartbeats_are_published(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": []}
    source = watch.source()
    assert snapshot(source).worker == cluster.worker
    watch.clock.now_ms += 4_999
    assert source.poll() is None
    watch.clock.now_ms += 1
    assert snapshot(source).position == (6_000, 0, 0)


def test_positions_grow_over_a_restart_even_when_the_clock_does_not(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors, cluster.threads = {"pipe": []}, ["task-thread-pipe-0"]
    chunk = watch.source().poll()
    assert chunk is not None
    cluster.threads = []
    again = snapshot(watch.source(json.loads(json.dumps(chunk.state))))
    assert again.position == (1_001, 0, 0)
    assert abandoned(again) == {("pipe", ""): 0, ("pipe", "0"): 0}


def test_a_worker_whose_agent_fails_is_told_without_its_threads(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors, cluster.jolokia_body = {"pipe": ["0"]}, b"<html>no</html>"
    chunk = watch.source().poll()
    assert chunk is not None
    assert f"Jolokia of worker {cluster.worker} answers 200, but not as a Jolokia agent" in chunk.trouble
    (event,) = chunk.events
    assert isinstance(event, WorkerSnapshot)
    assert not event.threads_known
    assert abandoned(event) == {("pipe", ""): 0, ("pipe", "0"): 0}


def test_without_an_agent_rest_alone_is_told_without_complaint(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": ["0"]}
    chunk = watch.source(jolokia="").poll()
    assert chunk is not None
    assert chunk.trouble == ""
    assert cluster.asked == ["/connectors?expand=status"]


def test_a_worker_that_has_left_is_told_empty_once(cluster: Cluster, watch: Watch) -> None:
    cluster.connectors = {"pipe": ["0"]}
    source = watch.source()
    assert snapshot(source).instances
    cluster.connectors, cluster.jolokia_body = {}, b"gone"
    assert snapshot(source).instances == ()
    assert source.poll() is None


def test_one_agent_for_several_workers_is_refused(cluster: Cluster, watch: Watch) -> None:
    running = {"state": "RUNNING", "worker_id": cluster.worker}
    tasks = [{"id": 0, **running}, {"id": 1, "state": "RUNNING", "worker_id": "other:8083"}]
    cluster.body = json.dumps({"pipe": {"status": {"connector": running, "tasks": tasks}}}).encode()
    chunk = watch.source(jolokia=cluster.url).poll()
    assert chunk is not None
    assert chunk.trouble.startswith(agents.ONE_FOR_SEVERAL)
    snapshots = [event for event in chunk.events if isinstance(event, WorkerSnapshot)]
    assert {event.worker: event.threads_known for event in snapshots} == {
        cluster.worker: False,
        "other:8083": False,
    }
    assert cluster.asked == ["/connectors?expand=status"]


def test_one_agent_is_not_asked_for_a_worker_that_has_left(cluster: Cluster, watch: Watch) -> None:
    source = watch.source({"workers": {"left:8083": [["pipe", "0"]]}}, jolokia=cluster.url)
    cluster.connectors, cluster.threads = {"pipe": ["0"]}, ["task-thread-pipe-0"]
    chunk = source.poll()
    assert chunk is not None
    snapshots = [event for event in chunk.events if isinstance(event, WorkerSnapshot)]
    assert {event.worker: len(event.instances) for event in snapshots} == {
        cluster.worker: 2,
        "left:8083": 0,
    }


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>a proxy</html>", "not as Connect's REST does"),
        (200, b"[]", "not as Connect's REST does"),
        (200, b'{"pipe": {"status": {}}}', "not as Connect's REST does"),
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


def test_rest_that_hangs_is_not_waited_for(cluster: Cluster, watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster.port = silent.getsockname()[1]
        with pytest.raises(SourceDownError, match="does not answer in time"):
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


@pytest.mark.parametrize(
    ("two", "why"),
    [
        ({"name": "blue"}, "2 Connect clusters have the name 'blue'"),
        ({"jolokia_url": "http://agent:8778"}, "is the agent of one worker, 2 Connect clusters"),
    ],
)
def test_clusters_that_cannot_be_told_apart_are_refused(two: dict[str, str], why: str) -> None:
    clusters = [{"url": f"http://{host}:8083", **two} for host in ("a", "b")]
    with pytest.raises(ValueError, match=why):
        CollectorSettings.model_validate({"connect": clusters})


def test_clusters_may_share_a_template_and_go_without_a_name() -> None:
    clusters = [{"url": f"http://{host}:8083", "jolokia_url": "http://{host}:8778"} for host in ("a", "b")]
    assert len(CollectorSettings.model_validate({"connect": clusters}).connect) == 2
