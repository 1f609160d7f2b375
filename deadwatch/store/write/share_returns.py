"""Share groups' dead letters that are returns: their records lie where a redrive has written.

Of two ranges with a common offset the newer one counts: the topic was made anew. A topic may be read ahead of
the events with the ranges. So origins that lie in no range yet are kept while a range may still come, and
each counts once: with its own batch or with that of its range.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, select

from deadwatch.contract.events import Event, RedriveWritten
from deadwatch.orders.selection import Run, common, rest, runs
from deadwatch.store.batch import Origins, SeriesDelta, grouped
from deadwatch.store.returns import come_back
from deadwatch.store.schema import redrive_orders, redrive_written, share_returns
from deadwatch.store.series import CLUSTER
from deadwatch.store.statements import New, Values, delete_keys, many, merging, rows_with
from deadwatch.store.storable import storable_key
from deadwatch.store.write.orders import ACTIVE
from deadwatch.store.write.states import RowLimits

RANGES_KEPT_MS: Final = 7 * 86_400_000
ORIGINS_KEPT_MS: Final = 3_600_000
RANGE_KEY, ORIGIN_KEY = 4, 6
"""The lengths of the primary keys, which come first in a row."""
FIRST: Final = attrgetter("first_offset")
MARKER: Final = 1
"""Between the records of two transactions of one producer lies at least the commit marker of the first."""

TargetPartition = tuple[str, str, int]
"""A Kafka cluster, a target topic and its partition."""


class Written(NamedTuple):
    """A row of ``redrive_written``: a range, the order that wrote it, and when it was written last."""

    kafka_cluster: str
    target_topic: str
    partition: int
    first_offset: int
    end_offset: int
    order_id: str
    written_at_ms: int

    @property
    def target(self) -> TargetPartition:
        """Where the range was written."""
        return self[:3]


class Origin(NamedTuple):
    """Offsets on a target partition of records that became dead letters of a cause: ``share_returns``."""

    kafka_cluster: str
    dlq_topic: str
    fingerprint: str
    source_topic: str
    partition: int
    first_offset: int
    end_offset: int

    @property
    def target(self) -> TargetPartition:
        """Where a redrive may have written them."""
        return self.kafka_cluster, self.source_topic, self.partition


def _run(one: Written | Origin) -> Run:
    """The offsets of the range."""
    return one.first_offset, one.end_offset


Returned = Counter[tuple[str, str, str, str, str]]
"""How many records came back, by the values of ``LABELS``."""
LABELS: Final = (CLUSTER, "dlq_topic", "target_topic", "fingerprint", "order")


def awaited(connection: Connection) -> bool:
    """Whether a redrive has written lately, or may write soon."""
    column = redrive_orders.c
    active = select(column.id).where(column.status.in_(ACTIVE), column.dry_run.is_(False)).limit(1)
    queries = (select(redrive_written.c.first_offset).limit(1), active)
    return any(connection.execute(query).first() is not None for query in queries)


def merge(
    connection: Connection,
    origins: Sequence[Origins],
    events: Sequence[Event],
    limits: RowLimits,
    now_ms: int,
) -> list[SeriesDelta]:
    """Add the ranges of a batch, and count what came back."""
    written = [one for one in events if isinstance(one, RedriveWritten)]
    topics = {storable_key(one.target_topic) for one in written}
    if written:
        _merge_ranges(connection, topics, written, limits, now_ms)
    kept = rows_with(connection, share_returns.c.source_topic, topics)
    waiting = [Origin._make(row[: len(Origin._fields)]) for row in kept]  # of topics that have new ranges
    new = [one for each in origins for one in _origins(each)]
    if not waiting and not new:
        return []
    sources = {one.source_topic for one in (*waiting, *new)}
    returned, left = _matched([*waiting, *new], _written(connection, sources))
    _keep(connection, waiting, left, limits, now_ms)
    return [
        one
        for key, count in returned.items()
        for one in come_back(dict(zip(LABELS, key, strict=True)), count, now_ms, now_ms)
    ]


def _merge_ranges(
    connection: Connection,
    topics: Collection[str],
    events: Iterable[RedriveWritten],
    limits: RowLimits,
    now_ms: int,
) -> None:
    """Add the ranges of events of these topics; a range that continues one of its order is joined with it."""
    connection.execute(
        delete(redrive_written).where(redrive_written.c.written_at_ms < now_ms - RANGES_KEPT_MS)
    )
    before = _written(connection, topics)
    known, partitions = set(before), _by_partition(before)
    ranges = (each for event in events for each in _ranges(event))
    for one in sorted(ranges, key=lambda one: (one.written_at_ms, _run(one))):
        _add(partitions.setdefault(one.target, []), one)
    after = {one[:RANGE_KEY]: one for found in partitions.values() for one in found}
    delete_keys(connection, redrive_written, {one[:RANGE_KEY] for one in before} - after.keys())
    changed = [one._asdict() for one in after.values() if one not in known]
    limits.upsert(connection, redrive_written, changed)


def _by_partition(ranges: Iterable[Written]) -> dict[TargetPartition, list[Written]]:
    """The ranges of each partition, sorted; they never overlap."""
    return grouped(sorted(ranges), lambda one: one.target)


def _written(connection: Connection, topics: Iterable[str]) -> list[Written]:
    """All ranges of these topics."""
    return [Written._make(row) for row in rows_with(connection, redrive_written.c.target_topic, topics)]


def _overlapping(target: Sequence[Written], run: Run) -> Sequence[Written]:
    """The ranges of a partition that may hold an offset of the run, and at most one before them."""
    begin = max(bisect_left(target, run[0], key=FIRST) - 1, 0)
    return target[begin : bisect_left(target, run[1], key=FIRST)]


def _add(target: list[Written], new: Written) -> None:
    """Add a range: it replaces parts of older ones, and extends the one that it continues."""
    first = new.first_offset
    near = _overlapping(target, _run(new))
    kept: list[Written] = []
    for old in near:
        if old.order_id == new.order_id and first - MARKER <= old.end_offset <= first:
            first = old.first_offset
        else:
            kept += [
                old._replace(first_offset=left[0], end_offset=left[1])
                for left in rest(_run(old), [_run(new)])
            ]
    begin = target.index(near[0]) if near else bisect_left(target, first, key=FIRST)
    target[begin : begin + len(near)] = sorted([*kept, new._replace(first_offset=first)])


def _ranges(event: RedriveWritten) -> Iterable[Written]:
    for one in event.written:
        if 0 <= one.first < one.end:
            target = (event.kafka_cluster, event.target_topic, one.partition)
            yield Written(*target, one.first, one.end, event.order, event.happened_at_ms)


def _matched(origins: Iterable[Origin], written: Iterable[Written]) -> tuple[Returned, list[Origin]]:
    """How many of the origins lie in ranges, and the origins that lie in none."""
    partitions, returned, left = _by_partition(written), Returned(), list[Origin]()
    for origin in dict.fromkeys(origins):
        taken: list[Run] = []
        for one in _overlapping(partitions.get(origin.target, []), _run(origin)):
            parts = list(common(_run(origin), [_run(one)]))
            taken += parts
            count = sum(end - first for first, end in parts)
            if count:
                cause = (origin.kafka_cluster, origin.dlq_topic, origin.source_topic, origin.fingerprint)
                returned[*cause, one.order_id] += count
        left += [
            origin._replace(first_offset=first, end_offset=end) for first, end in rest(_run(origin), taken)
        ]
    return returned, left


def _origins(one: Origins) -> Iterable[Origin]:
    names = (one.kafka_cluster, one.dlq_topic, one.fingerprint, one.source_topic)
    cluster, dlq_topic, fingerprint, topic = map(storable_key, names)
    return (
        Origin(cluster, dlq_topic, fingerprint, topic, one.source_partition, first, end)
        for first, end in runs(offset for offset in one.offsets if offset >= 0)
    )


def _keep(
    connection: Connection, waiting: Sequence[Origin], left: Sequence[Origin], limits: RowLimits, now_ms: int
) -> None:
    connection.execute(delete(share_returns).where(share_returns.c.read_at_ms < now_ms - ORIGINS_KEPT_MS))
    known = {one[:ORIGIN_KEY]: one for one in waiting}
    after = {one[:ORIGIN_KEY]: one for one in left}
    delete_keys(connection, share_returns, known.keys() - after.keys())
    rows = [{**one._asdict(), "read_at_ms": now_ms} for key, one in after.items() if known.get(key) != one]
    longer = merging(connection, share_returns, _end)
    many(connection, longer, limits.fitting(connection, share_returns, rows))


def _end(new: New) -> Values:
    return {"end_offset": new.end_offset}
