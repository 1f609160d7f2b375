"""How many records of an order, or of a group of dead letters, were sent, came back, and have settled.

The counts are those of streaming: as exact as the events and headers they come from, and as late. A record
counts as settled no earlier than it is: without time buckets of an order, none is settled before the window
of the last record is over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, and_, bindparam, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.orders.guards import Returns
from deadwatch.store.batch import SeriesDelta, delta
from deadwatch.store.engine import reading
from deadwatch.store.schema import bucketed_series, buckets, redrive_orders, series
from deadwatch.store.series import REDRIVE_GROUPS, REDRIVE_ORDERS, REDRIVES, Series
from deadwatch.store.storable import storable_keys
from deadwatch.store.write.buckets import TIERS

SENT: Final = "sent"
BOUNCED: Final = "bounced"
NOTHING: Final = Returns(0, 0)

_COUNTED: Final = select(series.c.labels, series.c.value).where(
    series.c.name == bindparam("series"), series.c.labels.in_(bindparam("keys", expanding=True))
)


@dataclass(frozen=True, slots=True)
class Loop:
    """How many records were sent, came back, and settled: did not come back within the window."""

    sent: int = 0
    bounced: int = 0
    settled: int = 0

    @property
    def success_rate(self) -> float | None:
        """The settled share of the records whose fate is known; None while there are none."""
        known = self.settled + self.bounced
        return round(self.settled / known, 4) if known else None


@dataclass(frozen=True, slots=True)
class Scope:
    """The records to count: those of an order, or of a group of dead letters on its topic."""

    series: Series
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def order(cls, order: str) -> "Scope":
        """The records of an order."""
        return cls(REDRIVE_ORDERS, (("order", order),))

    @classmethod
    def group(cls, dlq_topic: str, fingerprint: str) -> "Scope":
        """The records of a group, whichever order or policy has sent them."""
        return cls(REDRIVE_GROUPS, (("dlq_topic", dlq_topic), ("fingerprint", fingerprint)))

    def key(self, outcome: str) -> str:
        """The key of the counter of an outcome."""
        return self.series.key(storable_keys({**dict(self.labels), "outcome": outcome}))


def returns(connection: Connection, scope: Scope) -> Returns:
    """How many records were sent and came back, over all time."""
    keys = {outcome: scope.key(outcome) for outcome in (SENT, BOUNCED)}
    asked = {"series": scope.series.name, "keys": list(keys.values())}
    found = {row.labels: row.value for row in connection.execute(_COUNTED, asked)}
    return Returns(found.get(keys[SENT], 0), found.get(keys[BOUNCED], 0))


def come_back(labels: Mapping[str, str], records: int, first_ms: int, last_ms: int) -> list[SeriesDelta]:
    """What records that came back add to the counters of redrives."""
    bounced = {**labels, "outcome": BOUNCED}
    return [delta(counter, bounced, records, first_ms=first_ms, last_ms=last_ms) for counter in REDRIVES]


def loop(connection: Connection, scope: Scope, settle_window_ms: int, now_ms: int) -> Loop:
    """The counts with the settled records: sent at least a window ago, less those that came back."""
    counted = returns(connection, scope)
    young = _sent_since(connection, scope, now_ms - settle_window_ms) if counted.sent else 0
    return Loop(counted.sent, counted.bounced, max(0, counted.sent - young - counted.bounced))


class Watch:
    """The returns of an order since it was last resumed, for its guard; the last answer while the store is
    away.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last: tuple[str, Returns] = "", NOTHING

    def __call__(self, order: str) -> Returns:
        """Read two rows by their keys."""
        try:
            with reading(self._engine) as connection:
                self._last = order, _since_resumed(connection, order)
        except SQLAlchemyError:  # renewing the claim reports it soon
            pass
        last, counted = self._last
        return counted if last == order else NOTHING


def _since_resumed(connection: Connection, order: str) -> Returns:
    table = redrive_orders.c
    query = select(table.sent_before, table.bounced_before).where(table.id == order)
    before = connection.execute(query).first()
    counted = returns(connection, Scope.order(order))
    if before is None:
        return counted
    return Returns(counted.sent - before.sent_before, counted.bounced - before.bounced_before)


def _sent_since(connection: Connection, scope: Scope, from_ms: int) -> int:
    """Records sent since ``from_ms``, at least: buckets count as a whole, without buckets all records do."""
    key, name = scope.key(SENT), scope.series.name
    rows = series.c
    query = select(rows.value, rows.last_ms).where(rows.name == name, rows.labels == key)
    total, last_ms = connection.execute(query).one()
    if last_ms < from_ms:
        return 0
    numbers = bucketed_series.c
    number = connection.scalar(select(numbers.id).where(numbers.name == name, numbers.labels == key))
    if number is None:
        return int(total)
    whole = or_(
        *(
            and_(buckets.c.tier == tier, buckets.c.start_s <= from_ms // 1_000 - width.step_s)
            for tier, width in enumerate(TIERS)
        )
    )
    older = select(func.coalesce(func.sum(buckets.c.value), 0)).where(buckets.c.series == number, whole)
    return int(total) - int(connection.scalar(older) or 0)
