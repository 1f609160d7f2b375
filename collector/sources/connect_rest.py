"""What a Connect cluster's REST tells: which worker runs what, in what state, and where dead letters go."""

from typing import Final, TypeVar

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from collector.sources.abandoned import Key
from collector.sources.kafka_topics import DLQ, Named
from collector.sources.source import SourceDownError, SourceTimeoutError

UNASSIGNED: Final = "UNASSIGNED"


class Running(BaseModel):
    """The connector itself."""

    state: str
    worker_id: str


class RunningTask(Running):
    """A task of it."""

    id: int


class Status(BaseModel):
    """``/connectors/{name}/status``."""

    connector: Running
    tasks: list[RunningTask]


class Expanded(BaseModel):
    """One value of ``/connectors?expand=status``."""

    status: Status


Workers = dict[str, dict[Key, str]]
"""The state of each instance, by worker."""


class Info(BaseModel):
    """``/connectors/{name}``."""

    config: dict[str, str | None]


class ExpandedInfo(BaseModel):
    """One value of ``/connectors?expand=info``."""

    info: Info


T = TypeVar("T")

_STATUSES = TypeAdapter(dict[str, Expanded])
_INFOS = TypeAdapter(dict[str, ExpandedInfo])


def workers(client: httpx2.Client, url: str) -> Workers:
    """Everything the cluster runs. Raises ``SourceDownError``."""
    return _by_worker(_connectors(client, url, "status", _STATUSES))


def named_by_connectors(client: httpx2.Client, url: str) -> Named:
    """The dead letter queues of the cluster's connectors (KIP-298). Raises ``SourceDownError``."""
    named: Named = {}
    for name, connector in _connectors(client, url, "info", _INFOS).items():
        if topic := connector.info.config.get(DLQ):
            named.setdefault(topic, []).append(f"connector {name}")
    return named


def _connectors(
    client: httpx2.Client, url: str, expand: str, answer: TypeAdapter[dict[str, T]]
) -> dict[str, T]:
    try:
        response = client.get(f"{url.rstrip('/')}/connectors", params={"expand": expand})
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
        return answer.validate_json(response.content)
    except ValidationError:
        raise SourceDownError("the URL answers, but not as Connect's REST does; check it") from None


def _by_worker(answer: dict[str, Expanded]) -> Workers:
    found: Workers = {}
    for name, connector in answer.items():
        of_it = connector.status
        found.setdefault(of_it.connector.worker_id, {})[Key(name)] = of_it.connector.state
        for task in of_it.tasks:
            found.setdefault(task.worker_id, {})[Key(name, str(task.id))] = task.state
    found.pop("", None)
    return found
