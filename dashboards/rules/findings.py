"""Alerts on configurations that would lose records, or strand them."""

from functools import partial
from typing import Final

from api.metrics import catalog
from dashboards import overview as board
from dashboards.rules.alert import Alert, highest
from deadwatch.contract.events.findings import FindingKind
from deadwatch.contract.signals.signal import Severity

FINDING: Final = ("kafka_cluster", "kind", "subject")
STRANDS: Final = (
    FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
    FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
    FindingKind.CONNECT_NO_TASKS,
    FindingKind.DLQ_NOT_READ,
    FindingKind.DLQ_REPLICATION,
    FindingKind.DLQ_RETENTION_BYTES,
    FindingKind.DLQ_RETENTION_SHORT,
)
"""Findings by which nothing is lost yet; by any other one dead letters are."""
LOSES: Final = tuple(kind for kind in FindingKind if kind not in STRANDS)

alert: Final = partial(Alert, board=board.UID)
ALERTS: Final = (
    alert(
        "DeadwatchRecordsWillBeLost",
        highest(catalog.FINDINGS, *FINDING, kind=LOSES),
        "{subject}: dead letters will be lost ({kind})",
        "A configuration of cluster {kafka_cluster} loses what fails next. The findings of the "
        "api say what would be lost and exactly what to change.",
        wait="5m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchFinding",
        highest(catalog.FINDINGS, *FINDING, kind=STRANDS),
        "{subject}: records are at risk ({kind})",
        "A configuration of cluster {kafka_cluster} strands records or makes dead letters easy to "
        "lose. The findings of the api say what to change.",
        wait="5m",
    ),
)
