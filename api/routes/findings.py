"""What will go wrong, and what to change."""

from fastapi import APIRouter

from api import cursor
from api.findings import FindingRow, finding_rows, findings_after
from api.schemas import Finding, Findings
from api.service import Paging, Serving
from api.times import instant

router = APIRouter(tags=["findings"])


@router.get("/findings")
def findings(service: Serving, query: Paging) -> Findings:
    """Configurations that would lose or strand records, the newest finding first."""
    after = None if query.after is None else cursor.decode(query.after, names=3)
    with service.store.read() as connection:
        rows = findings_after(finding_rows(connection), after, query.limit + 1)
    page, following = cursor.cut(rows, query.limit)
    return Findings(items=[_finding(row) for row in page], next=following)


def _finding(row: FindingRow) -> Finding:
    return Finding(
        kafka_cluster=row.kafka_cluster,
        kind=row.kind,
        subject=row.subject,
        message=row.message,
        change=row.change,
        first_seen=instant(row.first_ms),
        last_seen=instant(row.observed_at_ms),
    )
