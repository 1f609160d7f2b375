"""What people say of a group of dead letters: who cares for it, a comment, and that it is done with.

An archived group that grows is back: archiving holds for the records that it had.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, select

from streaming.store.audit import Witness
from streaming.store.engine import insert
from streaming.store.schema import group_notes as table
from streaming.store.schema import groups
from streaming.store.storable import storable_values


@dataclass(frozen=True, slots=True)
class Note:
    """A group's note; ``version`` 0 and empty texts: nobody has said anything."""

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
"""Makes the next note of the one that is and the number of records of its group."""


def find(connection: Connection, fingerprint: str) -> Note:
    """The note of a group."""
    row = connection.execute(select(table).where(table.c.fingerprint == fingerprint)).mappings().first()
    return Note(fingerprint) if row is None else Note(**row)


def write(connection: Connection, fingerprint: str, change: Change, also: Witness) -> Note | None:
    """The note as it is now; None: there is no such group. ``change`` may raise to refuse."""
    query = select(groups.c.records).where(groups.c.fingerprint == fingerprint).with_for_update()
    records = connection.scalar(query)
    if records is None:
        return None
    before = find(connection, fingerprint)
    after = replace(change(before, records), version=before.version + 1)
    values = storable_values(asdict(after))
    statement = insert(connection, table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=[table.c.fingerprint], set_=values))
    also(connection, fingerprint)
    return after
