"""Alerts on configurations that would lose records, and on Deadwatch itself."""

from typing import Final

from api.metrics import catalog
from collector.contract.findings import FindingKind
from dashboards import itself as board
from dashboards import overview
from dashboards.promql import NOW, Expr, Scope
from dashboards.rules.alert import AGE, COUNT, Alert, Knobs
from dashboards.rules.values import Severity

FINDING: Final = ("kafka_cluster", "kind", "subject")
STRANDS: Final = (
    FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
    FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
    FindingKind.DLQ_NOT_READ,
    FindingKind.DLQ_REPLICATION,
    FindingKind.DLQ_RETENTION_BYTES,
    FindingKind.DLQ_RETENTION_SHORT,
)
"""Findings by which nothing is lost yet; by any other one dead letters are."""
LOSES: Final = tuple(kind for kind in FindingKind if kind not in STRANDS)


def _loses(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.FINDINGS, kind=LOSES).max(*FINDING).above(knobs.threshold)


def _strands(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.FINDINGS, kind=STRANDS).max(*FINDING).above(knobs.threshold)


def _down(scope: Scope, knobs: Knobs) -> Expr:
    return scope.absent(catalog.STORE_UP).above(knobs.threshold)


def _unreadable(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.STORE_UP).max("job").is_("<=", knobs.threshold)


def _source(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.SOURCE_UP).min("source", "kind").is_("<=", knobs.threshold)


def _lagging(scope: Scope, knobs: Knobs) -> Expr:
    behind = scope.gauge(catalog.STREAM_BEHIND).sum("job").above(0)
    return scope.gauge(catalog.PIPELINE_LAG).max("job").above(knobs.threshold).and_(behind, "job")


def _failing(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.BATCH_FAILURES, knobs.window).sum("job", "cause").above(knobs.threshold)


def _aside(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.QUARANTINED, knobs.window).sum("source", "reason").above(knobs.threshold)


def _missed(scope: Scope, knobs: Knobs) -> Expr:
    grown = scope.grown(catalog.RECORDS_MISSED, knobs.window)
    return grown.sum("kafka_cluster", "topic", "reason").above(knobs.threshold)


def _lost(scope: Scope, knobs: Knobs) -> Expr:
    grown = scope.grown(catalog.COLLECTOR_DEAD_LETTERS_LOST, knobs.window)
    return grown.sum("kafka_cluster", "collector").above(knobs.threshold)


def _watchdog(_: Scope, knobs: Knobs) -> Expr:
    return NOW.above(knobs.threshold)


ALERTS: Final = (
    Alert(
        "DeadwatchRecordsWillBeLost",
        Severity.CRITICAL,
        _loses,
        "{{ $labels.subject }}: dead letters will be lost ({{ $labels.kind }})",
        "A configuration of cluster {{ $labels.kafka_cluster }} loses what fails next. The findings of the "
        "api say "
        "what would be lost and exactly what to change.",
        overview.UID,
        wait="5m",
    ),
    Alert(
        "DeadwatchFinding",
        Severity.WARNING,
        _strands,
        "{{ $labels.subject }}: dead letters are at risk ({{ $labels.kind }})",
        "A configuration of cluster {{ $labels.kafka_cluster }} strands dead letters or makes them easy to "
        "lose. The "
        "findings of the api say what to change.",
        overview.UID,
        wait="5m",
    ),
    Alert(
        "DeadwatchDown",
        Severity.CRITICAL,
        _down,
        "Deadwatch is not scraped",
        "No figure of Deadwatch arrives: it is down, or Prometheus cannot reach it. No other alert on "
        "Kafka's dead "
        "letters and timeouts can fire until it is back.",
        board.UID,
        wait="5m",
    ),
    Alert(
        "DeadwatchStoreUnreadable",
        Severity.CRITICAL,
        _unreadable,
        "Deadwatch cannot read its store",
        "Job {{ $labels.job }} answers, but its figures are not whole, so other alerts may stay silent. "
        "/readyz says "
        "what is wrong.",
        board.UID,
        wait="2m",
    ),
    Alert(
        "DeadwatchSourceDown",
        Severity.WARNING,
        _source,
        "Deadwatch does not see {{ $labels.source }}",
        "This source of kind {{ $labels.kind }} failed or is silent: what happens there is not counted and "
        "no alert "
        "tells of it. The overview of the api says why.",
        board.UID,
        wait="5m",
        keep_firing_for="5m",
    ),
    Alert(
        "DeadwatchPipelineLagging",
        Severity.WARNING,
        _lagging,
        f"Deadwatch is {AGE} behind",
        "Streaming of job {{ $labels.job }} does not keep up: what happens now is counted, and alerts tell "
        "of it, so "
        "much later. Give it more cores or bigger fetches.",
        board.UID,
        threshold=60,
        wait="5m",
    ),
    Alert(
        "DeadwatchBatchFailing",
        Severity.WARNING,
        _failing,
        f"Batches of Deadwatch failed {COUNT} times ({{{{ $labels.cause }}}})",
        "The query of job {{ $labels.job }} begins again and again. Nothing is lost or counted twice, but "
        "figures "
        "are late; streaming's log has a line for each.",
        board.UID,
        threshold=1,
    ),
    Alert(
        "DeadwatchInputPutAside",
        Severity.INFO,
        _aside,
        f"{COUNT} entries of {{{{ $labels.source }}}} could not be read ({{{{ $labels.reason }}}})",
        "They are on the topic dlq.deadwatch, with the reason in a header, and in no other figure.",
        board.UID,
        window="1h",
    ),
    Alert(
        "DeadwatchRecordsMissed",
        Severity.WARNING,
        _missed,
        f"{COUNT} records of {{{{ $labels.topic }}}} were gone before they were read",
        "Kafka deleted them on cluster {{ $labels.kafka_cluster }} ({{ $labels.reason }}): figures miss "
        "them for ever. "
        "Retention is too short, or streaming was away for too long.",
        board.UID,
        window="1h",
    ),
    Alert(
        "DeadwatchCollectorLosesDeadLetters",
        Severity.CRITICAL,
        _lost,
        f"Collector {{{{ $labels.collector }}}} gave up {COUNT} dead letters of its own",
        "What it could not read it could not put aside either (cluster {{ $labels.kafka_cluster }}): it is "
        "only in the "
        "collector's log. Mend what that names.",
        board.UID,
    ),
    Alert(
        "DeadwatchWatchdog",
        Severity.INFO,
        _watchdog,
        "Alerts arrive",
        "This alert always fires. When it stops arriving, Prometheus, Alertmanager or what is behind them "
        "is down: "
        "let a dead man's switch wake somebody then.",
        board.UID,
    ),
)
