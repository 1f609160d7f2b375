"""Share groups' dead letters that are returns: their records lie where a redrive has written.

A topic may be read ahead of the events that tell the ranges. So origins that lie in none yet are kept for
``KEPT_MS`` while a redrive may still tell, and each counts once: with its own batch or its range's.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, select

from collector.contract.events import Event, RedriveWritten
from streaming.store.batch import Origins, SeriesDelta, delta
from streaming.store.caps import Caps
from streaming.store.engine import chunks, insert
from streaming.store.offset_runs import Run, common, rest, runs
from streaming.store.order_rows import ACTIVE
from streaming.store.schema import redrive_orders
from streaming.store.schema import share_returns as table
from streaming.store.series import CLUSTER, REDRIVE_GROUPS, REDRIVE_ORDERS, REDRIVE_RECORDS
from streaming.store.storable import storable_key
from streaming.store.written import Lane, Written, any_kept, by_lane, of_topics, overlapping

KEPT_MS: Final = 3_600_000
BOUNCED: Final = "bounced"


class Queue(NamedTuple):
    """The dead letters of one cause on one topic."""

    dlq_topic: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records were that came to a queue."""

    queue: Queue
    lane: Lane
    run: Run


Returned = Counter[tuple[Queue, Lane, str]]
"""How many came to a queue, from a partition, of an order."""


def awaited(connection: Connection) -> bool:
    """Whether a redrive has written lately, or may be about to."""
    column = redrive_orders.c
    active = select(column.id).where(column.status.in_(ACTIVE), column.dry_run.is_(False)).limit(1)
    return any_kept(connection) or connection.execute(active).first() is not None


def merge(
    connection: Connection, told: Sequence[Origins], events: Sequence[Event], caps: Caps, now_ms: int
) -> list[SeriesDelta]:
    """Count what came back; ``events`` of the batch have been merged before."""
    ranges = {storable_key(one.target_topic) for one in events if isinstance(one, RedriveWritten)}
    waiting = _waiting(connection, ranges)
    new = [one for each in told for one in _origins(each)]
    if not waiting and not new:
        return []
    topics = {one.lane.topic for one in (*waiting, *new)}
    returned, left = matched([*waiting, *new], of_topics(connection, topics))
    _keep(connection, waiting, left, caps, now_ms)
    return [one for key, count in returned.items() for one in _bounced(*key, count, now_ms)]


def matched(origins: Iterable[Origin], written: Iterable[Written]) -> tuple[Returned, list[Origin]]:
    """How many of the origins lie in ranges, and the origins that do not."""
    lanes, returned, left = by_lane(written), Returned(), list[Origin]()
    for origin in dict.fromkeys(origins):
        taken: list[Run] = []
        for one in overlapping(lanes.get(origin.lane, []), origin.run):
            parts = list(common(origin.run, [one.run]))
            taken += parts
            count = sum(end - first for first, end in parts)
            if count:
                returned[origin.queue, origin.lane, one.order] += count
        left += [replace(origin, run=run) for run in rest(origin.run, taken)]
    return returned, left


def _origins(one: Origins) -> Iterable[Origin]:
    queue = Queue(storable_key(one.dlq_topic), storable_key(one.fingerprint))
    lane = Lane(storable_key(one.kafka_cluster), storable_key(one.source_topic), one.source_partition)
    return (Origin(queue, lane, run) for run in runs(offset for offset in one.offsets if offset >= 0))


def _waiting(connection: Connection, topics: Iterable[str]) -> list[Origin]:
    """Those that were kept, of topics that have new ranges."""
    return [
        Origin(
            Queue(row.dlq_topic, row.fingerprint),
            Lane(row.kafka_cluster, row.source_topic, row.partition),
            (row.first_offset, row.end_offset),
        )
        for chunk in chunks(topics)
        for row in connection.execute(select(table).where(table.c.source_topic.in_(chunk)))
    ]


def _keep(
    connection: Connection, waiting: Sequence[Origin], left: Sequence[Origin], caps: Caps, now_ms: int
) -> None:
    connection.execute(delete(table).where(table.c.read_at_ms < now_ms - KEPT_MS))
    known = {_key(one): one for one in waiting}
    after = {_key(one): one for one in left}
    for queue, lane, first in known.keys() - after.keys():
        where = [table.c[name] == value for name, value in zip(KEY, (*queue, *lane, first), strict=True)]
        connection.execute(delete(table).where(*where))
    rows = [_row(one, now_ms) for key, one in after.items() if known.get(key) != one]
    fitting = caps.fitting(connection, table, rows)
    if fitting:
        statement = insert(connection, table)
        new = {"end_offset": statement.excluded.end_offset}
        connection.execute(
            statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=new), fitting
        )


KEY: Final = ("dlq_topic", "fingerprint", "kafka_cluster", "source_topic", "partition", "first_offset")


def _key(one: Origin) -> tuple[Queue, Lane, int]:
    return one.queue, one.lane, one.run[0]


def _row(one: Origin, now_ms: int) -> dict[str, str | int]:
    values = (*one.queue, *one.lane, one.run[0])
    return {**dict(zip(KEY, values, strict=True)), "end_offset": one.run[1], "read_at_ms": now_ms}


def _bounced(queue: Queue, lane: Lane, order: str, count: int, now_ms: int) -> Iterable[SeriesDelta]:
    labels = {
        CLUSTER: lane.kafka_cluster,
        "dlq_topic": queue.dlq_topic,
        "target_topic": lane.topic,
        "order": order,
        "fingerprint": queue.fingerprint,
        "outcome": BOUNCED,
    }
    for series in (REDRIVE_RECORDS, REDRIVE_ORDERS, REDRIVE_GROUPS):
        yield delta(series, labels, count, first_ms=now_ms, last_ms=now_ms)
