"""Replacing what one store has counted by what another one has, in one transaction.

What is not counted from Kafka stays: orders, policies, what they have moved, and the counters that are in no
record (``ADDED``). The latter two grow by what the other store has of them.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from deadwatch.store.batch import SeriesDelta
from deadwatch.store.engine import unlimited
from deadwatch.store.schema import groups, metadata, series
from deadwatch.store.series import BATCH_FAILURES, RECORDS_MISSED
from deadwatch.store.statements import Values, chunks, insert, many, upsert
from deadwatch.store.write import counters, handled


def _tables(names: str) -> tuple[Table, ...]:
    return tuple(metadata.tables[name] for name in names.split())


COUNTED: Final = _tables(
    "batches offsets read_topics marks abandoned instances share_groups connect_tasks dead_letter_topics"
    " findings task_timers collector_counts redrive_written share_returns dead_letter_groups"
    " dead_letter_samples dead_letter_group_trends bucketed_series buckets series"
)
"""Made of Kafka's records alone; a table comes after those that it refers to."""

MERGED: Final = _tables("sources")
"""Written from events and by our own processes: a row that only one of the stores has stays."""

OWN: Final = _tables("leases redrive_ends stream_figures")
"""The present state of processes and of Kafka; not copied."""

KEPT: Final = _tables(
    "redrive_handled redrive_orders redrive_policies redrive_policy_changes tokens audit"
    " dead_letter_group_notes"
)
"""What Kafka does not have: a store that is restored takes it over from the damaged one. What orders have
moved grows by what the other store has of it.
"""

ADDED: Final = (BATCH_FAILURES, RECORDS_MISSED)
"""Counters that are not made of Kafka's records."""

ROWS: Final = 2_000
"""Rows that are copied at once."""

_BY_NAME: Final = {one.name: one for one in ADDED}
_IS_ADDED: Final = series.c.name.in_(list(_BY_NAME))


def copy(source: Connection, target: Connection) -> None:
    """Copy everything counted into a store that has counted nothing, except the counters ``ADDED``.

    Groups that are there stay, and of ``MERGED`` the rows of ``source`` win.
    """
    for table in (*COUNTED, *MERGED):
        for rows in _rows(source, table):
            if table is groups or table in MERGED:
                upsert(target, table, rows)
            else:
                many(target, insert(target, table), rows)


def replace(source: Connection, target: Connection, max_series: int) -> None:
    """Put the counts of ``source`` in place of those of ``target``."""
    unlimited(target)
    for table in reversed(COUNTED):
        if table is groups:
            _leave_groups(source, target)
        else:
            target.execute(delete(table).where(*_counted(table)))
    copy(source, target)
    handled.unite(source, target)
    counters.merge(target, _added(source), max_series)


def _leave_groups(source: Connection, target: Connection) -> None:
    """Delete the groups that ``source`` lacks; the others stay, since notes refer to their rows."""
    found, here = (set(one.scalars(select(groups.c.fingerprint))) for one in (source, target))
    for chunk in chunks(here - found):
        target.execute(delete(groups).where(groups.c.fingerprint.in_(chunk)))


def _counted(table: Table) -> tuple[ColumnElement[bool], ...]:
    """The condition of what is made of Kafka's records; none where all of a table is."""
    return (~_IS_ADDED,) if table is series else ()


def _rows(source: Connection, table: Table) -> Iterator[list[Values]]:
    query = select(table).where(*_counted(table))
    for rows in source.execution_options(yield_per=ROWS).execute(query).mappings().partitions(ROWS):
        yield [dict(row) for row in rows]


def _added(source: Connection) -> Iterator[SeriesDelta]:
    for row in source.execute(select(series).where(_IS_ADDED)).all():
        yield SeriesDelta(_BY_NAME[row.name], row.labels, row.value, row.first_ms, row.last_ms, row.detail)
