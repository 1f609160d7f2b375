"""What the query says of its own work: the latest figure of every name and subject."""

from collections.abc import Mapping
from heapq import nlargest
from typing import Final

from sqlalchemy import Connection, delete, select

from streaming.store.engine import insert, many
from streaming.store.schema import stream_figures
from streaming.store.storable import clamped, storable_key

BEHIND: Final = "behind_records"
"""Records of a topic that were not read when it was last looked at."""
PHASE: Final = "phase_ms"
"""How long a phase of the last batch took, by Spark's name for it."""
RATE: Final = "records_per_second"
"""How fast the last batch with records was worked through; its subject is empty."""

MAX_SUBJECTS: Final = 1_000
"""Of one name; the lesser ones beyond are left out."""

Figures = Mapping[str, Mapping[str, int]]


def replace(connection: Connection, figures: Figures) -> None:
    """Tell these in place of what was told of the same names before."""
    rows = [
        {"name": name, "subject": storable_key(subject), "value": clamped(value)}
        for name, values in figures.items()
        for subject, value in nlargest(MAX_SUBJECTS, values.items(), key=lambda one: one[1])
    ]
    connection.execute(delete(stream_figures).where(stream_figures.c.name.in_(list(figures))))
    many(connection, insert(connection, stream_figures), rows)


def read(connection: Connection) -> dict[str, dict[str, int]]:
    """Every figure by its name and subject."""
    figures: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(stream_figures).order_by("name", "subject")):
        figures.setdefault(row.name, {})[row.subject] = row.value
    return figures
