"""What a Jolokia agent tells; of a Connect worker: threads of connectors and tasks, and their beans.

Beans are read before and after the threads, in one request: what is there at either time counts as held.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import httpx2

from collector.sources.abandoned import Key, Look
from collector.sources.source import SourceTimeoutError

TASKS: Final = "kafka.connect:type=connector-task-metrics,*"
CONNECTORS: Final = "kafka.connect:type=connector-metrics,*"

_BEANS = tuple({"type": "read", "mbean": pattern, "attribute": "status"} for pattern in (TASKS, CONNECTORS))
_THREADS = {
    "type": "exec",
    "mbean": "java.lang:type=Threading",
    "operation": "dumpAllThreads(boolean,boolean,int)",
    "arguments": [False, False, 0],
}
_REQUEST: Final[Sequence[dict[str, Any]]] = (*_BEANS, _THREADS, *_BEANS)
_THREADS_AT: Final = len(_BEANS)
NOT_FOUND: Final = 404
"""The status of a read whose pattern no bean matches."""

_THREAD = re.compile(
    r"(?:task-thread-(?P<owner>.+)-(?P<task>\d+)|connector-thread-(?P<connector>.+))", re.DOTALL
)
_PROPERTY = re.compile(r'(\w[\w-]*)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)', re.DOTALL)


T = TypeVar("T")


class JolokiaError(Exception):
    """The agent did not tell; the text says why."""


class JolokiaTimeoutError(JolokiaError, SourceTimeoutError):
    """The agent did not tell in time."""


def ask(
    client: httpx2.Client,
    url: str,
    request: Sequence[dict[str, Any]],
    read: Callable[[list[dict[str, Any]]], T],
    whose: str,
) -> T:
    """What ``read`` makes of the answers, one for each part of ``request``.

    Raises:
        JolokiaTimeoutError: it takes too long.
        JolokiaError: it does not tell.
    """
    try:
        response = client.post(f"{url.rstrip('/')}/", json=request)
    except httpx2.TimeoutException:
        raise JolokiaTimeoutError("POST /jolokia", "does not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise JolokiaError("cannot be reached") from None
    try:
        return read([answer for _, answer in zip(request, response.json(), strict=True)])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise JolokiaError(f"answers {response.status_code}, but not as a Jolokia agent {whose}") from None


def look(client: httpx2.Client, url: str) -> Look:
    """One look at the worker behind ``url``. Raises ``JolokiaError``."""
    return ask(client, url, _REQUEST, _look, "of Connect")


def _look(answers: list[dict[str, Any]]) -> Look:
    beans = [answer for place, answer in enumerate(answers) if place != _THREADS_AT]
    threads: dict[Key, frozenset[int]] = {}
    for thread in answers[_THREADS_AT]["value"]:
        if key := thread_key(thread["threadName"]):
            threads[key] = threads.get(key, frozenset()) | {int(thread["threadId"])}
    return Look(threads, dict(pair for answer in beans for pair in _statuses(answer)))


def _statuses(answer: dict[str, Any]) -> Iterator[tuple[Key, str]]:
    if answer["status"] == NOT_FOUND:
        return
    for name, attributes in answer["value"].items():
        properties = bean_properties(name)
        yield Key(properties["connector"], properties.get("task", "")), str(attributes["status"])


def thread_key(name: str) -> Key | None:
    """Whose thread it is by its name, None for any other thread."""
    match = _THREAD.fullmatch(name)
    if match is None:
        return None
    return Key(match["connector"]) if match["connector"] else Key(match["owner"], match["task"])


def bean_properties(name: str) -> dict[str, str]:
    """The properties in a bean's name, unquoted."""
    return {key: _unquoted(value) for key, value in _PROPERTY.findall(name.partition(":")[2])}


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value[1:-1], flags=re.DOTALL)
