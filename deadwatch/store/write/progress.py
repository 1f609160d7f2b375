"""How far streaming has come: its batches, Kafka's offsets, the marks of sources, the ids of topics; and the
figures of its own work, the latest one for every name and subject.

A topic that was made anew under its old name has another id: it is another topic.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, delete, false, func, or_, select, tuple_, update

from deadwatch.contract.events import Position
from deadwatch.contract.events.redrive import REDRIVE_SOURCE
from deadwatch.contract.events.self_report import LOG_FILE, STATUS
from deadwatch.store.batch import Batch, Offsets, Place, SeriesDelta, delta
from deadwatch.store.errors import OffsetsMovedError
from deadwatch.store.schema import (
    batches,
    marks,
    offsets,
    read_topics,
    redrive_handled,
    redrive_orders,
    sources,
    stream_figures,
)
from deadwatch.store.series import CLUSTER, RECORDS_MISSED, RECORDS_READ
from deadwatch.store.statements import New, Values, insert, many, merging, rows_with, upsert
from deadwatch.store.storable import clamped, storable_key
from deadwatch.store.write import handled
from deadwatch.store.write.states import RowLimits

EVENTS: Final = "deadwatch-events"
DEAD_LETTERS: Final = "deadwatch-dead-letters"
STREAMS: Final = (EVENTS, DEAD_LETTERS)
"""The names of the queries, under which the last batch of each is noted; rows with other names belong to
backfills and to queries of earlier versions.
"""

BEHIND: Final = "behind_records"
"""Records of a topic that were not read yet at the last look."""
BEHIND_FOR: Final = "behind_for_ms"
"""How long ago a stream had last read all that was there, at the last look; without one it is not known."""
LOOKED_AT: Final = "looked_at_ms"
"""When the last look was, in ms since the epoch; its subject is empty."""
PHASE: Final = "phase_ms"
"""How long a phase of the last batch took, by Spark's name for it."""
RATE: Final = "records_per_second"
"""The throughput of the last batch with records; its subject is empty."""

MAX_SUBJECTS: Final = 1_000
"""The subjects of one name; beyond, the lesser figures are left out."""

Figures = Mapping[str, Mapping[str, int]]


def move(connection: Connection, begins: Offsets, ends: Offsets) -> bool:
    """Advance the offsets from ``begins`` to ``ends``; returns false where that was done before.

    Raises ``OffsetsMovedError``: the store is not at ``begins``.
    """
    stored = _by_place(rows_with(connection, offsets.c.topic, {topic for topic, _ in ends}))
    moved = {place: end for place, end in ends.items() if begins.get(place) != end}
    if moved and moved.items() <= stored.items():
        return False
    for place in ends:
        if stored.get(place) != begins.get(place):
            raise OffsetsMovedError(*place, begins.get(place), stored.get(place))
    rows = [
        {"topic": topic, "partition": number, "next_offset": end} for (topic, number), end in moved.items()
    ]
    upsert(connection, offsets, rows)
    return True


def merge(connection: Connection, batch: Batch, limits: RowLimits) -> None:
    """Note the batch, and the marks of its sources."""
    last = connection.execute(select(batches).where(batches.c.query_id == batch.stream)).first()
    figures = {name: getattr(batch, name) for name in ("committed_at_ms", "duration_ms", "records", "lag_ms")}
    if last is not None and not batch.records:  # nothing was read that has an age
        figures["lag_ms"] = last.lag_ms
    number = 0 if last is None else last.batch_id + 1
    upsert(connection, batches, [{"query_id": batch.stream, "batch_id": number, **figures}])
    positions = [{"source": storable_key(name), **mark._asdict()} for name, mark in batch.marks.items()]
    rows = limits.fitting(connection, marks, positions, _forget)
    if rows:
        connection.execute(merging(connection, marks, _mark, _is_further), rows)


def read_records(batch: Batch) -> list[SeriesDelta]:
    """The count of the records of a batch."""
    now_ms = batch.committed_at_ms
    return [delta(RECORDS_READ, {}, batch.records, first_ms=now_ms, last_ms=now_ms)] if batch.records else []


def _forget(connection: Connection) -> None:
    """Delete the marks of log files that nobody reads any more, and of orders that are over."""
    known = select(sources.c.name), select(sources.c.name + STATUS)
    of_files = marks.c.source.startswith(LOG_FILE)
    connection.execute(delete(marks).where(of_files, *(marks.c.source.not_in(names) for names in known)))
    going = select(redrive_orders.c.id).where(redrive_orders.c.finished_at_ms == 0)
    of_going = [marks.c.source.startswith(f"{REDRIVE_SOURCE}{one}") for one in connection.scalars(going)]
    of_orders = marks.c.source.startswith(REDRIVE_SOURCE)
    connection.execute(delete(marks).where(of_orders, ~or_(false(), *of_going)))


def _mark(new: New) -> Values:
    return {name: new[name] for name in Position._fields}


def _is_further(new: New) -> ColumnElement[bool]:
    return tuple_(*_mark(marks.c).values()) < tuple_(*_mark(new).values())


def read_marks(connection: Connection, names: Iterable[str]) -> dict[str, Position]:
    """The marks of these sources; a source without one is left out."""
    keys = {name: storable_key(name) for name in names}
    found = {
        row.source: Position(row.epoch, row.offset, row.ordinal)
        for row in rows_with(connection, marks.c.source, set(keys.values()))
    }
    return {name: found[key] for name, key in keys.items() if key in found}


def read_last_commit(connection: Connection) -> int:
    """When the newest batch was merged, in ms since the epoch; 0 before the first one."""
    return connection.scalar(select(func.max(batches.c.committed_at_ms))) or 0


def read_offsets(connection: Connection) -> dict[Place, int]:
    """The offsets at which reading continues, for every topic and partition ever read."""
    return _by_place(connection.execute(select(offsets)))


def _by_place(rows: Iterable[Row[Any]]) -> dict[Place, int]:
    return {(row.topic, row.partition): row.next_offset for row in rows}


@dataclass(frozen=True, slots=True)
class Ended:
    """A topic that was deleted, made anew under its name, or has lost its last records.

    ``unread`` is how many of its records nobody has read, as far as that is known. ``reached`` is where its
    partitions end now; it is empty where another topic has the name now. ``written`` is where those end that
    have lost records, with what open transactions have written: what was behind it is no more.
    """

    topic: str
    reason: str
    unread: int
    reached: Mapping[int, int] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)

    def missed(self, kafka_cluster: str, now_ms: int) -> SeriesDelta:
        """The count of the records that were not read."""
        labels = {CLUSTER: kafka_cluster, "topic": self.topic, "reason": self.reason}
        return delta(RECORDS_MISSED, labels, self.unread, first_ms=now_ms, last_ms=now_ms)


def note_topic_ids(connection: Connection, ids: Mapping[str, str]) -> None:
    """Note Kafka's ids of topics."""
    upsert(connection, read_topics, [{"topic": topic, "topic_id": one} for topic, one in ids.items()])


def read_topic_ids(connection: Connection) -> dict[str, str]:
    """Kafka's id of every topic ever read, by its name."""
    return {row.topic: row.topic_id for row in connection.execute(select(read_topics))}


def end_topics(connection: Connection, ended: Iterable[Ended]) -> list[Ended]:
    """Delete the offsets of topics whose names others have, and advance those of topics that lost records.

    Returns the topics for which that had not been done before.
    """
    return [
        one for one in ended if (_passed(connection, one) if one.reached else _forgotten(connection, one))
    ]


def _forgotten(connection: Connection, one: Ended) -> bool:
    known = redrive_handled.c  # where topics have ids, the new one's tells it apart
    connection.execute(delete(redrive_handled).where(known.dlq_topic == one.topic, known.dlq_topic_id == ""))
    connection.execute(delete(read_topics).where(read_topics.c.topic == one.topic))
    return connection.execute(delete(offsets).where(offsets.c.topic == one.topic)).rowcount > 0


def _passed(connection: Connection, one: Ended) -> bool:
    passed = 0
    for partition, end in one.reached.items():
        here = (offsets.c.topic == one.topic, offsets.c.partition == partition, offsets.c.next_offset != end)
        passed += connection.execute(update(offsets).where(*here).values(next_offset=end)).rowcount
    if passed:
        handled.forget_from(connection, one.topic, one.written)
    return passed > 0


def replace_figures(connection: Connection, figures: Figures) -> None:
    """Replace the figures of these names."""
    rows = [
        {"name": name, "subject": storable_key(subject), "value": clamped(value)}
        for name, values in figures.items()
        for subject, value in nlargest(MAX_SUBJECTS, values.items(), key=lambda one: one[1])
    ]
    connection.execute(delete(stream_figures).where(stream_figures.c.name.in_(list(figures))))
    many(connection, insert(connection, stream_figures), rows)


def read_figures(connection: Connection) -> dict[str, dict[str, int]]:
    """Every figure by its name and subject."""
    figures: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(stream_figures).order_by("name", "subject")):
        figures.setdefault(row.name, {})[row.subject] = row.value
    return figures
