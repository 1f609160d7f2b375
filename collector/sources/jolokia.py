"""Requests to Jolokia agents, which give access to the beans of a JVM over HTTP."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import httpx2

_NOT_FOUND: Final = 404
"""The status of a read whose pattern no bean matches."""

_PROPERTY = re.compile(r'(\w[\w-]*)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

T = TypeVar("T")
Answer = dict[str, Any]
Request = Sequence[dict[str, Any]]


class JolokiaError(Exception):
    """The agent gave no usable answer; the text says why."""


class JolokiaTimeoutError(JolokiaError):
    """The agent did not answer in time."""


def reading(mbean: str, attribute: str | list[str]) -> dict[str, Any]:
    """The part of a request that reads attributes of the beans that match a pattern."""
    return {"type": "read", "mbean": mbean, "attribute": attribute}


START: Final = reading("java.lang:type=Runtime", "StartTime")


def ask(
    client: httpx2.Client, url: str, request: Request, read: Callable[[list[Answer]], T], whose: str
) -> T:
    """The result of ``read`` for the answers, one for each part of ``request``; ``whose`` names the agent.

    Raises:
        JolokiaTimeoutError: the agent does not answer in time.
        JolokiaError: it cannot be reached, or does not answer as an agent.
    """
    try:
        response = client.post(f"{url.rstrip('/')}/", json=request)
    except httpx2.TimeoutException:
        raise JolokiaTimeoutError("does not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise JolokiaError("cannot be reached") from None
    try:
        return read([answer for _, answer in zip(request, response.json(), strict=True)])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise JolokiaError(f"answers {response.status_code}, but not as a Jolokia agent {whose}") from None


def value_of(answer: Answer) -> Any:  # noqa: ANN401 - whatever the attribute is
    """What a read has found: {} where no bean matches."""
    return {} if answer["status"] == _NOT_FOUND else answer["value"]


def beans(answer: Answer) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """The properties in the name of each bean that matches, and the attributes that were read."""
    for name, attributes in value_of(answer).items():
        yield bean_properties(name), attributes


def bean_properties(name: str) -> dict[str, str]:
    """The properties in a bean's name, unquoted."""
    return {
        key: _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], value[1:-1])
        if value.startswith('"')
        else value
        for key, value in _PROPERTY.findall(name.partition(":")[2])
    }
