"""What collectors count of themselves."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from streaming.store import schema


@dataclass(frozen=True, slots=True)
class CollectorRow:
    """One count of one collector, added up over its restarts; ``subject`` is a source's name or empty."""

    kafka_cluster: str
    collector: str
    name: str
    subject: str
    current: int
    total: int


def collector_rows(connection: Connection) -> list[CollectorRow]:
    """Every count of every collector."""
    columns = [schema.collector_counts.c[name] for name in CollectorRow.__dataclass_fields__]
    return [CollectorRow(**row) for row in connection.execute(select(*columns)).mappings()]
