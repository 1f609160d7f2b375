"""Alerts on configurations that would lose records, and on Deadwatch itself."""

from functools import partial
from typing import Final

from api.metrics import catalog
from dashboards import overview
from dashboards import self_monitoring as board
from dashboards.promql import NOW, Expr, Scope
from dashboards.rules.alert import Alert, growth, highest
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


def _down(scope: Scope, given: Alert) -> Expr:
    return scope.absent(catalog.STORE_UP).above(given.threshold)


def _unreadable(scope: Scope, given: Alert) -> Expr:
    return scope.gauge(catalog.STORE_UP).max("job").is_("<=", given.threshold)


def _source(scope: Scope, given: Alert) -> Expr:
    return scope.gauge(catalog.SOURCE_UP).min("source", "kind").is_("<=", given.threshold)


def _lagging(scope: Scope, given: Alert) -> Expr:
    behind = scope.gauge(catalog.STREAM_BEHIND).sum("job").above(0)
    return scope.gauge(catalog.PIPELINE_LAG).max("job").above(given.threshold).and_(behind, "job")


def _watchdog(_: Scope, given: Alert) -> Expr:
    return NOW.above(given.threshold)


alert: Final = partial(Alert, board=board.UID)
ALERTS: Final = (
    alert(
        "DeadwatchRecordsWillBeLost",
        highest(catalog.FINDINGS, *FINDING, kind=LOSES),
        "{subject}: dead letters will be lost ({kind})",
        "A configuration of cluster {kafka_cluster} loses what fails next. The findings of the "
        "api say what would be lost and exactly what to change.",
        board=overview.UID,
        wait="5m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchFinding",
        highest(catalog.FINDINGS, *FINDING, kind=STRANDS),
        "{subject}: records are at risk ({kind})",
        "A configuration of cluster {kafka_cluster} strands records or makes dead letters easy to "
        "lose. The findings of the api say what to change.",
        board=overview.UID,
        wait="5m",
    ),
    alert(
        "DeadwatchDown",
        _down,
        "Deadwatch is not scraped",
        "No figure of Deadwatch arrives: it is down, or Prometheus cannot reach it. No other alert on "
        "Kafka's dead letters and timeouts can fire until it is back.",
        wait="5m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchStoreUnreadable",
        _unreadable,
        "Deadwatch cannot read its store",
        "Job {job} answers, but its figures are not whole, so other alerts may stay silent. "
        "/readyz says what is wrong.",
        wait="2m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchSourceDown",
        _source,
        "Deadwatch does not see {source}",
        "This source of kind {kind} failed or is silent: what happens there is not counted and "
        "no alert tells of it. The overview of the api says why.",
        wait="5m",
        keep_firing_for="5m",
    ),
    alert(
        "DeadwatchPipelineLagging",
        _lagging,
        "Deadwatch is {age} behind",
        "Streaming of job {job} does not keep up: what happens now is counted, and alerts tell "
        "of it, so much later. Give it more cores or bigger fetches.",
        threshold=60,
        wait="5m",
    ),
    alert(
        "DeadwatchBatchFailing",
        growth(catalog.BATCH_FAILURES, "job", "cause"),
        "Batches of Deadwatch failed {count} times ({cause})",
        "The query of job {job} begins again and again. Nothing is lost or counted twice, but "
        "figures are late; streaming's log has a line for each.",
        threshold=1,
    ),
    alert(
        "DeadwatchInputPutAside",
        growth(catalog.QUARANTINED, "source", "reason"),
        "{count} entries of {source} could not be read ({reason})",
        "They are on the topic dlq.deadwatch, with the reason in a header, and in no other figure.",
        window="1h",
        severity=Severity.INFO,
    ),
    alert(
        "DeadwatchRecordsMissed",
        growth(catalog.RECORDS_MISSED, "kafka_cluster", "topic", "reason"),
        "{count} records of {topic} were gone before they were read",
        "Kafka deleted them on cluster {kafka_cluster} ({reason}): figures miss "
        "them for ever. Retention is too short, or streaming was away for too long.",
        window="1h",
    ),
    alert(
        "DeadwatchCollectorLosesDeadLetters",
        growth(catalog.COLLECTOR_DEAD_LETTERS_LOST, "kafka_cluster", "collector"),
        "Collector {collector} gave up {count} dead letters of its own",
        "What it could not read it could not put aside either (cluster {kafka_cluster}): it is "
        "only in the collector's log. Mend what that names.",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchWatchdog",
        _watchdog,
        "Alerts arrive",
        "This alert always fires. When it stops arriving, Prometheus, Alertmanager or what is behind them "
        "is down: let a dead man's switch wake somebody then.",
        severity=Severity.INFO,
    ),
)
