"""What Kafka Streams logs about tasks without progress (KIP-572): timeouts, timers, and threads that die.

The exception of a timeout goes from the state updater's thread to the stream thread to the client. Each
of them logs it, up to some hundred milliseconds apart, at INFO or ERROR, and the text repeats itself
within an entry.

A timer of ``task.timeout.ms`` starts with the first call that times out and ends when the task makes
progress. Only at DEBUG does Streams log that itself. At INFO a start is known from the line of the failed
call, and an end from what else happens to the task, its thread or its client. A line that names no task
is about one of its thread's. Every message about timers stands behind Streams' own prefix:
``stream-thread [NAME] task [0_1] message``.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from collector.sources.logs.dialects.cause import Cause, reported
from deadwatch.contract.events import (
    Event,
    StreamThreadDied,
    TaskCorrupted,
    TaskTimeout,
    TaskTimerEnded,
    TaskTimerStarted,
)

TRIGGERS: Final = (
    "did not make progress ",
    "Retrying is disabled. You can enable it by setting `task.timeout.ms` to a value larger than zero.",
)
GLOBAL_TASK: Final = "global"
SAME_HIT_WITHIN_MS: Final = 10_000

_TASK = re.compile(
    r"(?:Task (?P<task>\S+) did not make progress|Global task did not make progress to restore state)"
    r" within (?P<elapsed>\d{1,18}) ms\. Adjust `task\.timeout\.ms` if needed\.",
    re.ASCII,
)
_NO_RETRY = re.compile(
    r"Retrying is disabled\. You can enable it by setting `task\.timeout\.ms` to a value larger than zero\."
)
_PREFIX = re.compile(r"(?:stream-thread|stream-client|state-updater) \[([^\]\s]+)\]")
_UUID = r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_THREAD_SUFFIX = r"-(?:StreamThread-\d+|StateUpdater-\d+|GlobalStreamThread)"
_BARE = re.compile(rf"[A-Za-z0-9._-]+?{_UUID}{_THREAD_SUFFIX}", re.ASCII)

MESSAGES: Final = re.compile(
    rb"\] (?:Committing task\(s\) |Could not (?:complete (?:processing|restoration) "
    rb"|get partitions for topic |fetch all end offsets |retrieve the committed offsets |reset offset for )"
    rb"|Encountered (?:timeout exception\. Reattempting |the following exception during processing "
    rb"|org\.apache\.kafka\.common\.)"
    rb"|Timeout exception caught trying to initialize transactions"
    rb"|Failed to get (?:offsets for partitions|partitions for topic|position for partition) "
    rb"|Task did not make progress\. |Clearing task timeout\.|Detected the states of tasks "
    rb"|Hit TimeoutException when committing all non-corrupted |Replacing thread in the streams uncaught "
    rb"|Exception in global thread caused the application |Shutdown complete"
    rb"|State transition from PARTITIONS_ASSIGNED to RUNNING"
    rb"|Unable to serialize record, continue processing\. )"
)
"""Where a line may be one that ``read``, ``read_timers`` or ``stream_drops.read`` knows; looks at no byte
twice, however long the line.
"""

UNKNOWN_MS: Final = -1
_SPEAKER = re.compile(
    r"(?:stream-thread|stream-client|state-updater) \[(?P<thread>[^\]\s]+)\] "
    r"(?:(?:stream-|standby-)?task \[(?P<task>[^\]\s]+)\] )?"
)
_STARTS: Final = (
    ("process", r"Could not complete processing records for (?P<tasks>\S+) due to the following exception;"),
    ("commit", r"Committing task\(s\) (?P<tasks>\S+(?:, \S+)*) failed\."),
    ("restore", r"Could not complete restoration for (?P<tasks>\S+) due to the following exception;"),
    ("init", r"Encountered timeout exception\. Reattempting initialization in the next iteration\."),
    ("committed_offsets", r"Encountered .* while trying to fetch committed offsets, will retry "),
    ("init_transactions", r"Timeout exception caught trying to initialize transactions\."),
    ("partitions_for", r"Could not get partitions for topic \S+, will retry"),
    ("restore", r"Could not fetch all end offsets for .*, will retry in the next run loop"),
    ("restore", r"Could not retrieve the committed offsets for .*, will retry in the next run loop"),
    ("offset_reset", r"Could not reset offset for .* due to the following exception; will retry\."),
    (
        "global",
        r"Failed to get (?:offsets for partitions|partitions for topic|position for partition) .*\. "
        r"The broker may be transiently unavailable at the moment\.",
    ),
    ("", r"Task did not make progress\. Remaining time to deadline (?P<remaining>\d{1,18}); retrying\."),
)
_ENDS: Final = (
    ("progress", r"Clearing task timeout\."),
    ("revived", r"Hit TimeoutException when committing all non-corrupted tasks, these will be closed and "),
    ("running", r"State transition from PARTITIONS_ASSIGNED to RUNNING"),
    ("closed", r"Shutdown complete"),
)
_CORRUPTED = re.compile(r"Detected the states of tasks [\[{](?P<tasks>.*)[\]}] are corrupted\. Will close ")
_TASK_ID = re.compile(r"(?:^|, )((?:[\w.-]+__)?\d+_\d+)(?==|,|$)")
_DEATHS: Final = (
    ("REPLACE_THREAD", r"Replacing thread in the streams uncaught exception handler"),
    ("SHUTDOWN_APPLICATION", r"Encountered the following exception .* for the entire application"),
    ("SHUTDOWN_APPLICATION", r"Exception in global thread caused the application to attempt to "),
    ("SHUTDOWN_CLIENT", r"Encountered the following exception .* client is going to shut down now"),
)
_STARTED, _ENDED, _DIED = (
    tuple((what, re.compile(pattern, re.ASCII)) for what, pattern in table)
    for table in (_STARTS, _ENDS, _DEATHS)
)


def read(line: str, header: str) -> Iterator[Cause]:
    """The task timeouts that the line mentions; ``header`` is the first line of its entry."""
    client = client_of_thread(thread_of(header))
    for match in _TASK.finditer(line):
        task = match["task"] or GLOBAL_TASK
        yield _timeout(client, task, match["elapsed"], match[0])
    for match in _NO_RETRY.finditer(line):
        yield _timeout(client, GLOBAL_TASK, "0", match[0])


def thread_of(header: str) -> str:
    """The Streams thread or client that wrote the entry, such as ``app-<uuid>-StreamThread-1``, or ""."""
    if match := _PREFIX.search(header):
        return match[1]
    bare = _BARE.search(header)
    return bare[0] if bare else ""


def client_of_thread(thread: str) -> str:
    """The Streams client that a thread belongs to, such as ``app-<uuid>``."""
    return re.sub(rf"{_THREAD_SUFFIX}$", "", thread)


def application_of(client: str) -> str:
    """The ``application.id`` of a client that was not given an id of its own."""
    return re.sub(f"{_UUID}$", "", client)


def _of_thread(kind: type[Event], thread: str, *identity: str, **facts: str | int) -> Cause:
    """An event of the ``thread``, its client and their application."""
    client = client_of_thread(thread)
    of_thread = {"application": application_of(client), "streams_client": client, "thread": thread}
    return reported(kind, thread, *identity, **of_thread, **facts)


def _timeout(client: str, task: str, elapsed_ms: str, message: str) -> Cause:
    facts = {"application": application_of(client), "task": task, "message": message}
    hit = reported(TaskTimeout, client, task, elapsed_ms, elapsed_ms=int(elapsed_ms), **facts)
    return replace(hit, also=(TaskTimeout.kind, "", task, elapsed_ms), window_ms=SAME_HIT_WITHIN_MS)


def read_timers(line: str) -> Iterator[Cause]:
    """What the line says of timers and threads."""
    speaker = _SPEAKER.search(line)
    if speaker is None:
        return
    message, thread, task = line[speaker.end() :], speaker["thread"], speaker["task"] or ""
    yield from _started(message, thread, task)
    for reason, pattern in _ENDED:
        if pattern.match(message):
            yield _end(thread, task, reason, line[speaker.start() :])
    if match := _CORRUPTED.match(message):
        for corrupted in _TASK_ID.findall(match["tasks"]):
            yield _of_thread(TaskCorrupted, thread, corrupted, task=corrupted, message=match[0])
            yield _end(thread, corrupted, "corrupted", match[0])
    for decision, pattern in _DIED:
        if pattern.match(message):
            yield from _died(thread, decision, message)


def _end(thread: str, task: str, reason: str, message: str) -> Cause:
    """The end of a task's timer, or of all of the ``thread`` when no task is named."""
    return _of_thread(TaskTimerEnded, thread, task, reason, task=task, reason=reason, message=message)


def _started(message: str, thread: str, task: str) -> Iterator[Cause]:
    for call, pattern in _STARTED:
        match = pattern.match(message)
        if match is None:
            continue
        named = match.groupdict()
        remaining_ms = int(named.get("remaining") or UNKNOWN_MS)
        tasks = named.get("tasks") or task or (GLOBAL_TASK if call == "global" else "")
        facts: dict[str, str | int] = {"call": call, "remaining_ms": remaining_ms, "message": match[0]}
        for started in tasks.split(", "):
            yield _of_thread(TaskTimerStarted, thread, started, call, task=started, **facts)


def _died(thread: str, decision: str, message: str) -> Iterator[Cause]:
    yield _of_thread(StreamThreadDied, thread, decision, decision=decision, message=message)
    if decision == "SHUTDOWN_CLIENT":
        yield _end(thread, "", "closed", message)
