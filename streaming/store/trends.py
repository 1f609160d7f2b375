"""How the groups of dead letters grew by the hour, over the last day; by the time of their latest record."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select

from streaming.store.batch import GroupDelta
from streaming.store.engine import insert, many, saturated
from streaming.store.schema import group_trends
from streaming.store.storable import counted

HOUR_S: Final = 3_600
HOURS: Final = 24

_OF_GROUP: Final = (
    select(group_trends.c.hour_s, group_trends.c.records)
    .where(
        group_trends.c.fingerprint == bindparam("wanted"), group_trends.c.hour_s >= bindparam("first_hour_s")
    )
    .order_by(group_trends.c.hour_s)
)


def first_hour_s(now_ms: int) -> int:
    """The first hour that is kept."""
    return (now_ms // 1_000 // HOUR_S - HOURS + 1) * HOUR_S


def merge(connection: Connection, groups: Iterable[GroupDelta], now_ms: int) -> None:
    """Add what groups grew by, and forget the hours before the last day."""
    hours: Counter[tuple[str, int]] = Counter()
    for group in groups:
        hour_s = min(group.last_ms, now_ms) // 1_000 // HOUR_S * HOUR_S
        if hour_s >= first_hour_s(now_ms):
            hours[group.fingerprint, hour_s] += group.records
    statement = insert(connection, group_trends)
    many(
        connection,
        statement.on_conflict_do_update(
            index_elements=list(group_trends.primary_key.columns),
            set_={"records": saturated(group_trends.c.records, statement.excluded.records)},
        ),
        [
            {"fingerprint": fingerprint, "hour_s": hour_s, "records": counted(records)}
            for (fingerprint, hour_s), records in sorted(hours.items())
        ],
    )
    if hours:
        connection.execute(delete(group_trends).where(group_trends.c.hour_s < first_hour_s(now_ms)))


def read(connection: Connection, fingerprint: str, now_ms: int) -> list[tuple[int, int]]:
    """Start of the hour in seconds and records, the oldest first; an hour without any is left out."""
    asked = {"wanted": fingerprint, "first_hour_s": first_hour_s(now_ms)}
    return [(hour_s, records) for hour_s, records in connection.execute(_OF_GROUP, asked)]
