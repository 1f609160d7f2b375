"""Which dead letters redrives have moved or parked, by the topic's id: an order leaves these out.

Rows grow by ``RedriveHandled`` events, in the batch's own transaction. Blocks that retention has deleted, and
all of a topic that was deleted, go with the next batch that has such events; what a partition has lost of its
end goes when that is noticed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, select

from deadwatch.contract.events import Event, RedriveHandled
from deadwatch.orders.handled import BLOCK, REASONS, Block, Handled, below, blocks, united
from deadwatch.orders.order import Order
from deadwatch.orders.selection import Run
from deadwatch.store.batch import Present
from deadwatch.store.engine import reading
from deadwatch.store.schema import offsets, redrive_orders
from deadwatch.store.schema import redrive_ends as noted_ends
from deadwatch.store.schema import redrive_handled as table
from deadwatch.store.statements import New, Values, greatest, merging, rows_with, upsert
from deadwatch.store.write.orders import refuse_active
from deadwatch.store.write.states import RowLimits

MOST: Final = 1 << 20
"""The offsets of one range at most: no transaction holds more records, so a longer range is invalid."""

Topic = tuple[str, str]
"""Name and id."""


def merge(
    connection: Connection, events: Sequence[Event], present: Mapping[str, Present], limits: RowLimits
) -> None:
    """Add what a batch reports; delete what Kafka has no more of the topics in ``present``."""
    handled: dict[Topic, dict[Block, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if isinstance(event, RedriveHandled) and event.outcome in REASONS:
            for block, run in _parts(event):
                handled[event.dlq_topic, event.dlq_topic_id][block].append(run)
    for topic, runs in handled.items():
        numbers = {block.number for block in runs}
        before = _blocks(connection, topic, {block.partition for block in runs}, table.c.block.in_(numbers))
        rows = [_row(topic, block, united(before.get(block), found)) for block, found in runs.items()]
        limits.upsert(connection, table, rows)
    for name, one in present.items():
        _forget(connection, name, one)


def unite(source: Connection, target: Connection) -> None:
    """Add what another store knows."""
    partition_key = (table.c.dlq_topic, table.c.dlq_topic_id, table.c.partition)
    rows = source.execute(select(table).order_by(*partition_key))
    for (name, topic_id, partition), found in groupby(rows, key=lambda row: row[:3]):
        new = {Block(partition, row.block, row.outcome): row.offsets for row in found}
        old = _blocks(target, (name, topic_id), {partition})
        both = [_row((name, topic_id), block, united(old.get(block), other=new[block])) for block in new]
        upsert(target, table, both)


def forget_from(connection: Connection, name: str, ends: Mapping[int, int]) -> None:
    """Forget the records of these partitions from their ends on: who has their offsets from now on is new."""
    for partition, end in ends.items():
        mine = (table.c.dlq_topic == name, table.c.partition == partition)
        connection.execute(delete(table).where(*mine, table.c.block * BLOCK >= end))
        cut = connection.execute(select(table).where(*mine, table.c.block == end // BLOCK)).all()
        rows = [{**row._asdict(), "offsets": below(row.offsets, end % BLOCK)} for row in cut]
        upsert(connection, table, rows)


def topics(connection: Connection) -> set[str]:
    """Dead letter topics of which anything is known."""
    return set(connection.scalars(select(table.c.dlq_topic).distinct()))


class HandledBook:
    """What earlier orders have done, for making an order and for working on it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begun(self, topic: str) -> bool:
        """Whether any order may have moved records of the topic."""
        orders = redrive_orders.c
        worked = (orders.dlq_topic == topic, orders.dry_run.is_(False), orders.epoch > 0)
        queries: tuple[Select[str], ...] = (
            select(orders.id).where(*worked).limit(1),
            select(table.c.dlq_topic).where(table.c.dlq_topic == topic).limit(1),
        )
        with reading(self._engine) as connection:
            return any(connection.execute(query).first() is not None for query in queries)

    def refuse_active(self, order: Order, key: str) -> None:
        """Refuse an order while one of another key is active on its records: raises as ``refuse_overlap``."""
        with reading(self._engine) as connection:
            refuse_active(connection, order, key=key)

    def reached(self, topic: str) -> dict[int, int]:
        """How far streaming has read a topic, by partition."""
        query = select(offsets.c.partition, offsets.c.next_offset).where(offsets.c.topic == topic)
        with reading(self._engine) as connection:
            return {row.partition: row.next_offset for row in connection.execute(query)}

    def ends(self, topic: str) -> dict[int, int]:
        """How far streaming must read our events to know everything that orders of this topic have done.

        End offsets by partition of the events; empty when that is not known.
        """
        query = select(noted_ends.c.partition, noted_ends.c.end_offset).where(noted_ends.c.dlq_topic == topic)
        with reading(self._engine) as connection:
            return {row.partition: row.end_offset for row in connection.execute(query)}

    def note_ends(self, topic: str, ends: Mapping[int, int]) -> None:
        """Note ``ends`` before an order of the topic is released; empty ``ends`` delete what was noted."""
        rows = [{"dlq_topic": topic, "partition": one, "end_offset": end} for one, end in ends.items()]
        with self._engine.begin() as connection:
            if not rows:
                connection.execute(delete(noted_ends).where(noted_ends.c.dlq_topic == topic))
                return
            connection.execute(merging(connection, noted_ends, _later), rows)

    def handled(self, topic: str, topic_id: str, partitions: Collection[int]) -> Handled:
        """Which records of these partitions were moved or parked."""
        with reading(self._engine) as connection:
            return Handled(_blocks(connection, (topic, topic_id), partitions))


def _later(new: New) -> Values:
    return {"end_offset": greatest(noted_ends.c.end_offset, new.end_offset)}


def _parts(event: RedriveHandled) -> Iterable[tuple[Block, Run]]:
    for one in event.handled:
        if one.partition >= 0 and 0 <= one.first < one.end <= one.first + MOST:
            yield from blocks(one.partition, (one.first, one.end), event.outcome)


def _blocks(
    connection: Connection, topic: Topic, partitions: Collection[int], *among: ColumnElement[bool]
) -> dict[Block, bytes]:
    mine = (table.c.dlq_topic == topic[0], table.c.dlq_topic_id == topic[1], *among)
    return {
        Block(row.partition, row.block, row.outcome): row.offsets
        for row in rows_with(connection, table.c.partition, partitions, *mine)
    }


def _row(topic: Topic, block: Block, packed: bytes) -> Values:
    return dict(zip(table.c.keys(), (*topic, *block, packed), strict=True))


def _forget(connection: Connection, name: str, present: Present) -> None:
    mine = delete(table).where(table.c.dlq_topic == name)
    connection.execute(mine if not present.begin else mine.where(table.c.dlq_topic_id != present.topic_id))
    for partition, first in present.begin.items():
        below = table.c.block < first // BLOCK
        connection.execute(mine.where(table.c.partition == partition, below))
