"""The source of Connect's tasks against REST and agents that behave, and that do not."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from collector.contract.events import ConnectTask, ConnectTasksSnapshot
from collector.kafka import KafkaConnection
from collector.settings import ConnectSettings
from collector.sources import agents, jolokia
from collector.sources.connect_tasks import ConnectTasksSource
from collector.sources.source import SourceDownError, SourceTimeoutError
from collector.sources.task_beans import read

NOWHERE = KafkaConnection(bootstrap_servers="127.0.0.1:9")
ERRORS = {
    "total-record-failures": 7.0,
    "total-record-errors": 6.0,
    "total-records-skipped": 5.0,
    "total-retries": 4.0,
    "total-errors-logged": 3.0,
    "deadletterqueue-produce-requests": 2.0,
    "deadletterqueue-produce-failures": 1.0,
    "last-error-timestamp": 1_795_276_294_824,
}
NONE = {"status": 404, "error": "none"}


@dataclass
class Connect:
    """A cluster whose agents answer on the port of REST; one that ``hangs`` does so until it is ``over``."""

    port: int = 0
    workers: list[str] = field(default_factory=list)
    held: float = 0.0
    jolokia_body: bytes = b""
    hangs: bool = False
    over: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rest(self) -> bytes:
        tasks = [
            {"id": number, "state": "RUNNING", "worker_id": name} for number, name in enumerate(self.workers)
        ]
        connector = {"state": "RUNNING", "worker_id": "" if not self.workers else self.workers[0]}
        status = {"connector": connector, "tasks": tasks}
        return json.dumps({"files": {"status": status, "info": {"config": {}, "type": "source"}}}).encode()

    def jolokia(self) -> bytes:
        def beans(kind: str, values: dict[str, float]) -> dict[str, Any]:
            return {"status": 200, "value": {f"kafka.connect:connector=files,task=0,type={kind}": values}}

        moved = {"poll-total": 9.0, "write-total": 9.0 - self.held, "active-count": self.held}
        source = {f"source-record-{name}": value for name, value in moved.items()}
        answers = [
            beans("task-error-metrics", ERRORS),
            NONE,
            beans("source-task-metrics", source),
            {"status": 200, "value": 5},
        ]
        return self.jolokia_body or json.dumps(answers).encode()


@pytest.fixture
def serve() -> Iterator[Callable[[], Connect]]:
    """Clusters of one worker each, which end with the test."""
    servers: list[tuple[Connect, ThreadingHTTPServer, threading.Thread]] = []

    def start() -> Connect:
        connect = Connect()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(connect.rest())

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(connect.jolokia())

            def answer(self, body: bytes) -> None:
                connect.asked.append(self.path)
                if connect.hangs:
                    connect.over.wait()
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        connect.port = server.server_address[1]
        connect.workers = [f"127.0.0.1:{connect.port}"]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((connect, server, thread))
        return connect

    yield start
    for connect, server, thread in servers:
        connect.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Watch:
    """A source, its clock, and what it told last."""

    source: ConnectTasksSource
    now_ms: list[int]

    def told(self, after_ms: int = 0) -> tuple[ConnectTasksSnapshot, str]:
        self.now_ms[0] += after_ms
        chunk = self.source.poll()
        assert chunk is not None
        (event,) = chunk.events
        assert isinstance(event, ConnectTasksSnapshot)
        return event, chunk.trouble


@pytest.fixture
def watch() -> Iterator[Callable[..., Watch]]:
    sources = []

    def make(connect: Connect, **settings: Any) -> Watch:  # noqa: ANN401 - settings are of any type
        given = {"url": connect.url, "jolokia_url": "http://{host}:{port}/jolokia", **settings}
        now_ms = [1_000]
        source = ConnectTasksSource(
            ConnectSettings(**{"request_timeout_ms": 200, **given}),
            NOWHERE,
            saved=None,
            kafka_cluster="c",
            heartbeat_interval_ms=0,
            clock=lambda: now_ms[0],
        )
        sources.append(source)
        return Watch(source, now_ms)

    yield make
    for source in sources:
        source.close()


def test_every_counter_of_the_bean_is_told(serve: Callable[[], Connect], watch: Callable[..., Watch]) -> None:
    connect = serve()
    event, trouble = watch(connect, name="blue").told()
    assert (event.connect_cluster, trouble) == ("blue", "")
    assert event.connect_tasks == (
        ConnectTask(
            worker=connect.workers[0],
            connector="files",
            task="0",
            state="RUNNING",
            counted=True,
            started_at_ms=5,
            records=9,
            record_failures=7,
            record_errors=6,
            records_skipped=5,
            retries=4,
            errors_logged=3,
            dlq_produce_requests=2,
            dlq_produce_failures=1,
            last_error_at_ms=1_795_276_294_824,
            judged=True,
            stalled_since_ms=0,
            stalled_because="",
        ),
    )


def test_a_source_with_unwritten_records_is_stalled_until_they_move(
    serve: Callable[[], Connect], watch: Callable[..., Watch]
) -> None:
    connect = serve()
    connect.held = 4.0
    own = watch(connect, stalled_after_ms=500)
    assert own.told()[0].connect_tasks[0].stalled_since_ms == 0
    assert own.told(after_ms=500)[0].connect_tasks[0].stalled_since_ms == 1_000
    connect.held = 3.0
    assert own.told(after_ms=500)[0].connect_tasks[0].stalled_since_ms == 0


@pytest.mark.parametrize(
    ("body", "why"), [(b"<html>no</html>", "not as a Jolokia agent"), (b"[]", "not as a Jolokia agent")]
)
def test_an_agent_that_does_not_tell_is_said_and_leaves_errors_and_progress_unknown(
    serve: Callable[[], Connect], watch: Callable[..., Watch], body: bytes, why: str
) -> None:
    connect = serve()
    connect.jolokia_body = body
    event, trouble = watch(connect).told()
    assert why in trouble
    (task,) = event.connect_tasks
    assert (task.counted, task.judged, task.record_failures) == (False, False, 0)


def test_without_an_agent_a_source_is_not_judged_and_nothing_is_wrong(
    serve: Callable[[], Connect], watch: Callable[..., Watch]
) -> None:
    event, trouble = watch(serve(), jolokia_url="").told()
    assert trouble == ""
    assert [(task.counted, task.judged) for task in event.connect_tasks] == [(False, False)]


def test_one_agent_for_several_workers_is_refused(
    serve: Callable[[], Connect], watch: Callable[..., Watch]
) -> None:
    connect = serve()
    connect.workers.append("other:8083")
    event, trouble = watch(connect, jolokia_url=connect.url).told()
    assert trouble.startswith(agents.ONE_FOR_SEVERAL)
    assert [task.counted for task in event.connect_tasks] == [False, False]
    assert connect.asked == ["/connectors?expand=status&expand=info"]


def test_rest_that_hangs_is_a_timeout_of_its_call(
    serve: Callable[[], Connect], watch: Callable[..., Watch]
) -> None:
    connect = serve()
    connect.hangs = True
    with pytest.raises(SourceTimeoutError, match="does not answer in time") as raised:
        watch(connect).told()
    assert raised.value.call == "GET /connectors"


def test_an_agent_that_hangs_is_a_timeout_of_its_call(serve: Callable[[], Connect]) -> None:
    connect = serve()
    connect.hangs = True
    with httpx2.Client(timeout=0.2, trust_env=False) as client, pytest.raises(SourceTimeoutError) as raised:
        read(client, connect.url)
    assert isinstance(raised.value, jolokia.JolokiaError)
    assert raised.value.call == "POST /jolokia"


def test_a_cluster_that_hangs_does_not_hold_up_another(
    serve: Callable[[], Connect], watch: Callable[..., Watch]
) -> None:
    stuck, well = serve(), serve()
    stuck.hangs = True
    hanging = watch(stuck, request_timeout_ms=30_000)

    def poll() -> None:
        with pytest.raises(SourceDownError):
            hanging.told()

    polled = threading.Thread(target=poll)
    polled.start()
    assert watch(well).told()[0].connect_cluster == well.url
    assert polled.is_alive()
    stuck.over.set()
    polled.join(10)
