"""What a Connect cluster shows of itself: by REST, and by the Jolokia agents of its workers.

REST knows which worker runs what, in what state, the group of a sink, and the configurations. Which agent
belongs to a worker is known by ``jolokia_url``, a template. Without placeholders it is the URL of one agent,
which is right for a cluster of one worker. With several workers its answers would be taken for those of
workers it does not know, so no agent is asked.

``worker_state`` reads threads and the status of beans. Beans are read before and after the threads, in one
request: a bean that exists at either time counts. ``task_beans`` reads errors and progress of tasks;
these beans begin anew with every instance of a task, all at 0, and do not contain when that was.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import httpx2

from collector.sources import jolokia
from collector.sources.findings.configuration import Connector
from collector.sources.jolokia import Answer, Request
from collector.sources.source import SourceDownError, SourceTimeoutError

UNASSIGNED: Final = "UNASSIGNED"
RUNNING: Final = "RUNNING"
GROUP: Final = "consumer.override.group.id"
MAX_CAUSE_CHARS: Final = 300
"""How much is kept of each line of a stack trace."""
_CAUSED_BY: Final = "Caused by: "
_SINK: Final = "sink"
ONE_FOR_SEVERAL: Final = (
    "jolokia_url is the agent of one worker, but the cluster has several: none is asked; "
    "write {host} where the host of a worker's REST belongs"
)
TASKS: Final = "kafka.connect:type=connector-task-metrics,*"
CONNECTORS: Final = "kafka.connect:type=connector-metrics,*"
_STATUSES = tuple(jolokia.reading(pattern, "status") for pattern in (TASKS, CONNECTORS))
_THREADS = {
    "type": "exec",
    "mbean": "java.lang:type=Threading",
    "operation": "dumpAllThreads(boolean,boolean,int)",
    "arguments": [False, False, 0],
}
_THREADS_REQUEST: Final[Request] = (*_STATUSES, _THREADS, *_STATUSES)
_THREADS_AT: Final = len(_STATUSES)
_THREAD = re.compile(
    r"(?:task-thread-(?P<owner>.+)-(?P<task>\d+)|connector-thread-(?P<connector>.+))", re.DOTALL
)
ERRORS: Final[Mapping[str, str]] = {
    "record_failures": "total-record-failures",
    "record_errors": "total-record-errors",
    "records_skipped": "total-records-skipped",
    "retries": "total-retries",
    "errors_logged": "total-errors-logged",
    "dlq_produce_requests": "deadletterqueue-produce-requests",
    "dlq_produce_failures": "deadletterqueue-produce-failures",
    "last_error_at_ms": "last-error-timestamp",
}
"""The bean's name for each counter of errors in ``ConnectTask``; the time is 0 while there was none."""

_SINKS: Final[Mapping[str, str]] = {
    "records": "sink-record-read-total",
    "passed": "sink-record-send-total",
    "held": "sink-record-active-count",
    "turns": "offset-commit-seq-no",
}
_SOURCES: Final[Mapping[str, str]] = {
    "records": "source-record-poll-total",
    "passed": "source-record-write-total",
    "held": "source-record-active-count",
}
_BEANS: Final = (
    ("task-error-metrics", ERRORS),
    ("sink-task-metrics", _SINKS),
    ("source-task-metrics", _SOURCES),
)
_TASKS_REQUEST: Final[Request] = (
    *(jolokia.reading(f"kafka.connect:type={bean},*", [*names.values()]) for bean, names in _BEANS),
    jolokia.START,
)

T = TypeVar("T")


class Key(NamedTuple):
    """A connector (``task`` empty) or one of its tasks."""

    connector: str
    task: str = ""


class InstanceState(NamedTuple):
    """REST's word for the state of an instance; ``trace`` says why it is FAILED."""

    name: str
    trace: str = ""


Workers = dict[str, dict[Key, InstanceState]]
"""The state of each instance, by worker."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task by REST; ``group`` is the consumer group of a sink, "" for a source."""

    worker: str
    state: str
    group: str = ""


def workers(client: httpx2.Client, url: str) -> Workers:
    """Everything the cluster runs. Raises ``SourceDownError``."""
    return _ask(client, url, ("status",), _by_worker)


def connectors(client: httpx2.Client, url: str) -> dict[str, Connector]:
    """The configurations of the cluster's connectors. Raises ``SourceDownError``."""
    return _ask(
        client, url, ("info", "status"), lambda answer: {name: _connector(of) for name, of in answer.items()}
    )


def tasks(client: httpx2.Client, url: str) -> dict[Key, Task]:
    """Every task that has a worker. Raises ``SourceDownError``."""
    return _ask(client, url, ("status", "info"), _tasks)


def _ask(client: httpx2.Client, url: str, expand: tuple[str, ...], read: Callable[[dict[str, Any]], T]) -> T:
    """The result of ``read`` for the answer to ``/connectors`` with ``expand``: an object by connector.

    A connector that is deleted meanwhile has null for its info, while its status is still there.
    """
    try:
        response = client.get(f"{url.rstrip('/')}/connectors", params={"expand": list(expand)})
    except httpx2.TimeoutException:
        raise SourceTimeoutError(
            "GET /connectors", "Connect's REST does not answer in time; is a worker stuck or rebalancing?"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise SourceDownError("Connect's REST cannot be reached; does a worker run there?") from None
    if response.status_code == httpx2.codes.NOT_FOUND:
        raise SourceDownError(
            "Connect's REST answers 404: the worker is still starting, or the URL is not its root"
        )
    if response.is_error:
        raise SourceDownError(f"Connect's REST answers {response.status_code}; see the worker's own log")
    try:
        return read({name: of for name, of in response.json().items() if None not in of.values()})
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise SourceDownError("the URL answers, but not as Connect's REST does; check it") from None


def _by_worker(answer: dict[str, Any]) -> Workers:
    found: Workers = {}
    for name, connector in answer.items():
        status = connector["status"]
        tasks = ((str(task["id"]), task) for task in status["tasks"])
        for task, running in (("", status["connector"]), *tasks):
            worker, state = running["worker_id"], running["state"]
            if not isinstance(worker, str) or not isinstance(state, str):
                raise TypeError
            died_of = cause_of(str(running.get("trace") or ""))
            found.setdefault(worker, {})[Key(name, task)] = InstanceState(state, died_of)
    found.pop("", None)
    return found


def cause_of(trace: str) -> str:
    """The first line of a stack trace, and the cause at its end: what the instance died of."""
    lines = trace.splitlines()
    causes = [line.removeprefix(_CAUSED_BY) for line in lines if line.startswith(_CAUSED_BY)]
    return " … ".join(line.strip()[:MAX_CAUSE_CHARS] for line in (lines[:1] + causes[-1:]))


def _tasks(answer: dict[str, Any]) -> dict[Key, Task]:
    found = {}
    for name, connector in answer.items():
        info = connector["info"]
        group = (info["config"].get(GROUP) or f"connect-{name}") if info.get("type") == _SINK else ""
        for task in connector["status"]["tasks"]:
            if task["worker_id"]:
                key = Key(name, str(task["id"]))
                found[key] = Task(str(task["worker_id"]), str(task["state"]), group)
    return found


def _connector(described: dict[str, Any]) -> Connector:
    info, status = described["info"], described["status"]
    config = {key: str(value or "") for key, value in info["config"].items()}
    idle = status["connector"]["state"] == RUNNING and not status["tasks"]
    return Connector(info.get("type", ""), config, idle)


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker at one moment: the ids of its threads, and the status in each bean."""

    threads: Mapping[Key, frozenset[int]]
    beans: Mapping[Key, str]


def one_for_several(jolokia_url: str, workers: Collection[str]) -> bool:
    """Whether it is unknown which worker's agent this is: only a template gives each one of its own."""
    return bool(jolokia_url) and "{" not in jolokia_url and len(workers) > 1


def url_of(jolokia_url: str, worker: str) -> str:
    """The agent of ``worker``, which is HOST:PORT."""
    host, _, port = worker.rpartition(":")
    return jolokia_url.format(host=host, port=port)


def worker_state(client: httpx2.Client, url: str) -> WorkerState:
    """The threads and beans of the worker behind ``url`` now. Raises ``JolokiaError``."""
    return jolokia.ask(client, url, _THREADS_REQUEST, _worker_state, "of Connect")


def _worker_state(answers: list[Answer]) -> WorkerState:
    statuses = [answer for place, answer in enumerate(answers) if place != _THREADS_AT]
    threads: dict[Key, frozenset[int]] = {}
    for thread in answers[_THREADS_AT]["value"]:
        if key := thread_key(thread["threadName"]):
            threads[key] = threads.get(key, frozenset()) | {int(thread["threadId"])}
    beans = {key: str(values["status"]) for answer in statuses for key, values in _by_key(answer)}
    return WorkerState(threads, beans)


def _by_key(answer: Answer) -> Iterator[tuple[Key, dict[str, Any]]]:
    for properties, values in jolokia.beans(answer):
        yield Key(properties["connector"], properties.get("task", "")), values


def thread_key(name: str) -> Key | None:
    """The connector or task of a thread by its name, None for any other thread."""
    match = _THREAD.fullmatch(name)
    if match is None:
        return None
    return Key(match["connector"]) if match["connector"] else Key(match["owner"], match["task"])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task has come.

    ``records`` were read (from Kafka by a sink, from its system by a source), ``passed`` on to the sink or
    written to Kafka. ``held`` were read and are neither committed by the sink nor written by the source.
    ``turns`` counts the times a sink came to its commits; it does so even when there is nothing to commit.
    """

    records: int
    passed: int
    held: int
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Beans:
    """The beans of a worker that was started at ``started_at_ms``; ``errors`` have names of ``ERRORS``."""

    started_at_ms: int = 0
    errors: Mapping[Key, Mapping[str, Any]] = field(default_factory=dict)
    progress: Mapping[Key, Progress] = field(default_factory=dict)


def task_beans(client: httpx2.Client, url: str) -> Beans:
    """The beans now. Raises ``JolokiaError``."""
    return jolokia.ask(client, url, _TASKS_REQUEST, _beans, "of Connect")


def _beans(answers: list[Answer]) -> Beans:
    errors, sinks, sources, start = answers
    return Beans(
        int(start["value"]),
        dict(_values(errors, ERRORS)),
        {
            key: Progress(**values)
            for answer, attributes in ((sinks, _SINKS), (sources, _SOURCES))
            for key, values in _values(answer, attributes)
        },
    )


def _values(answer: Answer, attributes: Mapping[str, str]) -> Iterator[tuple[Key, dict[str, int]]]:
    """Kafka registers a bean metric by metric: one that has only some of them is read at the next poll."""
    for key, values in _by_key(answer):
        if values.keys() >= set(attributes.values()):
            yield key, {field: int(values[attribute]) for field, attribute in attributes.items()}
