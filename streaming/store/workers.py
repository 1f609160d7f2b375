"""Merging what changes state: abandoned instances, snapshots of workers, and how the sources are."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import reduce

from sqlalchemy import Connection, case, delete, select

from collector.contract.events import Event, SourceStatus, WorkerSnapshot
from streaming.store.abandoned import Abandoned, Place, States, following
from streaming.store.caps import Caps
from streaming.store.engine import Values, chunks, insert, upsert
from streaming.store.schema import abandoned, instances, sources
from streaming.store.storable import storable, storable_values

FACTS = tuple(Abandoned.__dataclass_fields__)


def merge(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    """Apply the events in their order."""
    _merge_abandoned(connection, events, caps)
    latest = {(one.kafka_cluster, one.worker): one for one in events if isinstance(one, WorkerSnapshot)}
    for snapshot in latest.values():
        _replace_instances(connection, snapshot, caps)
    told = [_source(one) for one in events if isinstance(one, SourceStatus)]
    merge_sources(connection, caps.fitting(connection, sources, told))


def merge_sources(connection: Connection, rows: Sequence[Values]) -> None:
    """Note how sources are; ``since_ms`` moves only when ``up`` changes, an older row changes nothing."""
    if not rows:
        return
    statement = insert(connection, sources)
    new = statement.excluded
    changes = {
        "kind": new.kind,
        "up": new.up,
        "message": new.message,
        "since_ms": case((sources.c.up != new.up, new.since_ms), else_=sources.c.since_ms),
        "heartbeat_ms": new.heartbeat_ms,
    }
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[sources.c.name], set_=changes, where=new.heartbeat_ms >= sources.c.heartbeat_ms
        ),
        list(rows),
    )


def forget_sources(connection: Connection, message: str, before_ms: int, name: str = "") -> None:
    """Those with this message and no heartbeat after ``before_ms``: the one of this name, or all."""
    said = delete(sources).where(sources.c.message == message, sources.c.heartbeat_ms <= before_ms)
    connection.execute(said.where(sources.c.name == name) if name else said)


def _merge_abandoned(connection: Connection, events: Sequence[Event], caps: Caps) -> None:
    workers = {worker for event in events if (worker := getattr(event, "worker", None)) is not None}
    if not workers:
        return
    before = _read(connection, workers)
    after = reduce(following, events, before)
    changed = [place for place, state in after.items() if before.get(place) != state]
    rows = [{**place._asdict(), **storable_values(asdict(after[place]))} for place in changed]
    upsert(connection, abandoned, caps.fitting(connection, abandoned, rows))


def _read(connection: Connection, workers: Iterable[str]) -> States:
    return {
        Place(*(row[name] for name in Place._fields)): Abandoned(**{name: row[name] for name in FACTS})
        for chunk in chunks(workers)
        for row in connection.execute(select(abandoned).where(abandoned.c.worker.in_(chunk))).mappings()
    }


def _replace_instances(connection: Connection, snapshot: WorkerSnapshot, caps: Caps) -> None:
    of_worker = (
        instances.c.kafka_cluster == snapshot.kafka_cluster,
        instances.c.worker == snapshot.worker,
    )
    before = {
        (row.connector, row.task): row.abandoned
        for row in connection.execute(select(instances).where(*of_worker))
    }
    connection.execute(delete(instances).where(*of_worker))
    rows = [
        {
            **storable_values(asdict(one)),
            "kafka_cluster": snapshot.kafka_cluster,
            "worker": snapshot.worker,
            "abandoned": one.abandoned
            if snapshot.threads_known
            else before.get((one.connector, one.task), 0),
            "observed_at_ms": snapshot.observed_at_ms,
        }
        for one in snapshot.instances
    ]
    upsert(connection, instances, caps.fitting(connection, instances, rows))


def _source(event: SourceStatus) -> Values:
    return {
        "name": event.subject,
        "kind": storable(event.source_kind),
        "up": event.up,
        "message": storable(event.message),
        "since_ms": event.happened_at_ms,
        "heartbeat_ms": event.observed_at_ms,
    }
