"""Merging what brokers tell: the meters of share groups, and the dead letter topics there are."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import reduce

from sqlalchemy import Connection, delete, select

from collector.contract.events import BrokerSnapshot, DeadLetterTopicsSnapshot, Event
from streaming.store.caps import Caps
from streaming.store.engine import chunks, upsert
from streaming.store.schema import dead_letter_topics, share_groups
from streaming.store.share_groups import Meters, Place, States, following
from streaming.store.storable import storable_values

FACTS = tuple(Meters.__dataclass_fields__)


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the events in their order."""
    _merge_meters(connection, [one for one in events if isinstance(one, BrokerSnapshot)], caps)
    latest = {one.source: one for one in events if isinstance(one, DeadLetterTopicsSnapshot)}
    for snapshot in latest.values():
        _replace_topics(connection, snapshot, caps)


def _merge_meters(connection: Connection, events: Sequence[BrokerSnapshot], caps: Caps) -> None:
    if not events:
        return
    before = _read(connection, {event.broker for event in events})
    after = reduce(following, events, before)
    changed = [place for place, meters in after.items() if before.get(place) != meters]
    rows = [{**place._asdict(), **asdict(after[place])} for place in changed]
    upsert(connection, share_groups, caps.fitting(connection, share_groups, rows))


def _read(connection: Connection, brokers: Iterable[str]) -> States:
    return {
        Place(*(row[name] for name in Place._fields)): Meters(**{name: row[name] for name in FACTS})
        for chunk in chunks(brokers)
        for row in connection.execute(select(share_groups).where(share_groups.c.broker.in_(chunk))).mappings()
    }


def _replace_topics(connection: Connection, snapshot: DeadLetterTopicsSnapshot, caps: Caps) -> None:
    """What another collector of the same cluster told stays until that one takes it back."""
    connection.execute(delete(dead_letter_topics).where(dead_letter_topics.c.source == snapshot.source))
    rows = [
        storable_values(
            {
                "kafka_cluster": snapshot.kafka_cluster,
                "dlq_topic": one.topic,
                "source": snapshot.source,
                "partitions": one.partitions,
                "records": one.records,
                "oldest_at_ms": one.oldest_at_ms,
                "named_by": one.named_by,
                "read": one.read,
                "observed_at_ms": snapshot.observed_at_ms,
            }
        )
        for one in snapshot.dead_letter_topics
    ]
    upsert(connection, dead_letter_topics, caps.fitting(connection, dead_letter_topics, rows))
