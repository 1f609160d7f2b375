"""What a Connect worker logs about what it abandons (KIP-611), and about tasks that it calls again.

A task's lines speak for themselves. "Completed shutdown" of a connector is also the end of every healthy one:
it is the end of an abandoned one only when no shutdown in time is still due for it. A worker's name,
HOST:PORT as REST knows it, is what it says it advertises; a start is reported once that is known, or when the
worker says that its initialization is over: Log4j 2 drops the first lines of a process while another thread,
an agent's for instance, sets it up.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from collector.sources.logs.dialects.cause import Cause, reported
from deadwatch.contract.events import AbandonedEnded, ConnectorAbandoned, TaskAbandoned, WorkerStarted
from deadwatch.contract.signals.connect_retries import TaskRetriableException

TRIGGERS: Final = (
    "Graceful stop of task ",
    "failed to properly shut down, has become unresponsive, and may be consuming external resources.",
    "After being scheduled for shutdown, the orphan task threw an uncaught exception",
    " shutdown for WorkerConnector{id",
    " worker initializ",
    "Advertised URI: http",
    " failed to poll records from SourceTask. Will retry operation.",
    " RetriableException from SinkTask:",
)

MAX_NAMES: Final = 1_000

_NAME = r"(.{1,1000}?)"
"""Of a connector: a name may have blanks. The bound keeps a line of a million characters from being searched
for minutes.
"""
_TASK_ABANDONED = re.compile(rf"Graceful stop of task {_NAME}-(\d+) failed\.")
_CONNECTOR_ABANDONED = re.compile(
    rf"Connector '{_NAME}' failed to properly shut down, has become unresponsive, and may be consuming"
    r" external resources\."
)
_ORPHAN = re.compile(
    r"\b\w+\{id=([^{}]+)-(\d+)\} After being scheduled for shutdown,"
    r" the orphan task threw an uncaught exception\."
)
_RETRIABLE = re.compile(
    r"\b\w+\{id=([^{}]+)-(\d+)\} (?:failed to poll records from SourceTask\. Will retry operation\."
    r"|RetriableException from SinkTask:)"
)
_SHUTDOWN = re.compile(rf"(Scheduled|Completed) shutdown for WorkerConnector\{{id={_NAME}\}}")
_INITIALIZATION = re.compile(
    r"Kafka Connect (?:distributed |standalone )?worker initializ(?:ing|(ation took) \d+ ?ms)"
)
_ADVERTISED = re.compile(r"Advertised URI: https?://([^/\s]+)/?")


@dataclass(frozen=True, slots=True)
class Worker:
    """What is known of the worker that writes the log.

    ``starting``: it has begun to start, which is not reported yet; ``started``: that is reported, and its
    initialization is not over. ``scheduled`` and ``abandoned`` hold the connectors whose shutdown is due in
    time, or was given up; a name stands as often as it applies.
    """

    name: str = ""
    named_by_setting: bool = False
    starting: bool = False
    started: bool = False
    scheduled: tuple[str, ...] = ()
    abandoned: tuple[str, ...] = ()


def read(line: str, worker: Worker) -> tuple[Worker, list[Cause]]:
    """The worker after the line, and what the line reports."""
    if match := _INITIALIZATION.search(line):
        return _initialized(worker) if match[1] else _started(_starting(worker))
    if match := _ADVERTISED.search(line):
        name = worker.name if worker.named_by_setting else match[1]
        return _started(replace(worker, name=name), named=True)
    if match := _SHUTDOWN.search(line):
        return _shut_down(worker, match[1] == "Scheduled", match[2], match[0])
    if match := _CONNECTOR_ABANDONED.search(line):
        left, given_up = _without(worker.scheduled, match[1]), _with(worker.abandoned, match[1])
        facts = {"worker": worker.name, "connector": match[1], "message": match[0]}
        after = replace(worker, scheduled=left, abandoned=given_up)
        return after, [reported(ConnectorAbandoned, match[1], **facts)]
    return worker, _tasks(line, worker)


def _starting(worker: Worker) -> Worker:
    return replace(worker, scheduled=(), abandoned=(), starting=True, started=False)


def _started(worker: Worker, *, named: bool = False) -> tuple[Worker, list[Cause]]:
    if not worker.starting or not (named or worker.named_by_setting):
        return worker, []
    return replace(worker, starting=False, started=True), [reported(WorkerStarted, worker=worker.name)]


def _initialized(worker: Worker) -> tuple[Worker, list[Cause]]:
    """The end of an initialization, which is a start of its own where nothing before it was logged."""
    after, causes = (worker, []) if worker.started else _started(_starting(worker), named=True)
    return replace(after, started=False), causes


def _tasks(line: str, worker: Worker) -> list[Cause]:
    return [
        reported(
            kind, *match.groups(), worker=worker.name, connector=match[1], task=match[2], message=match[0]
        )
        for kind, pattern in (
            (TaskAbandoned, _TASK_ABANDONED),
            (AbandonedEnded, _ORPHAN),
            (TaskRetriableException, _RETRIABLE),
        )
        for match in pattern.finditer(line)
    ]


def _shut_down(worker: Worker, scheduled: bool, connector: str, message: str) -> tuple[Worker, list[Cause]]:
    if scheduled:
        return replace(worker, scheduled=_with(worker.scheduled, connector)), []
    if connector in worker.scheduled:
        return replace(worker, scheduled=_without(worker.scheduled, connector)), []
    if connector not in worker.abandoned:
        return worker, []
    ended = reported(
        AbandonedEnded, connector, worker=worker.name, connector=connector, task="", message=message
    )
    return replace(worker, abandoned=_without(worker.abandoned, connector)), [ended]


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return (*names, name)[-MAX_NAMES:]


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The names with one occurrence fewer."""
    at = names.index(name) if name in names else len(names)
    return names[:at] + names[at + 1 :]
