"""Merging dead letters: groups grow within their bound, every group keeps its newest samples."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, case, delete, func, select

from streaming.store import trends
from streaming.store.batch import GroupDelta, Sample, SeriesDelta
from streaming.store.engine import among, chunks, greater, insert, lesser, saturated, upsert
from streaming.store.limits import GROUPS, OTHER, admitted, limited, other_group, other_sample
from streaming.store.schema import groups, samples
from streaming.store.storable import counted, storable_values, uncut

MAX_SAMPLES: Final = 10_000
"""Of all groups together: with what a sample may hold, they are most of a store after a flood."""


def merge(
    connection: Connection,
    deltas: Sequence[GroupDelta],
    found: Sequence[Sample],
    *,
    max_groups: int,
    samples_per_group: int,
    now_ms: int,
) -> tuple[SeriesDelta, ...]:
    """Add groups, trends and samples; returns the counts that say what was beyond the bound."""
    known = _known(connection, (delta.fingerprint for delta in deltas))
    stored = connection.scalar(select(func.count()).select_from(groups)) or 0
    keys = [delta.fingerprint for delta in deltas]
    admissible = admitted(keys, known, stored, max_groups) | {OTHER}
    added = [one if one.fingerprint in admissible else other_group(one) for one in deltas]
    _add(connection, added)
    trends.merge(connection, added, now_ms)
    kept = [one if one.fingerprint in admissible else other_sample(one) for one in found]
    rows = [{**storable_values(asdict(one)), "headers": uncut(one.headers)} for one in kept]
    upsert(connection, samples, rows)
    _trim(connection, {sample.fingerprint for sample in kept}, kept_of_a_group(samples_per_group, stored))
    return tuple(
        limited(GROUPS, one.records, one.first_ms, one.last_ms)
        for one in deltas
        if one.fingerprint not in admissible
    )


def kept_of_a_group(samples_per_group: int, groups_stored: int) -> int:
    """How many samples a group keeps: the more groups, the fewer; one at least where any are kept."""
    shared = max(1, MAX_SAMPLES // max(1, groups_stored))
    return min(samples_per_group, shared)


def _known(connection: Connection, keys: Iterable[str]) -> set[str]:
    return {
        fingerprint
        for chunk in chunks(keys)
        for fingerprint in connection.scalars(
            select(groups.c.fingerprint).where(among(connection, groups.c.fingerprint, chunk))
        )
    }


def _add(connection: Connection, deltas: Sequence[GroupDelta]) -> None:
    if not deltas:
        return
    statement = insert(connection, groups)
    new = statement.excluded
    changes = {
        "records": saturated(groups.c.records, new.records),
        "first_ms": lesser(groups.c.first_ms, new.first_ms),
        "last_ms": greater(groups.c.last_ms, new.last_ms),
        "message": case((new.last_ms >= groups.c.last_ms, new.message), else_=groups.c.message),
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=[groups.c.fingerprint], set_=changes),
        [{**storable_values(asdict(one)), "records": counted(one.records)} for one in deltas],
    )


def _trim(connection: Connection, fingerprints: Iterable[str], samples_per_group: int) -> None:
    age = (
        func.row_number()
        .over(
            partition_by=samples.c.fingerprint,
            order_by=[samples.c.timestamp_ms.desc(), samples.c.partition.desc(), samples.c.offset.desc()],
        )
        .label("age")
    )
    keys = list(samples.primary_key.columns)
    for chunk in chunks(fingerprints):
        ranked = select(*keys, age).where(samples.c.fingerprint.in_(chunk)).subquery()
        for row in (
            connection.execute(select(ranked).where(ranked.c.age > samples_per_group)).mappings().all()
        ):
            connection.execute(delete(samples).where(*(key == row[key.name] for key in keys)))
