"""How far the query has come: its batches, Kafka's offsets, the sources' marks."""

from collections.abc import Iterable

from sqlalchemy import Connection, func, select, tuple_

from collector.contract.events import Position
from streaming.store.batch import Batch, SeriesDelta, delta
from streaming.store.caps import Caps
from streaming.store.engine import chunks, insert, upsert
from streaming.store.schema import batches, marks, offsets
from streaming.store.series import RECORDS_READ
from streaming.store.storable import storable_key


def applied(connection: Connection, query_id: str, batch_id: int) -> bool:
    """Whether the batch, or a later one of its query, is in the store."""
    last = connection.scalar(select(batches.c.batch_id).where(batches.c.query_id == query_id))
    return last is not None and batch_id <= last


def merge(connection: Connection, batch: Batch, caps: Caps) -> None:
    """Note the batch, where reading goes on and what has been counted of every source."""
    names = [column.name for column in batches.c]
    upsert(connection, batches, [{name: getattr(batch, name) for name in names}])
    upsert(
        connection,
        offsets,
        [
            {"topic": topic, "partition": partition, "next_offset": offset}
            for (topic, partition), offset in batch.offsets.items()
        ],
    )
    _advance(connection, batch, caps)


def read_records(batch: Batch) -> list[SeriesDelta]:
    """The count of the records that a batch had."""
    now_ms = batch.committed_at_ms
    return [delta(RECORDS_READ, {}, batch.records, first_ms=now_ms, last_ms=now_ms)] if batch.records else []


def _advance(connection: Connection, batch: Batch, caps: Caps) -> None:
    told = [{"source": storable_key(name), **mark._asdict()} for name, mark in batch.marks.items()]
    rows = caps.fitting(connection, marks, told)
    if not rows:
        return
    statement = insert(connection, marks)
    parts = Position._fields
    forward = tuple_(*(marks.c[name] for name in parts)) < tuple_(
        *(statement.excluded[name] for name in parts)
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[marks.c.source],
            set_={name: statement.excluded[name] for name in parts},
            where=forward,
        ),
        rows,
    )


def read_marks(connection: Connection, names: Iterable[str]) -> dict[str, Position]:
    """The marks of these sources, as far as there are any."""
    keys = {name: storable_key(name) for name in names}
    found = {
        row.source: Position(row.epoch, row.offset, row.ordinal)
        for chunk in chunks(set(keys.values()))
        for row in connection.execute(select(marks).where(marks.c.source.in_(chunk)))
    }
    return {name: found[key] for name, key in keys.items() if key in found}


def read_batches(connection: Connection) -> dict[str, int]:
    """The last batch of every query."""
    return {row.query_id: row.batch_id for row in connection.execute(select(batches))}


def read_last_commit(connection: Connection) -> int:
    """When the newest batch of any query was merged; 0 before the first."""
    return connection.scalar(select(func.max(batches.c.committed_at_ms))) or 0


def read_offsets(connection: Connection) -> dict[tuple[str, int], int]:
    """Where reading goes on, for every topic and partition ever read."""
    return {(row.topic, row.partition): row.next_offset for row in connection.execute(select(offsets))}
