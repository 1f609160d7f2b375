"""Counters of the store and the queries that read them.

Texts are as stored: "" is "not known". A row that cannot be understood is an error, never left out of a sum.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from functools import cache, lru_cache
from typing import Final, NamedTuple

from pydantic import Field
from sqlalchemy import Connection, and_, collate, false, or_, select

from api.answers import TIME, A, Answer, instant
from api.cursor import Key
from api.errors import StoreUnavailableError
from deadwatch.store import schema
from deadwatch.store.series import Series

MOST_KNOWN: Final = 65_536
"""Rows of a series whose parsed labels are cached."""


class SeriesRow(NamedTuple):
    """One counter: its labels' values in the series' order, its value, its first and last time.

    ``detail`` is a JSON object, facts of the latest event that it counted.
    """

    labels: tuple[str, ...]
    value: int
    first_ms: int
    last_ms: int
    detail: str


_table = schema.series.c
_ROWS: Final = select(_table.labels, _table.value, _table.first_ms, _table.last_ms, _table.detail)


def series_rows(connection: Connection, series: Series) -> list[SeriesRow]:
    """Every row of one series.

    Texts and integers are taken as the driver returns them: there may be ten thousand rows, read at every
    scrape.
    """
    parsed = _parser(series.labels)
    with closing(connection.execute(_ROWS.where(_table.name == series.name))) as result:
        return [SeriesRow(parsed(labels), *rest) for labels, *rest in result.cursor.fetchall()]


def series_rows_of(connection: Connection, series: Series, firsts: Sequence[str]) -> list[SeriesRow]:
    """The rows of one series whose first label has one of these values: their keys begin alike."""
    labels = _table.labels if connection.dialect.name == "sqlite" else collate(_table.labels, "C")
    keys = (series.key({series.labels[0]: first}) for first in firsts)
    begins = [key.partition(f',"{series.labels[1]}"')[0] for key in keys]
    same_begin = (and_(labels >= f"{begin},", labels < f"{begin}-") for begin in begins)
    rows = connection.execute(_ROWS.where(_table.name == series.name, or_(false(), *same_begin)))
    parsed = _parser(series.labels)
    return [SeriesRow(parsed(row.labels), *row[1:]) for row in rows]


def decoded(text: str) -> object:
    """The value of a JSON column; halves of surrogate pairs, which no encoding can carry, become "?"."""
    try:
        value: object = json.loads(text)
        if "\\ud" in text.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except ValueError:
        raise StoreUnavailableError("the store holds a row that is not JSON: it is damaged") from None
    return value


# Parsed labels are cached: a row keeps its labels while its value grows.
@cache
def _parser(names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    @lru_cache(MOST_KNOWN)
    def parsed(text: str) -> tuple[str, ...]:
        labels = decoded(text)
        if not isinstance(labels, dict) or set(labels) != set(names):
            raise StoreUnavailableError(
                f"a series of {', '.join(names)} has a row with other labels: it is damaged"
            )
        return tuple(str(labels[name]) for name in names)

    return parsed


def latest_first(row: SeriesRow) -> Key:
    """A counter's place in a list: the one that grew last comes first."""
    return -row.last_ms, *row.labels


def counter_answer(kind: type[A], series: Series, row: SeriesRow, **others: object) -> A:
    """An answer made of a counter: its labels, facts of its latest event, its first and last time."""
    detail = decoded(row.detail or "{}")
    known = detail if isinstance(detail, dict) else {}
    elapsed_ms, message = known.get("elapsed_ms"), known.get("message")
    facts = {
        "elapsed_ms": elapsed_ms if type(elapsed_ms) is int else None,
        "message": message if isinstance(message, str) else "",
    }
    seen = {"first_seen": instant(row.first_ms), "last_seen": instant(row.last_ms)}
    return kind.model_validate(
        {**dict(zip(series.labels, row.labels, strict=True)), **facts, **seen, **others}
    )


class SeriesPoint(Answer):
    """What a counter grew by in the step that begins at ``at``."""

    at: datetime | None = Field(examples=[TIME])
    value: int = Field(examples=[3])
