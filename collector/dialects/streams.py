"""What Kafka Streams logs about tasks that make no progress (KIP-572).

The same exception goes from the state updater's thread to the stream thread to the client, and each of them
logs it, up to some hundred milliseconds apart, at INFO or ERROR; in an entry the text repeats itself.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from collector.contract.events import Event, TaskTimeout
from collector.dialects.cause import Cause

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


def read(line: str, header: str) -> Iterator[Cause]:
    """The task timeouts that the line mentions; ``header`` is the first line of its entry."""
    client = client_of_thread(thread_of(header))
    for match in _TASK.finditer(line):
        task = match["task"] or GLOBAL_TASK
        yield _timeout(client, task, match["elapsed"], match[0])
    for match in _NO_RETRY.finditer(line):
        yield _timeout(client, GLOBAL_TASK, "0", match[0])


def thread_of(header: str) -> str:
    """The Streams thread or client that wrote the entry, such as ``app-<uuid>-StreamThread-1``; "" for
    none.
    """
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


def spoken(kind: Callable[..., Event], thread: str, **facts: str | int) -> Callable[..., Event]:
    """An event of the ``thread``, its client and their application."""
    client = client_of_thread(thread)
    return partial(kind, application=application_of(client), streams_client=client, thread=thread, **facts)


def _timeout(client: str, task: str, elapsed_ms: str, message: str) -> Cause:
    application = application_of(client)
    return Cause(
        partial(TaskTimeout, application=application, task=task, elapsed_ms=int(elapsed_ms), message=message),
        identity=(TaskTimeout.kind, client, task, elapsed_ms),
        also=(TaskTimeout.kind, "", task, elapsed_ms),
        window_ms=SAME_HIT_WITHIN_MS,
    )
