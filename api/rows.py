"""Typed rows of the store and the queries that read them; some signals have a module of their own.

Texts are as stored: "" is "not known". A row that cannot be understood is an error, never left out of a sum.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, collate, false, func, or_, select

from api.errors import StoreUnavailableError
from streaming.store import schema
from streaming.store.series import Series

T = TypeVar("T")

MOST_KNOWN: Final = 65_536
"""Rows of series whose labels are remembered."""


class SeriesRow(NamedTuple):
    """One counter; ``detail`` is a JSON object, facts of the latest event that counted."""

    labels: Mapping[str, str]
    value: int
    first_ms: int
    last_ms: int
    detail: str

    def fact(self, name: str, kind: type[T]) -> T | None:
        """One fact of the latest event; None where it has none of this kind."""
        detail = decoded(self.detail or "{}")
        value = detail.get(name) if isinstance(detail, dict) else None
        return value if isinstance(value, kind) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class SeriesTotal:
    """The sum of a series, and when it last grew."""

    value: int = 0
    last_ms: int = 0


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """A connector (``task`` empty) or task, as the latest snapshot of its worker saw it."""

    kafka_cluster: str
    worker: str
    connector: str
    task: str
    state: str
    abandoned: int
    observed_at_ms: int


@dataclass(frozen=True, slots=True)
class BatchRow:
    """The batch that was applied last."""

    committed_at_ms: int
    duration_ms: int
    records: int
    lag_ms: int


def series_rows(connection: Connection, series: Series) -> list[SeriesRow]:
    """Every row of one series."""
    table = schema.series.c
    columns = (table.labels, table.value, table.first_ms, table.last_ms, table.detail)
    parsed = _parser(series.labels)
    return [
        SeriesRow(parsed(labels), value, first_ms, last_ms, detail)
        for labels, value, first_ms, last_ms, detail in _plain(connection, series, columns)
    ]


def series_growth(connection: Connection, series: Series) -> list[tuple[tuple[str, ...], int, int, int]]:
    """Every row of one series: its labels' values in the series' order, its value, first and last time."""
    table = schema.series.c
    values = _values(series.labels)
    columns = (table.labels, table.value, table.first_ms, table.last_ms)
    return [
        (values(labels), value, first_ms, last_ms)
        for labels, value, first_ms, last_ms in _plain(connection, series, columns)
    ]


def series_rows_of(connection: Connection, series: Series, firsts: Sequence[str]) -> list[SeriesRow]:
    """The rows of one series whose first label has one of these values: their keys begin alike."""
    table = schema.series.c
    labels = table.labels if connection.dialect.name == "sqlite" else collate(table.labels, "C")
    begins = [
        series.key({series.labels[0]: first}).partition(f',"{series.labels[1]}"')[0] for first in firsts
    ]
    wanted = or_(
        false(), *(and_(table.name == series.name, labels >= f"{one},", labels < f"{one}-") for one in begins)
    )
    rows = connection.execute(
        select(table.labels, table.value, table.first_ms, table.last_ms, table.detail).where(wanted)
    )
    parsed = _parser(series.labels)
    return [SeriesRow(parsed(row.labels), *row[1:]) for row in rows]


def series_values(connection: Connection, series: Series) -> list[tuple[tuple[str, ...], int, str]]:
    """Every row of one series: its labels' values in the series' order, its value, its detail."""
    table = schema.series.c
    values = _values(series.labels)
    columns = (table.labels, table.value, table.detail)
    return [(values(labels), value, detail) for labels, value, detail in _plain(connection, series, columns)]


def series_totals(connection: Connection) -> dict[str, SeriesTotal]:
    """The sum of each series that has rows, by name."""
    table = schema.series.c
    columns = (table.name, func.sum(table.value), func.max(table.last_ms))
    rows = connection.execute(select(*columns).group_by(table.name))
    return {name: SeriesTotal(int(value), last_ms) for name, value, last_ms in rows}


def instance_rows(connection: Connection) -> list[InstanceRow]:
    """Every instance of every worker."""
    return [InstanceRow(**row) for row in connection.execute(select(schema.instances)).mappings()]


def last_batch(connection: Connection) -> BatchRow | None:
    """The newest batch; None before the first one."""
    table = schema.batches.c
    columns = (table.committed_at_ms, table.duration_ms, table.records, table.lag_ms)
    row = connection.execute(select(*columns).order_by(table.committed_at_ms.desc()).limit(1)).first()
    return None if row is None else BatchRow(*row)


def decoded(text: str) -> object:
    """The value of a JSON column; halves of surrogate pairs, which no encoding can carry, become "?"."""
    try:
        value: object = json.loads(text)
        if "\\ud" in text.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except ValueError:
        raise StoreUnavailableError("the store holds a row that is not JSON: it is damaged") from None
    return value


def _plain(
    connection: Connection, series: Series, columns: Sequence[ColumnElement[Any]]
) -> Sequence[Sequence[Any]]:
    """Texts and integers as the driver gives them: there may be ten thousand rows, read at every scrape."""
    result = connection.execute(select(*columns).where(schema.series.c.name == series.name))
    with closing(result):
        rows: Sequence[Sequence[Any]] = result.cursor.fetchall()
    return rows


# What a row's labels say is remembered: a row keeps them while its value grows.


@cache
def _parser(names: tuple[str, ...]) -> Callable[[str], Mapping[str, str]]:
    @lru_cache(MOST_KNOWN)
    def parsed(text: str) -> Mapping[str, str]:
        labels = decoded(text)
        if not isinstance(labels, dict) or set(labels) != set(names):
            raise StoreUnavailableError(
                f"a series of {', '.join(names)} has a row with other labels: it is damaged"
            )
        return MappingProxyType({name: str(value) for name, value in labels.items()})

    return parsed


@cache
def _values(names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    parsed = _parser(names)

    @lru_cache(MOST_KNOWN)
    def values(text: str) -> tuple[str, ...]:
        labels = parsed(text)
        return tuple(labels[name] for name in names)

    return values
