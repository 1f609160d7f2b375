"""What producers gave up after ``delivery.timeout.ms``."""

from collections.abc import Iterable

from fastapi import APIRouter

from api import cursor
from api.rows import SeriesRow, series_rows
from api.schemas import DeliveryTimeout, DeliveryTimeouts
from api.service import Paging, Serving
from api.times import instant
from streaming.store.series import DELIVERY_TIMEOUT_BATCHES, DELIVERY_TIMEOUT_RECORDS

router = APIRouter(tags=["delivery timeouts"])

Labels = tuple[str, ...]


@router.get("/delivery-timeouts")
def delivery_timeouts(service: Serving, query: Paging) -> DeliveryTimeouts:
    """Expired batches and records by topic and client, the latest first."""
    with service.store.read() as connection:
        batches = _by_labels(series_rows(connection, DELIVERY_TIMEOUT_BATCHES))
        records = _by_labels(series_rows(connection, DELIVERY_TIMEOUT_RECORDS))
    rows, following = cursor.page(
        {**records, **batches}.items(),
        lambda item: (-item[1].last_ms, *item[0]),
        query.after,
        query.limit,
        numbers=1,
        names=len(DELIVERY_TIMEOUT_BATCHES.labels),
    )
    items = [_item(row, _value(batches.get(key)), _value(records.get(key))) for key, row in rows]
    return DeliveryTimeouts(items=items, next=following)


def _by_labels(rows: Iterable[SeriesRow]) -> dict[Labels, SeriesRow]:
    return {tuple(row.labels[name] for name in DELIVERY_TIMEOUT_BATCHES.labels): row for row in rows}


def _value(row: SeriesRow | None) -> int:
    return 0 if row is None else row.value


def _item(row: SeriesRow, batches: int, records: int) -> DeliveryTimeout:
    return DeliveryTimeout(
        kafka_cluster=row.labels["kafka_cluster"],
        topic=row.labels["topic"],
        client_id=row.labels["client_id"],
        client=row.labels["client"],
        batches=batches,
        records=records,
        elapsed_ms=row.fact("elapsed_ms", int),
        message=row.fact("message", str) or "",
        first_seen=instant(row.first_ms),
        last_seen=instant(row.last_ms),
    )
