"""Merging groups of dead letters within their bound, with their trends and the newest samples of each.

A trend is the growth of a group by the hour over the last day, by the time of its latest record. People write
notes on a group. One that is archived and grows is listed again: archiving holds for the records that it had.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Select, case, delete, func, select

from deadwatch.contract.event import field_values
from deadwatch.runtime.clock import HOUR_S
from deadwatch.store.batch import GroupDelta, Sample, SeriesDelta, grouped
from deadwatch.store.schema import group_notes, group_trends, groups, samples
from deadwatch.store.statements import (
    New,
    Values,
    add_up,
    chunks,
    count,
    delete_keys,
    greatest,
    least,
    many,
    merging,
    saturated,
    stored,
    upsert,
)
from deadwatch.store.storable import counted, storable, storable_values
from deadwatch.store.write.audit import Witness
from deadwatch.store.write.counters import GROUPS, OTHER, admitted, limited, other_group

AGE: Final = ("timestamp_ms", "partition", "offset")
"""What tells which of two samples is the newer one."""
MAX_SAMPLES: Final = 10_000
"""The samples of all groups together: after a flood they are most of the store's size."""
HOURS: Final = 24


def merge(
    connection: Connection,
    deltas: Sequence[GroupDelta],
    found: Sequence[Sample],
    *,
    max_groups: int,
    samples_per_group: int,
    now_ms: int,
) -> tuple[SeriesDelta, ...]:
    """Add groups, trends and samples; returns the counts of what was beyond the bound."""
    keys = [delta.fingerprint for delta in deltas]
    known, rows_before = stored(connection, groups.c.fingerprint, keys), count(connection, groups)
    admissible = admitted(keys, known, rows_before, max_groups) | {OTHER}
    added = [one if one.fingerprint in admissible else other_group(one) for one in deltas]
    totals = [
        {**storable_values(field_values(one)), "records": counted(one.records)} for one in _combined(added)
    ]
    many(connection, merging(connection, groups, _changes), totals)
    _merge_trends(connection, added, now_ms)
    most = kept_of_a_group(samples_per_group, rows_before)
    own = (one if one.fingerprint in admissible else replace(one, fingerprint=OTHER) for one in found)
    kept = list(_newest(own, most))
    rows = [{**storable_values(field_values(one)), "headers": _headers(one)} for one in kept]
    upsert(connection, samples, rows)
    _trim(connection, {sample.fingerprint for sample in kept}, most)
    return tuple(
        limited(GROUPS, one.records, one.first_ms, one.last_ms)
        for one in deltas
        if one.fingerprint not in admissible
    )


def kept_of_a_group(samples_per_group: int, groups_stored: int) -> int:
    """How many samples a group keeps: fewer the more groups there are, but at least one if any."""
    return min(samples_per_group, max(1, MAX_SAMPLES // max(1, groups_stored)))


def _headers(sample: Sample) -> str:
    """A JSON array of names and values; bytes that are no UTF-8 are replaced."""
    pairs = ((name, (value or b"").decode(errors="replace")) for name, value in sample.headers)
    return msgspec.json.encode([(storable(name), storable(text)) for name, text in pairs]).decode()


def _combined(deltas: Iterable[GroupDelta]) -> Iterator[GroupDelta]:
    """One delta for each group: of a flood, most are beyond the bound and count as one group."""
    for of_group in grouped(deltas, lambda one: one.fingerprint).values():
        yield of_group[0] if len(of_group) == 1 else _sum(of_group)


def _sum(deltas: Sequence[GroupDelta]) -> GroupDelta:
    latest, first_ms = max(deltas, key=lambda one: one.last_ms), min(one.first_ms for one in deltas)
    return replace(latest, records=sum(one.records for one in deltas), first_ms=first_ms)


def _newest(found: Iterable[Sample], most: int) -> Iterator[Sample]:
    """The newest samples, at most ``most`` of each group."""
    for of_group in grouped(found, lambda one: one.fingerprint).values():
        yield from sorted(of_group, key=attrgetter(*AGE), reverse=True)[:most]


def _changes(new: New) -> Values:
    return {
        "records": saturated(groups.c.records, new.records),
        "first_ms": least(groups.c.first_ms, new.first_ms),
        "last_ms": greatest(groups.c.last_ms, new.last_ms),
        **{
            name: case((new.last_ms >= groups.c.last_ms, new[name]), else_=groups.c[name])
            for name in ("message", "dlq_topic")
        },
    }


def _trim(connection: Connection, fingerprints: Iterable[str], samples_per_group: int) -> None:
    gone = [
        tuple(row)
        for chunk in chunks(fingerprints)
        for row in connection.execute(_beyond(chunk, samples_per_group))
    ]
    delete_keys(connection, samples, gone)


def _beyond(fingerprints: Sequence[str], samples_per_group: int) -> Select[Any]:
    """The keys of samples that are older than the newest ones of their group."""
    keys = list(samples.primary_key.columns)
    newest_first = [samples.c[name].desc() for name in AGE]
    age = func.row_number().over(partition_by=samples.c.fingerprint, order_by=newest_first).label("age")
    ranked = select(*keys, age).where(samples.c.fingerprint.in_(fingerprints)).subquery()
    return select(*(ranked.c[key.name] for key in keys)).where(ranked.c.age > samples_per_group)


def first_hour_s(now_ms: int) -> int:
    """The start of the first hour that is kept, in seconds since the epoch."""
    return (now_ms // 1_000 // HOUR_S - HOURS + 1) * HOUR_S


def _merge_trends(connection: Connection, deltas: Iterable[GroupDelta], now_ms: int) -> None:
    """Add the growth of groups, and delete the hours before the last day."""
    hours: Counter[tuple[str, int]] = Counter()
    for delta in deltas:
        hour_s = min(delta.last_ms, now_ms) // 1_000 // HOUR_S * HOUR_S
        if hour_s >= first_hour_s(now_ms):
            hours[delta.fingerprint, hour_s] += delta.records
    rows = [
        {"fingerprint": fingerprint, "hour_s": hour_s, "records": counted(records)}
        for (fingerprint, hour_s), records in sorted(hours.items())
    ]
    add_up(connection, group_trends.c.records, rows)
    if hours:
        connection.execute(delete(group_trends).where(group_trends.c.hour_s < first_hour_s(now_ms)))


def read_trend(connection: Connection, fingerprint: str, now_ms: int) -> list[tuple[int, int]]:
    """Start of the hour in seconds and records, the oldest first; an hour without any is left out."""
    column = group_trends.c
    mine = (column.fingerprint == fingerprint, column.hour_s >= first_hour_s(now_ms))
    query = select(column.hour_s, column.records).where(*mine).order_by(column.hour_s)
    return [(row.hour_s, row.records) for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class Note:
    """A group's note; without one ``version`` is 0 and texts are empty."""

    fingerprint: str
    version: int = 0
    owner: str = ""
    comment: str = ""
    archive_reason: str = ""
    archived_at_ms: int = 0
    archived_records: int = 0
    changed_by: str = ""
    changed_at_ms: int = 0


Change = Callable[[Note, int], Note]
"""Makes the next note from the present one and the number of records of its group."""


def find_note(connection: Connection, fingerprint: str) -> Note:
    """The note of a group; an empty one where there is none."""
    query = select(group_notes).where(group_notes.c.fingerprint == fingerprint)
    row = connection.execute(query).mappings().first()
    return Note(fingerprint) if row is None else Note(**row)


def change_note(connection: Connection, fingerprint: str, change: Change, also: Witness) -> Note | None:
    """Change a note and return it; None if there is no such group. ``change`` may raise to refuse."""
    query = select(groups.c.records).where(groups.c.fingerprint == fingerprint).with_for_update()
    records = connection.scalar(query)
    if records is None:
        return None
    before = find_note(connection, fingerprint)
    after = replace(change(before, records), version=before.version + 1)
    upsert(connection, group_notes, [storable_values(asdict(after))])
    also(connection, fingerprint)
    return after
