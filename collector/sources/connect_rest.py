"""What a Connect cluster's REST tells: which worker runs what, in what state, and where dead letters go."""

from typing import Final, TypeVar

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from collector.sources.abandoned import Key
from collector.sources.findings_picture import Connector
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

    type: str = ""
    config: dict[str, str | None]


class ExpandedInfo(BaseModel):
    """One value of ``/connectors?expand=info``."""

    info: Info


T = TypeVar("T")

_STATUSES = TypeAdapter(dict[str, Expanded])
_INFOS = TypeAdapter(dict[str, ExpandedInfo])


def workers(client: httpx2.Client, url: str) -> Workers:
    """Everything the cluster runs. Raises ``SourceDownError``."""
    return _by_worker(expanded(client, url, ("status",), _STATUSES))


def connectors(client: httpx2.Client, url: str) -> dict[str, Connector]:
    """The configurations of the cluster's connectors. Raises ``SourceDownError``."""
    return {
        name: Connector(one.info.type, {key: value or "" for key, value in one.info.config.items()})
        for name, one in expanded(client, url, ("info",), _INFOS).items()
    }


def expanded(
    client: httpx2.Client, url: str, expand: tuple[str, ...], answer: TypeAdapter[dict[str, T]]
) -> dict[str, T]:
    """What ``/connectors`` says of each, expanded by these. Raises ``SourceDownError``."""
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
