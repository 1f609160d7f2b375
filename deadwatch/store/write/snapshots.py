"""The latest state that is reported: of sources, of a cluster's dead letter topics, of findings.

A source is forgotten when it has ended, or when nobody has told of it for ``FORGOTTEN_AFTER_MS``; and with it
what it has last told of the present. What was counted stays.
A snapshot replaces its source's previous one; what another collector of the cluster has reported stays. A
finding that lasts keeps its first time, and one that nobody repeats goes as a silent source does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    case,
    delete,
    or_,
    select,
    update,
)

from deadwatch.contract.events import DeadLetterTopicsSnapshot, Event, FindingsSnapshot, SourceStatus
from deadwatch.store.schema import connect_tasks, dead_letter_topics, findings, instances, sources
from deadwatch.store.statements import New, Values, least, merging
from deadwatch.store.storable import storable, storable_values
from deadwatch.store.write.restarts import NO_STATE
from deadwatch.store.write.states import RowLimits

FORGOTTEN_AFTER_MS: Final = 7 * 86_400_000


def merge(connection: Connection, events: Sequence[Event], limits: RowLimits, now_ms: int) -> None:
    """Apply the states of sources, and the latest snapshot of every source."""
    states = [one for one in events if isinstance(one, SourceStatus)]
    merge_sources(connection, limits.fitting(connection, sources, [_source(one) for one in states]), now_ms)
    ended = [subject for subject, one in {one.subject: one for one in states}.items() if one.ended]
    _forget(connection, ended)
    for topics in {one.source: one for one in events if isinstance(one, DeadLetterTopicsSnapshot)}.values():
        found = [{"dlq_topic": row.pop("topic"), **row} for row in map(asdict, topics.dead_letter_topics)]
        _replace(connection, dead_letter_topics, topics, found, limits)
    for snapshot in {one.source: one for one in events if isinstance(one, FindingsSnapshot)}.values():
        _replace(connection, findings, snapshot, _lasting(connection, snapshot), limits)


def _lasting(connection: Connection, snapshot: FindingsSnapshot) -> list[Values]:
    """The findings of a snapshot, with the first time of those that were there before."""
    known = select(findings.c.kind, findings.c.subject, findings.c.first_ms)
    of_cluster = findings.c.kafka_cluster == snapshot.kafka_cluster
    first_ms = {(kind, subject): ms for kind, subject, ms in connection.execute(known.where(of_cluster))}
    return [
        {
            **asdict(one),
            "first_ms": first_ms.get((storable(one.kind), storable(one.subject)), snapshot.happened_at_ms),
        }
        for one in snapshot.findings
    ]


def _replace(
    connection: Connection, table: Table, snapshot: Event, rows: Iterable[Values], limits: RowLimits
) -> None:
    connection.execute(delete(table).where(table.c.source == snapshot.source))
    own = {name: getattr(snapshot, name) for name in ("kafka_cluster", "source", "observed_at_ms")}
    limits.upsert(connection, table, [storable_values({**row, **own}) for row in rows])


def named_topics(connection: Connection) -> frozenset[str]:
    """Dead letter topics that share groups or connectors are configured with, by the latest snapshots."""
    column = dead_letter_topics.c
    return frozenset(connection.scalars(select(column.dlq_topic).where(column.named_by != "")))


def merge_sources(connection: Connection, rows: Sequence[Values], now_ms: int) -> None:
    """Note the states of sources; ``since_ms`` moves when ``up`` changes, an older row changes nothing.

    A state from later than ``now_ms`` was noted while a clock was ahead: any other takes its place.
    """
    if rows:
        statement = merging(connection, sources, _changes, _is_later)
        connection.execute(statement, [{**row, "now_ms": now_ms} for row in rows])


def _is_later(new: New) -> ColumnElement[bool]:
    known_ms, now_ms = sources.c.heartbeat_ms, bindparam("now_ms", type_=BigInteger)
    return or_(new.heartbeat_ms >= known_ms, known_ms > now_ms)


def _changes(new: New) -> Values:
    same_ms = least(sources.c.since_ms, new.since_ms)  # it cannot last since later than now
    since_ms = case((sources.c.up != new.up, new.since_ms), else_=same_ms)
    return {"since_ms": since_ms, **{name: new[name] for name in ("kind", "up", "message", "heartbeat_ms")}}


def forget_silent(connection: Connection, now_ms: int) -> None:
    """Forget the sources of which nobody has told for long, and the findings that nobody has repeated."""
    before_ms = now_ms - FORGOTTEN_AFTER_MS
    silent = select(sources.c.name).where(sources.c.heartbeat_ms < before_ms)
    _forget(connection, connection.scalars(silent).all())
    connection.execute(delete(findings).where(findings.c.observed_at_ms < before_ms))


def _forget(connection: Connection, names: Sequence[str]) -> None:
    if not names:
        return
    rows = [{"forgotten": one} for one in names]
    name: BindParameter[str] = bindparam("forgotten")
    for column in (sources.c.name, instances.c.source, dead_letter_topics.c.source):
        connection.execute(delete(column.table).where(column == name), rows)
    tasks = update(connect_tasks).where(connect_tasks.c.source == name, connect_tasks.c.state != "")
    connection.execute(tasks.values(NO_STATE), rows)


def forget_sources(connection: Connection, message: str, before_ms: int, name: str = "") -> None:
    """Delete sources with this message and no heartbeat after ``before_ms``: one by its name, or all."""
    forgetting = delete(sources).where(sources.c.message == message, sources.c.heartbeat_ms <= before_ms)
    connection.execute(forgetting.where(sources.c.name == name) if name else forgetting)


def _source(event: SourceStatus) -> Values:
    return {
        "name": event.subject,
        "kind": storable(event.source_kind),
        "up": event.up,
        "message": storable(event.message),
        "since_ms": event.happened_at_ms,
        "heartbeat_ms": event.observed_at_ms,
    }
