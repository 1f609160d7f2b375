"""How the pipeline itself does: sources, collectors, the last batch of streaming, redrive workers.

A source is up while it says so and its heartbeat is fresh. Without Kafka no heartbeat arrives, so that every
source goes down by its silence. A redrive worker is a source of kind ``redrive``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from api.store import StoredRow, every_row
from deadwatch.orders.order import Status
from deadwatch.store import schema
from deadwatch.store.heartbeat import REDRIVE
from deadwatch.store.write.orders import count_by_status
from deadwatch.store.write.progress import BEHIND_FOR, LOOKED_AT, STREAMS, Figures, read_figures


@dataclass(frozen=True, slots=True)
class Moment:
    """When something is asked, and after which silence a source counts as down."""

    now_ms: int
    source_stale_ms: int

    def is_up(self, source: StoredRow) -> bool:
        """Whether the source works, as far as is known now."""
        return bool(source.up and self.now_ms - source.heartbeat_ms <= self.source_stale_ms)


def source_rows(connection: Connection) -> list[StoredRow]:
    """Every source that ever sent a heartbeat, by name."""
    return sorted(every_row(connection, schema.sources), key=lambda row: row.name)


def last_batch(connection: Connection) -> StoredRow | None:
    """The newest batch of all streams, with the greatest lag of all; None before the first one."""
    rows = sorted(every_row(connection, schema.batches), key=lambda row: -row.committed_at_ms)
    found = [row for row in rows if row.query_id in STREAMS] or rows[:1]
    if not found:
        return None
    figures = read_figures(connection)
    return found[0]._replace(lag_ms=max(_lag_ms(row, figures) for row in found))


def _lag_ms(row: StoredRow, figures: Figures) -> int:
    """How far behind a stream is, at its last batch or at the last look at its topics, the later of both.

    After its last batch it falls behind with the time, as one does that hangs; it is no further behind than
    for as long as it has not read all that was there: the last batch of one that rests may have been late,
    and dead letters may have the times of the records that failed.
    """
    looked_at_ms = figures.get(LOOKED_AT, {}).get("", 0)
    if row.query_id not in STREAMS or not looked_at_ms:
        return int(row.lag_ms)
    at_ms = max(row.committed_at_ms, looked_at_ms)
    lag_ms = int(row.lag_ms + at_ms - row.committed_at_ms)
    behind_for_ms = figures.get(BEHIND_FOR, {}).get(row.query_id)
    return lag_ms if behind_for_ms is None else min(lag_ms, behind_for_ms + at_ms - looked_at_ms)


@dataclass(frozen=True, slots=True)
class Workforce:
    """How many redrives are in each state, and how many workers run."""

    orders: Mapping[Status, int]
    workers: int

    @property
    def warning(self) -> str:
        """What is wrong and what to do; "": nothing."""
        waiting = self.orders.get(Status.RUNNING, 0) + self.orders.get(Status.CANCELLING, 0)
        if self.workers or not waiting:
            return ""
        redrives = "1 redrive waits" if waiting == 1 else f"{waiting} redrives wait"
        return f"{redrives} and no worker runs: start `python -m redrive`, or see its log"


def workforce(connection: Connection, sources: Iterable[StoredRow], moment: Moment) -> Workforce:
    """Orders and workers, as the store has them."""
    workers = sum(moment.is_up(row) for row in sources if row.kind == REDRIVE)
    return Workforce(count_by_status(connection), workers)
