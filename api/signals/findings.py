"""Findings: configurations that would lose or strand records; the newest first, in a total order."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import Field
from sqlalchemy import Connection

from api.answers import TIME, Answer, Page
from api.cursor import Key
from api.store import table_rows
from deadwatch.store import schema


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


def finding_rows(connection: Connection) -> list[FindingRow]:
    """Every finding that holds."""
    return table_rows(connection, schema.findings, FindingRow)


def key(row: FindingRow) -> Key:
    """Its place in the list, read backwards: the newest first."""
    return row.first_ms, row.kind, row.subject, row.kafka_cluster


class Finding(Answer):
    """A configuration that would lose or strand records; it is gone when it is mended."""

    kafka_cluster: str = Field(examples=["default"])
    kind: str = Field(description="As docs/findings.md lists them.", examples=["dlq_compacted"])
    subject: str = Field(description="What has it.", examples=["topic:dlq.orders"])
    message: str = Field(
        description="What is wrong, and what would be lost.",
        examples=["it is compacted: of dead letters with the same key only the last one stays"],
    )
    change: str = Field(
        description="A command, or settings as key=value.", examples=["errors.tolerance=none"]
    )
    first_seen: datetime | None = Field(description="Since when it lasts.", examples=[TIME])
    last_seen: datetime | None = Field(examples=[TIME])


class Findings(Page[Finding]):
    """What will go wrong, the newest finding first."""
