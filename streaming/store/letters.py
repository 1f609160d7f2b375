"""Merging dead letters: groups grow within their bound, every group keeps its newest samples."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Select, bindparam, case, delete, func, select

from streaming.store import trends
from streaming.store.batch import GroupDelta, Sample, SeriesDelta
from streaming.store.engine import among, chunks, greater, insert, lesser, saturated, upsert
from streaming.store.limits import GROUPS, OTHER, admitted, limited, other_group, other_sample
from streaming.store.schema import groups, samples
from streaming.store.storable import counted, storable, storable_values

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
    _add(connection, _together(added))
    trends.merge(connection, added, now_ms)
    most = kept_of_a_group(samples_per_group, stored)
    kept = list(_newest((one if one.fingerprint in admissible else other_sample(one) for one in found), most))
    rows = [{**storable_values(_values(one)), "headers": _headers(one)} for one in kept]
    upsert(connection, samples, rows)
    _trim(connection, {sample.fingerprint for sample in kept}, most)
    return tuple(
        limited(GROUPS, one.records, one.first_ms, one.last_ms)
        for one in deltas
        if one.fingerprint not in admissible
    )


def kept_of_a_group(samples_per_group: int, groups_stored: int) -> int:
    """How many samples a group keeps: the more groups, the fewer; one at least where any are kept."""
    shared = max(1, MAX_SAMPLES // max(1, groups_stored))
    return min(samples_per_group, shared)


def _headers(sample: Sample) -> str:
    """A JSON array of names and values; what is no text keeps what can be read of it."""
    texts = ((name, (value or b"").decode(errors="replace")) for name, value in sample.headers)
    return json.dumps([[storable(name), storable(text)] for name, text in texts], ensure_ascii=False)


def _together(deltas: Iterable[GroupDelta]) -> Iterator[GroupDelta]:
    """One delta a group: most of a flood is beyond the bound, and one group."""
    found: dict[str, list[GroupDelta]] = {}
    for one in deltas:
        found.setdefault(one.fingerprint, []).append(one)
    for of_group in found.values():
        yield replace(
            max(of_group, key=lambda one: one.last_ms),
            records=sum(one.records for one in of_group),
            first_ms=min(one.first_ms for one in of_group),
        )


def _newest(found: Iterable[Sample], most: int) -> Iterator[Sample]:
    """Those that stay: at most so many of a group."""
    groups_of: dict[str, list[Sample]] = {}
    for one in found:
        groups_of.setdefault(one.fingerprint, []).append(one)
    for of_group in groups_of.values():
        yield from sorted(of_group, key=_age, reverse=True)[:most]


def _age(sample: Sample) -> tuple[int, int, int]:
    return sample.timestamp_ms, sample.partition, sample.offset


def _known(connection: Connection, keys: Iterable[str]) -> set[str]:
    return {
        fingerprint
        for chunk in chunks(keys)
        for fingerprint in connection.scalars(
            select(groups.c.fingerprint).where(among(connection, groups.c.fingerprint, chunk))
        )
    }


def _add(connection: Connection, deltas: Iterable[GroupDelta]) -> None:
    rows = [{**storable_values(_values(one)), "records": counted(one.records)} for one in deltas]
    if not rows:
        return
    statement = insert(connection, groups)
    new = statement.excluded
    changes = {
        "records": saturated(groups.c.records, new.records),
        "first_ms": lesser(groups.c.first_ms, new.first_ms),
        "last_ms": greater(groups.c.last_ms, new.last_ms),
        **{
            name: case((new.last_ms >= groups.c.last_ms, new[name]), else_=groups.c[name])
            for name in ("message", "dlq_topic")
        },
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=[groups.c.fingerprint], set_=changes), rows
    )


def _values(row: GroupDelta | Sample) -> dict[str, object]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


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
    gone = [
        {f"gone_{name}": value for name, value in row.items()}
        for chunk in chunks(fingerprints)
        for row in connection.execute(_beyond(keys, age, chunk, samples_per_group)).mappings()
    ]
    if gone:
        places = (key == bindparam(f"gone_{key.name}") for key in keys)
        connection.execute(delete(samples).where(*places), gone)


def _beyond(
    keys: Sequence[Column[Any]], age: ColumnElement[int], fingerprints: Sequence[str], samples_per_group: int
) -> Select[Any]:
    ranked = select(*keys, age).where(samples.c.fingerprint.in_(fingerprints)).subquery()
    return select(*(ranked.c[key.name] for key in keys)).where(ranked.c.age > samples_per_group)
