"""What Kafka Streams logs about the timers of ``task.timeout.ms`` and about threads that die (KIP-572).

A timer starts with the first call that times out and ends when the task makes progress. Only at DEBUG does
Streams say that by itself; at INFO a start is known from the line of the failed call, and an end from what
else happens to the task, its thread or its client. A line that names no task is about one of its thread's.

Every message stands behind Streams' own prefix: ``stream-thread [NAME] task [0_1] message``.
"""

import re
from collections.abc import Iterator
from typing import Final

from collector.contract.events import StreamThreadDied, TaskCorrupted, TaskTimerEnded, TaskTimerStarted
from collector.dialects.cause import Cause
from collector.dialects.streams import GLOBAL_TASK, spoken

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
    rb"|State transition from PARTITIONS_ASSIGNED to RUNNING)"
)
"""Where a line may be one of those that ``read`` knows; looks at no byte twice, however long the line."""

NOT_SAID: Final = -1
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
_STARTED = tuple((call, re.compile(pattern, re.ASCII)) for call, pattern in _STARTS)
_ENDED = tuple((reason, re.compile(pattern)) for reason, pattern in _ENDS)
_CORRUPTED = re.compile(r"Detected the states of tasks [\[{](?P<tasks>.*)[\]}] are corrupted\. Will close ")
_TASK_ID = re.compile(r"(?:^|, )((?:[\w.-]+__)?\d+_\d+)(?==|,|$)")
_DEATHS: Final = (
    ("REPLACE_THREAD", re.compile(r"Replacing thread in the streams uncaught exception handler")),
    (
        "SHUTDOWN_APPLICATION",
        re.compile(r"Encountered the following exception .* for the entire application"),
    ),
    ("SHUTDOWN_APPLICATION", re.compile(r"Exception in global thread caused the application to attempt to ")),
    (
        "SHUTDOWN_CLIENT",
        re.compile(r"Encountered the following exception .* client is going to shut down now"),
    ),
)


def read(line: str) -> Iterator[Cause]:
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
            yield from _corrupted(thread, corrupted, match[0])
    for decision, pattern in _DEATHS:
        if pattern.match(message):
            yield from _died(thread, decision, message)


def _end(thread: str, task: str, reason: str, message: str) -> Cause:
    """The end of a task's timer, or of all of the ``thread`` when no task is named."""
    event = spoken(TaskTimerEnded, thread, task=task, reason=reason, message=message)
    return Cause(event, identity=(TaskTimerEnded.kind, thread, task, reason))


def _started(message: str, thread: str, task: str) -> Iterator[Cause]:
    for call, pattern in _STARTED:
        match = pattern.match(message)
        if match is None:
            continue
        named = match.groupdict()
        remaining_ms = int(named.get("remaining") or NOT_SAID)
        tasks = named.get("tasks") or task or (GLOBAL_TASK if call == "global" else "")
        for one in tasks.split(", "):
            event = spoken(
                TaskTimerStarted, thread, task=one, call=call, remaining_ms=remaining_ms, message=match[0]
            )
            yield Cause(event, identity=(TaskTimerStarted.kind, thread, one, call))


def _corrupted(thread: str, task: str, message: str) -> Iterator[Cause]:
    event = spoken(TaskCorrupted, thread, task=task, message=message)
    yield Cause(event, identity=(TaskCorrupted.kind, thread, task))
    yield _end(thread, task, "corrupted", message)


def _died(thread: str, decision: str, message: str) -> Iterator[Cause]:
    event = spoken(StreamThreadDied, thread, decision=decision, message=message)
    yield Cause(event, identity=(StreamThreadDied.kind, thread, decision))
    if decision == "SHUTDOWN_CLIENT":
        yield _end(thread, "", "closed", message)
