"""Which series have buckets: a number for each, within a bound for every counter."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from sqlalchemy import Connection, func, select

from streaming.store.batch import SeriesDelta
from streaming.store.engine import among, chunks, upsert
from streaming.store.limits import admitted, other_key
from streaming.store.schema import bucketed_series

Numbers = dict[tuple[str, str], int]


def numbered(
    connection: Connection, deltas: Sequence[SeriesDelta], max_series: int
) -> tuple[Numbers, list[SeriesDelta]]:
    """The number of every delta's series by name and labels, and the deltas that share that of ``other``."""
    numbers: Numbers = {}
    beyond: list[SeriesDelta] = []
    ordered = sorted(deltas, key=_name)
    for name, group in groupby(ordered, key=_name):
        of_name = list(group)
        keys = [delta.labels for delta in of_name]
        known = _known(connection, name, keys)
        if len(known) < len(keys):
            admissible = admitted(keys, known, _count(connection, name), max_series)
            outside = [delta for delta in of_name if delta.labels not in admissible]
            others = {delta.labels: other_key(delta.series, delta.labels) for delta in outside}
            wanted = [*(key for key in keys if key in admissible), *others.values()]
            known = _add(connection, name, wanted)
            known.update({key: known[other] for key, other in others.items()})
            beyond += outside
        numbers.update({(name, labels): number for labels, number in known.items()})
    return numbers, beyond


def _name(delta: SeriesDelta) -> str:
    return delta.series.name


def _known(connection: Connection, name: str, keys: Iterable[str]) -> dict[str, int]:
    table = bucketed_series.c
    return {
        labels: number
        for chunk in chunks(keys)
        for labels, number in connection.execute(
            select(table.labels, table.id).where(table.name == name, among(connection, table.labels, chunk))
        )
    }


def _count(connection: Connection, name: str) -> int:
    counted = select(func.count()).select_from(bucketed_series).where(bucketed_series.c.name == name)
    return connection.scalar(counted) or 0


def _add(connection: Connection, name: str, keys: Iterable[str]) -> dict[str, int]:
    """The numbers of the keys, new ones for those that have none."""
    every = list(dict.fromkeys(keys))
    known = _known(connection, name, every)
    next_number = (connection.scalar(select(func.max(bucketed_series.c.id))) or 0) + 1
    new = {key: number for number, key in enumerate((key for key in every if key not in known), next_number)}
    rows = [{"id": number, "name": name, "labels": key} for key, number in new.items()]
    upsert(connection, bucketed_series, rows)
    return {**known, **new}
