"""Which dead letters redrives have moved or parked, by the topic's id: what an order leaves out.

Rows grow by what events tell, in the batch's own transaction. Blocks that retention has taken, and all of a
topic that is no more, go with the next batch that tells of a redrive.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, select

from collector.contract.events import Event, RedriveHandled
from streaming.redrive.handled import BLOCK, REASONS, Block, Handled, Run, blocks, united
from streaming.redrive.order import Order
from streaming.store.batch import Present
from streaming.store.caps import Caps
from streaming.store.engine import chunks, upsert
from streaming.store.schema import offsets, redrive_orders
from streaming.store.schema import redrive_handled as table

MOST: Final = 1 << 20
"""Offsets of a range at most: no transaction holds more records, and what claims more is nonsense."""


Topic = tuple[str, str]
"""Name and id."""


def merge(
    connection: Connection, events: Sequence[Event], present: Mapping[str, Present], caps: Caps
) -> None:
    """Add what a batch tells; forget what is ``present`` no more of the topics that were asked for."""
    told: dict[Topic, dict[Block, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if isinstance(event, RedriveHandled) and event.outcome in REASONS:
            for block, run in _parts(event):
                told[event.dlq_topic, event.dlq_topic_id][block].append(run)
    for topic, runs in told.items():
        numbers = {block.number for block in runs}
        before = _blocks(connection, topic, {block.partition for block in runs}, table.c.block.in_(numbers))
        rows = [_row(topic, block, united(before.get(block), found)) for block, found in runs.items()]
        upsert(connection, table, caps.fitting(connection, table, rows))
    for name, one in present.items():
        _forget(connection, name, one)


def unite(source: Connection, target: Connection) -> None:
    """Add what another store has."""
    lane = (table.c.dlq_topic, table.c.dlq_topic_id, table.c.partition)
    rows = source.execute(select(table).order_by(*lane))
    for (name, topic_id, partition), found in groupby(rows, key=lambda row: row[:3]):
        new = {Block(partition, row.block, row.outcome): row.offsets for row in found}
        old = _blocks(target, (name, topic_id), {partition})
        both = [_row((name, topic_id), block, united(old.get(block), other=new[block])) for block in new]
        upsert(target, table, both)


def topics(connection: Connection) -> set[str]:
    """Those of which anything is kept."""
    return set(connection.scalars(select(table.c.dlq_topic).distinct()))


class HandledBook:
    """What is known of earlier orders when one is made, and when it is worked on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begun(self, topic: str) -> bool:
        """Whether an order may have moved anything of it: somebody has worked on one."""
        orders = redrive_orders.c
        worked = (orders.dlq_topic == topic, orders.dry_run.is_(False), orders.epoch > 0)
        queries: tuple[Select[str], ...] = (
            select(orders.id).where(*worked).limit(1),
            select(table.c.dlq_topic).where(table.c.dlq_topic == topic).limit(1),
        )
        with self._engine.begin() as connection:
            return any(connection.execute(query).first() is not None for query in queries)

    def reached(self, topic: str) -> dict[int, int]:
        """How far streaming has read a topic, by partition."""
        query = select(offsets.c.partition, offsets.c.next_offset).where(offsets.c.topic == topic)
        with self._engine.begin() as connection:
            return {row.partition: row.next_offset for row in connection.execute(query)}

    def handled(self, topic: str, topic_id: str, partitions: Collection[int]) -> Handled:
        """What was moved or parked of these partitions."""
        with self._engine.begin() as connection:
            return Handled(_blocks(connection, (topic, topic_id), partitions))

    def before(self, order: Order, topic_id: str) -> Handled:
        """What was, of the partitions that the order is about."""
        return self.handled(order.request.dlq_topic, topic_id, order.cut_off)


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
        for chunk in chunks(partitions)
        for row in connection.execute(select(table).where(*mine, table.c.partition.in_(chunk)))
    }


def _row(topic: Topic, block: Block, packed: bytes) -> dict[str, str | int | bytes]:
    name, topic_id = topic
    return {
        "dlq_topic": name,
        "dlq_topic_id": topic_id,
        "partition": block.partition,
        "block": block.number,
        "outcome": block.outcome,
        "offsets": packed,
    }


def _forget(connection: Connection, name: str, present: Present) -> None:
    mine = delete(table).where(table.c.dlq_topic == name)
    connection.execute(mine if not present.begin else mine.where(table.c.dlq_topic_id != present.topic_id))
    for partition, first in present.begin.items():
        below = table.c.block < first // BLOCK
        connection.execute(mine.where(table.c.partition == partition, below))
