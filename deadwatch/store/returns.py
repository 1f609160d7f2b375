"""How many records of an order, or of a group of dead letters, were sent, came back, and have settled.

The counts are those of streaming: as exact as the events and headers they come from, and as late. A record
counts as settled no earlier than it is: without time buckets of an order, none is settled before the window
of the last record is over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, and_, bindparam, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.orders.guards import Returns
from deadwatch.store.batch import SeriesDelta, delta, grouped
from deadwatch.store.engine import reading
from deadwatch.store.schema import bucketed_series, buckets, redrive_orders, series
from deadwatch.store.series import REDRIVE_GROUPS, REDRIVE_ORDERS, REDRIVES, Series
from deadwatch.store.statements import chunks
from deadwatch.store.storable import storable_keys
from deadwatch.store.write.buckets import TIERS

SENT: Final = "sent"
BOUNCED: Final = "bounced"
NOTHING: Final = Returns(0, 0)

_COUNTED: Final = select(series.c.labels, series.c.value, series.c.last_ms).where(
    series.c.name == bindparam("series"), series.c.labels.in_(bindparam("keys", expanding=True))
)


class Counted(NamedTuple):
    """What a counter has of a key."""

    value: int
    last_ms: int


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
    found = _counters(connection, scope.series, [scope.key(SENT), scope.key(BOUNCED)])
    return Returns(found[scope.key(SENT)].value, found[scope.key(BOUNCED)].value)


def come_back(labels: Mapping[str, str], records: int, first_ms: int, last_ms: int) -> list[SeriesDelta]:
    """What records that came back add to the counters of redrives."""
    bounced = {**labels, "outcome": BOUNCED}
    return [delta(counter, bounced, records, first_ms=first_ms, last_ms=last_ms) for counter in REDRIVES]


def loop(connection: Connection, scope: Scope, settle_window_ms: int, now_ms: int) -> Loop:
    """The counts with the settled records: sent at least a window ago, less those that came back."""
    return loops(connection, scope.series, {scope: settle_window_ms}, now_ms)[scope]


def loops(
    connection: Connection, counter: Series, windows_ms: Mapping[Scope, int], now_ms: int
) -> dict[Scope, Loop]:
    """``loop`` of each of these scopes of a counter, each with its window: a query for all, one a window."""
    keys = {scope: (scope.key(SENT), scope.key(BOUNCED)) for scope in windows_ms}
    found = _counters(connection, counter, chain.from_iterable(keys.values()))
    old = {key: counted.value for key, counted in found.items()}
    from_ms = {keys[scope][0]: now_ms - window_ms for scope, window_ms in windows_ms.items()}
    young = (key for key in from_ms if found[key].last_ms >= from_ms[key])
    for since_ms, sent in grouped(young, from_ms.__getitem__).items():
        old |= _sent_before(connection, counter, sent, since_ms)
    return {
        scope: Loop(found[sent].value, found[back].value, max(0, old[sent] - found[back].value))
        for scope, (sent, back) in keys.items()
    }


class StoredReturns:
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


def _counters(connection: Connection, counter: Series, keys: Iterable[str]) -> dict[str, Counted]:
    """What a counter has of each of these keys."""
    found = dict.fromkeys(keys, Counted(0, 0))
    for asked in chunks(found):
        for key, *counted in connection.execute(_COUNTED, {"series": counter.name, "keys": asked}):
            found[key] = Counted(*counted)
    return found


def _sent_before(
    connection: Connection, counter: Series, keys: Iterable[str], from_ms: int
) -> dict[str, int]:
    """Records of each key sent before ``from_ms``, at most: only whole buckets, without buckets none."""
    numbers = bucketed_series.c
    whole = or_(
        *(
            and_(buckets.c.tier == tier, buckets.c.start_s <= from_ms // 1_000 - width.step_s)
            for tier, width in enumerate(TIERS)
        )
    )
    older = select(numbers.labels, func.sum(buckets.c.value)).join_from(bucketed_series, buckets)
    sent = dict.fromkeys(keys, 0)
    for asked in chunks(sent):
        where = (numbers.name == counter.name, numbers.labels.in_(asked), whole)
        rows = connection.execute(older.where(*where).group_by(numbers.labels))
        sent |= {key: int(value) for key, value in rows}
    return sent
