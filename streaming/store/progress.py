"""How far the query has come: its batches, Kafka's offsets, the sources' marks."""

from collections.abc import Iterable

from sqlalchemy import Connection, select, tuple_

from collector.contract.events import Position
from streaming.store.batch import Batch
from streaming.store.engine import chunks, insert, upsert
from streaming.store.schema import batches, marks, offsets


def applied(connection: Connection, query_id: str, batch_id: int) -> bool:
    """Whether the batch, or a later one of its query, is in the store."""
    last = connection.scalar(select(batches.c.batch_id).where(batches.c.query_id == query_id))
    return last is not None and batch_id <= last


def merge(connection: Connection, batch: Batch) -> None:
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
    _advance(connection, batch)


def _advance(connection: Connection, batch: Batch) -> None:
    if not batch.marks:
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
        [{"source": source, **position._asdict()} for source, position in batch.marks.items()],
    )


def read_marks(connection: Connection, names: Iterable[str]) -> dict[str, Position]:
    """The marks of these sources, as far as there are any."""
    return {
        row.source: Position(row.epoch, row.offset, row.ordinal)
        for chunk in chunks(names)
        for row in connection.execute(select(marks).where(marks.c.source.in_(chunk)))
    }


def read_offsets(connection: Connection) -> dict[tuple[str, int], int]:
    """Where reading goes on, for every topic and partition ever read."""
    return {(row.topic, row.partition): row.next_offset for row in connection.execute(select(offsets))}
