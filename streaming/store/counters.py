"""Merging counters: values grow, the latest detail stands, new rows only within the bound."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from sqlalchemy import Connection, case, func, select

from streaming.store.batch import SeriesDelta, combined
from streaming.store.engine import among, chunks, greater, insert, lesser, many, saturated
from streaming.store.limits import admitted, limited, other_key
from streaming.store.schema import series
from streaming.store.storable import clamped, counted


def merge(connection: Connection, deltas: Iterable[SeriesDelta], max_series: int) -> None:
    """Add the deltas; one that has no row and finds its counter full is added to ``other``."""
    ordered = sorted(combined(deltas), key=_name)
    bounded = [
        delta
        for name, group in groupby(ordered, key=_name)
        for delta in _bounded(connection, name, list(group), max_series)
    ]
    _add(connection, combined(bounded))


def _name(delta: SeriesDelta) -> str:
    return delta.series.name


def _bounded(
    connection: Connection, name: str, deltas: Sequence[SeriesDelta], max_series: int
) -> Iterator[SeriesDelta]:
    keys = [delta.labels for delta in deltas]
    known = _known(connection, name, keys)
    stored = _stored(connection, name) if len(known) < len(keys) else len(known)
    admissible = admitted(keys, known, stored, max_series)
    for delta in deltas:
        if delta.labels in admissible:
            yield delta
        else:
            yield replace(delta, labels=other_key(delta.series, delta.labels))
            yield limited(name, delta.value, delta.first_ms, delta.last_ms)


def _known(connection: Connection, name: str, keys: Iterable[str]) -> set[str]:
    return {
        labels
        for chunk in chunks(keys)
        for labels in connection.scalars(
            select(series.c.labels).where(series.c.name == name, among(connection, series.c.labels, chunk))
        )
    }


def _stored(connection: Connection, name: str) -> int:
    return connection.scalar(select(func.count()).select_from(series).where(series.c.name == name)) or 0


def _add(connection: Connection, deltas: Sequence[SeriesDelta]) -> None:
    if not deltas:
        return
    statement = insert(connection, series)
    new = statement.excluded
    changes = {
        "value": saturated(series.c.value, new.value),
        "first_ms": lesser(series.c.first_ms, new.first_ms),
        "last_ms": greater(series.c.last_ms, new.last_ms),
        "detail": case((new.last_ms >= series.c.last_ms, new.detail), else_=series.c.detail),
    }
    keys = [series.c.name, series.c.labels]
    upserted = statement.on_conflict_do_update(index_elements=keys, set_=changes)
    many(connection, upserted, [_row(delta) for delta in deltas])


def _row(delta: SeriesDelta) -> dict[str, int | str]:
    return {
        "name": delta.series.name,
        "labels": delta.labels,
        "value": counted(delta.value),
        "first_ms": clamped(delta.first_ms),
        "last_ms": clamped(delta.last_ms),
        "detail": delta.detail,
    }
