"""The source of Connect's tasks against REST and agents that behave, and that do not."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
import pytest

from collector.publish.publisher import MAX_EVENT_BYTES
from collector.settings import ConnectSettings
from collector.sources.connect import interfaces
from collector.sources.connect.tasks import ConnectTasksSource
from collector.sources.source import Publishing, SourceTimeoutError
from deadwatch.contract.events import ConnectTasksSnapshot, encode
from deadwatch.runtime.kafka import KafkaConnection
from tests.tables import named
from tests.unit.collector.sources.connect.conftest import Cluster

AGENT = "http://{host}:{port}/jolokia"
NOWHERE = KafkaConnection(bootstrap_servers="127.0.0.1:9")
ERRORS: dict[str, tuple[str, Any]] = {
    "total-record-failures": ("record_failures", 7),
    "total-record-errors": ("record_errors", 6),
    "total-records-skipped": ("records_skipped", 5),
    "total-retries": ("retries", 4),
    "total-errors-logged": ("errors_logged", 3),
    "deadletterqueue-produce-requests": ("dlq_produce_requests", 2),
    "deadletterqueue-produce-failures": ("dlq_produce_failures", 1),
    "last-error-timestamp": ("last_error_at_ms", 1_795_276_294_824),
}
"""The field and the value of each attribute of the bean."""


def bean(kind: str, values: Mapping[str, float]) -> dict[str, object]:
    """What the agent reads of this kind of beans."""
    return {f"kafka.connect:type={kind},*": {f"kafka.connect:connector=files,task=0,type={kind}": values}}


def moved(held: float) -> dict[str, object]:
    """A task that has polled records, of which it holds some."""
    values = {"poll-total": 9.0, "write-total": 9.0 - held, "active-count": held}
    return bean("source-task-metrics", {f"source-record-{name}": value for name, value in values.items()})


@pytest.fixture
def connect(cluster: Cluster) -> Cluster:
    errors = {name: float(value) for name, (_, value) in ERRORS.items()}
    cluster.connectors = {"files": ["0"]}
    cluster.beans = {"java.lang:type=Runtime": 5, **bean("task-error-metrics", errors), **moved(0)}
    return cluster


@dataclass
class Watch:
    """A source, its clock, and what it published last."""

    source: ConnectTasksSource
    now_ms: list[int]

    def snapshot(self, after_ms: int = 0) -> tuple[ConnectTasksSnapshot, str]:
        self.now_ms[0] += after_ms
        chunk = self.source.poll()
        assert chunk is not None
        (event,) = chunk.events
        assert isinstance(event, ConnectTasksSnapshot)
        return event, chunk.trouble


Make = Callable[..., Watch]


@pytest.fixture
def watch() -> Iterator[Make]:
    sources = []

    def make(connect: Cluster, **settings: Any) -> Watch:  # noqa: ANN401 - settings are of any type
        now_ms = [1_000]
        defaults = {"url": connect.url, "jolokia_url": AGENT, "request_timeout_ms": 20_000}
        publishing = Publishing(lambda _: None, "c", 0, lambda: now_ms[0])
        source = ConnectTasksSource(ConnectSettings(**{**defaults, **settings}), NOWHERE, publishing)
        sources.append(source)
        return Watch(source, now_ms)

    yield make
    for source in sources:
        source.close()


def test_every_counter_of_the_bean_is_published(connect: Cluster, watch: Make) -> None:
    event, trouble = watch(connect, name="blue").snapshot()
    assert (event.connect_cluster, trouble) == ("blue", "")
    (task,) = event.connect_tasks
    assert asdict(task) == {
        "worker": connect.workers[0],
        "connector": "files",
        "task": "0",
        "state": "RUNNING",
        "counted": True,
        "started_at_ms": 5,
        "records": 9,
        **dict(ERRORS.values()),
        "judged": True,
        "stalled_since_ms": 0,
        "stalled_because": "",
    }


def test_a_source_with_unwritten_records_is_stalled_until_they_move(connect: Cluster, watch: Make) -> None:
    connect.beans |= moved(held=4)
    own = watch(connect, stalled_after_ms=500)
    assert own.snapshot()[0].connect_tasks[0].stalled_since_ms == 0
    assert own.snapshot(after_ms=500)[0].connect_tasks[0].stalled_since_ms == 1_000
    connect.beans |= moved(held=3)
    assert own.snapshot(after_ms=500)[0].connect_tasks[0].stalled_since_ms == 0


@pytest.mark.parametrize(
    ("ask", "found"), [(interfaces.tasks, [("files", "0")]), (interfaces.connectors, ["files"])]
)
def test_a_connector_that_is_deleted_while_connect_describes_it_is_left_out(
    connect: Cluster, ask: Callable[[httpx2.Client, str], dict[object, object]], found: list[object]
) -> None:
    running = {"state": "RUNNING", "worker_id": connect.worker}
    status = {"connector": running, "tasks": [{"id": 0, **running}]}
    infos = {"files": {"config": {}, "type": "source"}, "gone": None}
    connect.body = json.dumps(
        {name: {"info": info, "status": status} for name, info in infos.items()}
    ).encode()
    with httpx2.Client() as client:
        assert list(ask(client, connect.url)) == found


def test_of_more_tasks_than_a_record_takes_the_first_are_published(connect: Cluster, watch: Make) -> None:
    connect.connectors = {f"{number:0500}": ["0"] for number in range(1_500)}
    event, trouble = watch(connect, jolokia_url="").snapshot()
    assert "more tasks than one event holds" in trouble
    assert event.connect_tasks[0].connector == "0" * 500
    assert MAX_EVENT_BYTES * 0.9 < len(encode(event)[1]) <= MAX_EVENT_BYTES


SILENT = [
    ("an agent that answers HTML", AGENT, b"<html>no</html>", "not as a Jolokia agent"),
    ("one that answers too little", AGENT, b"[]", "not as a Jolokia agent"),
    ("no agent", "", b"", ""),
]


@pytest.mark.parametrize(("jolokia_url", "body", "told"), named(SILENT))
def test_without_an_agent_that_answers_errors_and_progress_are_unknown(
    connect: Cluster, watch: Make, jolokia_url: str, body: bytes, told: str
) -> None:
    connect.jolokia_body = body
    event, trouble = watch(connect, jolokia_url=jolokia_url).snapshot()
    assert (told in trouble, bool(trouble)) == (True, bool(told))
    (task,) = event.connect_tasks
    assert (task.counted, task.judged, task.record_failures) == (False, False, 0)


def test_a_bean_that_is_being_registered_is_read_when_it_is_whole(connect: Cluster, watch: Make) -> None:
    whole, some = connect.beans, {name: 1.0 for name in ERRORS if name != "total-retries"}
    connect.beans = whole | bean("task-error-metrics", some)
    own = watch(connect)
    event, trouble = own.snapshot()
    assert (trouble, [(task.counted, task.judged) for task in event.connect_tasks]) == ("", [(False, True)])
    connect.beans = whole
    assert [task.counted for task in own.snapshot(after_ms=1_000)[0].connect_tasks] == [True]


def test_one_agent_for_several_workers_is_refused(connect: Cluster, watch: Make) -> None:
    connect.workers.append("other:8083")
    connect.connectors = {"files": ["0", "1"]}
    event, trouble = watch(connect, jolokia_url=connect.url).snapshot()
    assert trouble.startswith(interfaces.ONE_FOR_SEVERAL)
    assert [task.counted for task in event.connect_tasks] == [False, False]
    assert connect.asked == ["/connectors?expand=status&expand=info"]


def test_rest_that_hangs_is_a_timeout_of_its_call(connect: Cluster, watch: Make) -> None:
    connect.hangs = True
    with pytest.raises(SourceTimeoutError, match="does not answer in time") as raised:
        watch(connect, request_timeout_ms=200).snapshot()
    assert raised.value.call == "GET /connectors"
