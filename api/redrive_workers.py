"""Whether the redrives that have something to do have a worker.

A worker is a source of kind ``redrive``: it runs while it says so and its heartbeat is fresh.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from api.sources import source_rows
from streaming.heartbeat import REDRIVE
from streaming.redrive.order import Status
from streaming.store.orders import count_by_status


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
        return f"{redrives} and no worker runs: start `python -m streaming.redrive`, or see its log"


def workforce(connection: Connection, now_ms: int, stale_ms: int) -> Workforce:
    """As the store tells."""
    sources = (row for row in source_rows(connection) if row.kind == REDRIVE)
    return Workforce(count_by_status(connection), sum(row.is_up(now_ms, stale_ms) for row in sources))
