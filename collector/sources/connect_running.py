"""Which tasks a Connect cluster runs, where, in what state, and by which group a sink reads."""

from dataclasses import dataclass
from typing import Final

import httpx2
from pydantic import BaseModel, TypeAdapter

from collector.sources import connect_rest
from collector.sources.abandoned import Key
from collector.sources.connect_rest import Info, Status

GROUP: Final = "consumer.override.group.id"
RUNNING: Final = "RUNNING"
_SINK: Final = "sink"


class Described(BaseModel):
    """One value of ``/connectors?expand=status&expand=info``."""

    status: Status
    info: Info


@dataclass(frozen=True, slots=True)
class Task:
    """A task by REST; ``group`` is the consumer group of a sink, "" for a source."""

    worker: str
    state: str
    group: str = ""


_DESCRIBED = TypeAdapter(dict[str, Described])


def tasks(client: httpx2.Client, url: str) -> dict[Key, Task]:
    """Every task that has a worker. Raises ``SourceDownError``."""
    found = connect_rest.expanded(client, url, ("status", "info"), _DESCRIBED)
    return {
        Key(name, str(task.id)): Task(task.worker_id, task.state, _group(name, connector.info))
        for name, connector in found.items()
        for task in connector.status.tasks
        if task.worker_id
    }


def _group(name: str, info: Info) -> str:
    if info.type != _SINK:
        return ""
    return info.config.get(GROUP) or f"connect-{name}"
