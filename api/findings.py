"""Findings as the store holds them, newest first, in a total order."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from api.cursor import Key
from streaming.store import schema


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A configuration that would lose or strand records, since ``first_ms``."""

    kafka_cluster: str
    kind: str
    subject: str
    message: str
    change: str
    first_ms: int
    observed_at_ms: int

    @property
    def key(self) -> Key:
        """Its place in the list."""
        return self.first_ms, self.kind, self.subject, self.kafka_cluster


def finding_rows(connection: Connection) -> list[FindingRow]:
    """Every finding that holds."""
    columns = [schema.findings.c[name] for name in FindingRow.__dataclass_fields__]
    return [FindingRow(**row) for row in connection.execute(select(*columns)).mappings()]


def findings_after(rows: list[FindingRow], after: Key | None, limit: int) -> list[FindingRow]:
    """Up to ``limit`` findings that come behind ``after``."""
    ordered = sorted(rows, key=lambda row: row.key, reverse=True)
    return [row for row in ordered if after is None or row.key < after][:limit]
