"""Findings: configurations that would lose or strand records, by kind.

The kinds are a closed list that metrics, the api and docs/findings.md share.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from deadwatch.contract.event import Event

MAX_FINDINGS: Final = 1_000
"""How many one snapshot holds."""


class FindingKind(StrEnum):
    """The kinds of findings, as their label ``kind`` spells them."""

    SHARE_VERSION = "share_version"
    SHARE_DLQ_INTERNAL = "share_dlq_internal"
    SHARE_DLQ_PREFIX = "share_dlq_prefix"
    SHARE_DLQ_MISSING = "share_dlq_missing"
    SHARE_DLQ_NOT_ENABLED = "share_dlq_not_enabled"
    SHARE_REJECTS_WITHOUT_DLQ = "share_rejects_without_dlq"
    CONNECT_SILENT_LOSS = "connect_silent_loss"
    CONNECT_SOURCE_DLQ_IGNORED = "connect_source_dlq_ignored"
    CONNECT_DLQ_WITHOUT_TOLERANCE = "connect_dlq_without_tolerance"
    CONNECT_DLQ_WITHOUT_HEADERS = "connect_dlq_without_headers"
    CONNECT_DLQ_NOT_CREATABLE = "connect_dlq_not_creatable"
    CONNECT_NO_TASKS = "connect_no_tasks"
    DLQ_NOT_READ = "dlq_not_read"
    DLQ_REPLICATION = "dlq_replication"
    DLQ_COMPACTED = "dlq_compacted"
    DLQ_RETENTION_BYTES = "dlq_retention_bytes"
    DLQ_RETENTION_SHORT = "dlq_retention_short"
    DLQ_EXPIRING = "dlq_expiring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A configuration that would lose or strand records; ``kind`` is one of ``findings.FindingKind``.

    ``subject`` is what has it (``sharegroup:g1``, ``topic:dlq.orders``), ``change`` what to do about it.
    """

    kind: str
    subject: str
    message: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsSnapshot(Event):
    """Every finding that holds now; it replaces its source's previous snapshot."""

    kind: ClassVar[str] = "findings_snapshot"
    findings: tuple[Finding, ...]
