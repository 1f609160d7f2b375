"""Whether the sources of events are up.

A source is up while it says so and its heartbeat is fresh. Without Kafka no heartbeat arrives, so that every
source goes down by its silence.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from streaming.store import schema


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The latest that is known of a source; ``since_ms`` is when its present state began."""

    name: str
    kind: str
    up: bool
    message: str
    since_ms: int
    heartbeat_ms: int

    def silent(self, now_ms: int, stale_ms: int) -> bool:
        """Whether the latest heartbeat is older than ``stale_ms``."""
        return now_ms - self.heartbeat_ms > stale_ms

    def is_up(self, now_ms: int, stale_ms: int) -> bool:
        """Whether it works, as far as anybody can know at ``now_ms``."""
        return self.up and not self.silent(now_ms, stale_ms)


def source_rows(connection: Connection) -> list[SourceRow]:
    """Every source that was ever heard of, by name."""
    query = select(schema.sources).order_by(schema.sources.c.name)
    return [SourceRow(**row) for row in connection.execute(query).mappings()]
