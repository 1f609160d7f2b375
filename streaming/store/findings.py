"""Merging findings: a snapshot replaces the one before it; what lasts keeps the time it was first told."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, select

from collector.contract.events import Event, FindingsSnapshot
from streaming.store.caps import Caps
from streaming.store.engine import Values, upsert
from streaming.store.schema import findings
from streaming.store.storable import storable, storable_values

Key = tuple[str, str]
"""Kind and subject."""


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the latest snapshot of every source."""
    latest = {one.source: one for one in events if isinstance(one, FindingsSnapshot)}
    for snapshot in latest.values():
        _replace(connection, snapshot, caps)


def _replace(connection: Connection, snapshot: FindingsSnapshot, caps: Caps) -> None:
    """What another collector of the same cluster told stays until that one takes it back."""
    known = select(findings.c.kind, findings.c.subject, findings.c.first_ms)
    of_cluster = findings.c.kafka_cluster == snapshot.kafka_cluster
    first_ms = {(kind, subject): ms for kind, subject, ms in connection.execute(known.where(of_cluster))}
    connection.execute(delete(findings).where(findings.c.source == snapshot.source))
    upsert(connection, findings, caps.fitting(connection, findings, list(_rows(snapshot, first_ms))))


def _rows(snapshot: FindingsSnapshot, first_ms: dict[Key, int]) -> Iterator[Values]:
    for one in snapshot.findings:
        key = (storable(one.kind), storable(one.subject))
        yield storable_values(
            {
                "kafka_cluster": snapshot.kafka_cluster,
                "kind": one.kind,
                "subject": one.subject,
                "source": snapshot.source,
                "message": one.message,
                "change": one.change,
                "first_ms": first_ms.get(key, snapshot.happened_at_ms),
                "observed_at_ms": snapshot.observed_at_ms,
            }
        )
