"""Which topics were read, by Kafka's id: one that was made anew under its old name is another one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, select, update

from streaming.store.batch import SeriesDelta, delta
from streaming.store.engine import upsert
from streaming.store.schema import offsets, read_topics, redrive_handled
from streaming.store.series import CLUSTER, RECORDS_MISSED


@dataclass(frozen=True, slots=True)
class Ended:
    """A topic that is no more, and how many of its records nobody has read, as far as that is known.

    ``reached`` is where its partitions ended; it is empty where another topic has the name now.
    """

    topic: str
    reason: str
    unread: int
    reached: Mapping[int, int] = field(default_factory=dict)

    def missed(self, kafka_cluster: str, now_ms: int) -> SeriesDelta:
        """The count of what was not read."""
        labels = {CLUSTER: kafka_cluster, "topic": self.topic, "reason": self.reason}
        return delta(RECORDS_MISSED, labels, self.unread, first_ms=now_ms, last_ms=now_ms)


def merge(connection: Connection, ids: Mapping[str, str]) -> None:
    """Note the ids of topics."""
    upsert(connection, read_topics, [{"topic": topic, "topic_id": one} for topic, one in ids.items()])


def read(connection: Connection) -> dict[str, str]:
    """The id of every topic ever read, by its name."""
    return {row.topic: row.topic_id for row in connection.execute(select(read_topics))}


def end(connection: Connection, ended: Iterable[Ended]) -> list[Ended]:
    """Forget the offsets of topics whose names others have, and pass over what deleted ones held.

    Returns those for which that had not been done before.
    """
    return [
        one for one in ended if (_passed(connection, one) if one.reached else _forgotten(connection, one))
    ]


def _forgotten(connection: Connection, one: Ended) -> bool:
    handled = redrive_handled.c  # where topics have ids, the new one's tells it apart
    connection.execute(
        delete(redrive_handled).where(handled.dlq_topic == one.topic, handled.dlq_topic_id == "")
    )
    connection.execute(delete(read_topics).where(read_topics.c.topic == one.topic))
    return connection.execute(delete(offsets).where(offsets.c.topic == one.topic)).rowcount > 0


def _passed(connection: Connection, one: Ended) -> bool:
    passed = 0
    for partition, end in one.reached.items():
        here = (offsets.c.topic == one.topic, offsets.c.partition == partition, offsets.c.next_offset < end)
        passed += connection.execute(update(offsets).where(*here).values(next_offset=end)).rowcount
    return passed > 0
