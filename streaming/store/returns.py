"""How many records of an order, or of a group of dead letters, were sent, came back, and have settled.

The counts are those of streaming: as exact as the events and headers they come from, and as late. A record
counts as settled no earlier than it is: where the time buckets do not tell an order's growth, none is settled
before the window of the last one is over.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, and_, bindparam, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from streaming.redrive.guards import Returns
from streaming.store.buckets import TIERS
from streaming.store.schema import bucketed_series, buckets, redrive_orders, series
from streaming.store.series import REDRIVE_GROUPS, REDRIVE_ORDERS, Series
from streaming.store.storable import storable_keys

SENT: Final = "sent"
BOUNCED: Final = "bounced"
NOTHING: Final = Returns(0, 0)

_COUNTED: Final = select(series.c.labels, series.c.value).where(
    series.c.name == bindparam("series"), series.c.labels.in_(bindparam("keys", expanding=True))
)


@dataclass(frozen=True, slots=True)
class Loop:
    """Of the records that were sent: how many came back, how many did not within the window."""

    sent: int = 0
    bounced: int = 0
    settled: int = 0

    @property
    def success_rate(self) -> float | None:
        """Settled among those of which it is known; None while it is of none."""
        known = self.settled + self.bounced
        return round(self.settled / known, 4) if known else None


@dataclass(frozen=True, slots=True)
class Of:
    """Whose records are meant: an order's, or those of a group of dead letters on its topic."""

    series: Series
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def order(cls, order: str) -> "Of":
        """Of this order."""
        return cls(REDRIVE_ORDERS, (("order", order),))

    @classmethod
    def group(cls, dlq_topic: str, fingerprint: str) -> "Of":
        """Of this group, whichever order or policy has sent them."""
        return cls(REDRIVE_GROUPS, (("dlq_topic", dlq_topic), ("fingerprint", fingerprint)))

    def key(self, outcome: str) -> str:
        """Of the counter of an outcome."""
        return self.series.key(storable_keys({**dict(self.labels), "outcome": outcome}))


def returns(connection: Connection, of: Of) -> Returns:
    """What was sent and what came back, ever."""
    keys = {outcome: of.key(outcome) for outcome in (SENT, BOUNCED)}
    asked = {"series": of.series.name, "keys": list(keys.values())}
    found = {row.labels: row.value for row in connection.execute(_COUNTED, asked)}
    return Returns(found.get(keys[SENT], 0), found.get(keys[BOUNCED], 0))


def loop(connection: Connection, of: Of, settle_window_ms: int, now_ms: int) -> Loop:
    """With what has settled: sent a window ago or longer, less what came back."""
    counted = returns(connection, of)
    young = _sent_since(connection, of, now_ms - settle_window_ms) if counted.sent else 0
    return Loop(counted.sent, counted.bounced, max(0, counted.sent - young - counted.bounced))


class Watch:
    """For the guard: since the order was resumed last. While the store is away, what it said before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last: tuple[str, Returns] = "", NOTHING

    def __call__(self, order: str) -> Returns:
        """Two rows by their key."""
        try:
            with self._engine.begin() as connection:
                self._last = order, _since_resumed(connection, order)
        except SQLAlchemyError:  # the lease says so soon enough
            pass
        last, counted = self._last
        return counted if last == order else NOTHING


def _since_resumed(connection: Connection, order: str) -> Returns:
    table = redrive_orders.c
    query = select(table.sent_before, table.bounced_before).where(table.id == order)
    before = connection.execute(query).first()
    counted = returns(connection, Of.order(order))
    if before is None:
        return counted
    return Returns(counted.sent - before.sent_before, counted.bounced - before.bounced_before)


def _sent_since(connection: Connection, of: Of, from_ms: int) -> int:
    """No fewer than there were: a bucket counts as a whole, and without buckets everything does."""
    key, name = of.key(SENT), of.series.name
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
