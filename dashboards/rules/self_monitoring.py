"""Alerts on Deadwatch itself: it is away, it does not see a source, it is behind."""

from functools import partial
from typing import Final

from api.metrics import catalog
from dashboards import self_monitoring as board
from dashboards.promql import INSTALLATION, NOW, Expr, Scope
from dashboards.rules.alert import Alert, growth
from deadwatch.contract.signals.signal import Severity
from deadwatch.store.heartbeat import REDRIVE, STORE, STREAMING

BESIDE: Final = (REDRIVE, STORE)
"""Kinds of sources that the store hears from without streaming's events."""


_TARGET_FOR: Final = "1w"


def _down(scope: Scope, given: Alert) -> Expr:
    """None is scraped, or one that was within the window is not while others are.

    One that still is a target of Prometheus was not taken away, and is missed for longer.
    """
    up = scope.gauge(catalog.STORE_UP).max(*INSTALLATION)
    lately, before = (
        scope.last(catalog.STORE_UP, window).max(*INSTALLATION) for window in (given.window, _TARGET_FOR)
    )
    gone = lately.or_(before.and_(scope.targets(), *INSTALLATION)).unless(up, *INSTALLATION)
    return scope.absent(catalog.STORE_UP).above(given.threshold).or_others(gone.and_(up))


def _streaming(scope: Scope, given: Alert) -> Expr:
    """Streaming is down, or the whole store was read and has never heard of one."""
    up = scope.gauge(catalog.SOURCE_UP, kind=STREAMING).max(*INSTALLATION)
    read = scope.gauge(catalog.STORE_UP).max(*INSTALLATION).is_("==", 1)
    return up.is_("<=", given.threshold).or_(read.unless(up, *INSTALLATION))


def _source(scope: Scope, given: Alert) -> Expr:
    """Unless streaming is down: then all that are heard through it are silent, and one alert is enough."""
    every, beside = (
        up.min(*INSTALLATION, "source", "kind").is_("<=", given.threshold)
        for up in (scope.gauge(catalog.SOURCE_UP), scope.gauge(catalog.SOURCE_UP, kind=BESIDE))
    )
    return every.unless(_streaming(scope, given), *INSTALLATION).or_(beside)


def _lagging(scope: Scope, given: Alert) -> Expr:
    behind = scope.gauge(catalog.STREAM_BEHIND).sum(*INSTALLATION).above(0)
    lag = scope.gauge(catalog.PIPELINE_LAG).max(*INSTALLATION)
    return lag.above(given.threshold).and_(behind, *INSTALLATION)


alert: Final = partial(Alert, board=board.BOARD.uid)
ALERTS: Final = (
    alert(
        "DeadwatchDown",
        _down,
        "Deadwatch is not scraped",
        "No figure of Deadwatch arrives, or none of the job and namespace that this alert names: it is down, "
        "or Prometheus cannot reach it. None of its other alerts can fire until it is back.",
        window="6h",
        wait="5m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchStoreUnreadable",
        lambda scope, given: scope.gauge(catalog.STORE_UP).max(*INSTALLATION).is_("<=", given.threshold),
        "Deadwatch cannot read its store",
        "Job {job} answers, but its figures are not whole, so other alerts may stay silent. "
        "/readyz says what is wrong.",
        wait="2m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchStreamingDown",
        _streaming,
        "Deadwatch counts nothing: its streaming is down",
        "Streaming of job {job} failed, is silent or has never started: no figure moves, and no alert tells "
        "of what happens in Kafka. Its log says why.",
        wait="5m",
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
        "Streaming of job {job} does not keep up, or hangs: what happens now is counted, and alerts tell "
        "of it, so much later. Give it more cores or bigger fetches; if it hangs, start it anew.",
        threshold=60,
        wait="5m",
    ),
    alert(
        "DeadwatchBatchFailing",
        growth(catalog.BATCH_FAILURES, "cause"),
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
        "only in the collector's log. Fix what that names.",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchWatchdog",
        lambda _, given: NOW.above(given.threshold),
        "Alerts arrive",
        "This alert always fires. When it stops arriving, Prometheus, Alertmanager or what is behind them "
        "is down: let a dead man's switch wake somebody then.",
        severity=Severity.NONE,
    ),
)
