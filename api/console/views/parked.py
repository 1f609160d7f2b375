"""Records whose attempts are used up: how many, where they lie, and what to do with them."""

from collections import Counter

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.console.pages import page
from api.redrives import PARKED
from api.rows import series_rows
from api.service import Serving
from api.times import instant
from collector.contract.topics import PARKED_SUFFIX
from streaming.store.series import REDRIVE_RECORDS

router = APIRouter(prefix="/parked")


@router.get("")
def parked(request: Request, service: Serving) -> HTMLResponse:
    """By dead letter topic, the most first."""
    with service.store.read() as connection:
        rows = [row for row in series_rows(connection, REDRIVE_RECORDS) if row.labels["outcome"] == PARKED]
    counts: Counter[str] = Counter()
    last_ms: dict[str, int] = {}
    for row in rows:
        topic = row.labels["dlq_topic"]
        counts[topic] += row.value
        last_ms[topic] = max(last_ms.get(topic, 0), row.last_ms)
    items = [
        {
            "dlq_topic": topic,
            "records": count,
            "topic": topic + PARKED_SUFFIX,
            "last": instant(last_ms[topic]),
        }
        for topic, count in counts.most_common()
    ]
    return page(request, "parked.html", items=items)
