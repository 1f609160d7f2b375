"""Records whose attempts are used up: how many, where they lie, and what to do with them."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from api.brokers import QueueRow, parked_rows
from api.console.pages import page
from api.redrives import PARKED
from api.rows import series_rows
from api.service import Serving
from api.times import instant
from collector.contract.topics import PARKED_SUFFIX
from streaming.store.series import REDRIVE_RECORDS

router = APIRouter(prefix="/parked")


@dataclass(frozen=True, slots=True)
class Parked:
    """Of one dead letter topic: ``ever`` were parked, ``queue`` is their topic now, if that is known."""

    dlq_topic: str
    ever: int
    last: datetime | None
    queue: QueueRow | None

    @property
    def topic(self) -> str:
        """Where they lie."""
        return self.dlq_topic + PARKED_SUFFIX

    @property
    def records(self) -> int:
        """How many lie there, as far as it is known."""
        return self.queue.records if self.queue else self.ever

    @property
    def oldest(self) -> datetime | None:
        """When the oldest of them was parked."""
        return instant(self.queue.oldest_at_ms) if self.queue else None


@router.get("")
def parked(request: Request, service: Serving) -> HTMLResponse:
    """By dead letter topic, the most first."""
    with service.store.read() as connection:
        items = _parked(connection)
    return page(request, "parked.html", items=items)


def _parked(connection: Connection) -> list[Parked]:
    counts: Counter[str] = Counter()
    last_ms: dict[str, int] = {}
    for row in series_rows(connection, REDRIVE_RECORDS):
        if row.labels["outcome"] == PARKED:
            topic = row.labels["dlq_topic"]
            counts[topic] += row.value
            last_ms[topic] = max(last_ms.get(topic, 0), row.last_ms)
    queues = {row.dlq_topic: row for row in parked_rows(connection) if row.partitions}
    found = [
        Parked(topic, counts[topic], instant(last_ms.get(topic, 0)), queues.get(topic))
        for topic in {**counts, **queues}
    ]
    return sorted(found, key=lambda one: (-one.records, one.dlq_topic))
