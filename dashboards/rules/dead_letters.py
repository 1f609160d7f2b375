"""Alerts on dead letters: they arrive, they wait, they are lost."""

from functools import partial
from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards import dead_letters as board
from dashboards import figures
from dashboards.figures import BY_TOPIC
from dashboards.promql import INSTALLATION, Expr, Scope, Value
from dashboards.rules.alert import Alert, Expression, growth, of
from deadwatch.contract import signals
from deadwatch.contract.signals.signal import Severity

GROUP: Final = ("kafka_cluster", "consumergroup")
BY_GROUP: Final = (*INSTALLATION, *GROUP)
CONNECTOR: Final = ("kafka_cluster", "connector")
CAUSE: Final = (*BY_TOPIC, "error_class")


def _new_class(scope: Scope, given: Alert) -> Expr:
    now = scope.grown(catalog.DEAD_LETTERS, given.window).sum(*CAUSE).above(given.threshold)
    return now.unless(scope.known(catalog.DEAD_LETTERS, given.window).sum(*CAUSE), *CAUSE)


def _too_old(scope: Scope, given: Alert) -> Expr:
    """Where something waits, unless all that had arrived before the threshold is handled: then it is young,
    and the oldest record on the topic is one that was put back or parked.
    """
    age = scope.gauge(catalog.DEAD_LETTER_OLDEST).age().above(given.threshold)
    before = f"{max(given.threshold, 1):.0f}s"  # Prometheus takes no offset of 0
    young = figures.outstanding(scope, before).is_("==", 0)
    return age.and_(figures.unhandled(scope).above(0), *BY_TOPIC).unless(young, *BY_TOPIC)


def _nobody(scope: Scope, given: Alert) -> Expr:
    waiting = figures.unhandled(scope).above(given.threshold)
    waited = figures.unhandled(scope, given.window).above(0)
    moved = scope.grown(catalog.REDRIVE_RECORDS, given.window, outcome=figures.HANDLED).sum(*BY_TOPIC)
    return waiting.and_(waited, *BY_TOPIC).unless(moved.above(0), *BY_TOPIC)


def _more(metric: Metric, than: Metric, *labels: str, **only: Value) -> Expression:
    """A counter that has grown by more than the threshold more than another one, added up by these labels of
    each installation.
    """
    by = (*INSTALLATION, *labels)

    def made(scope: Scope, given: Alert) -> Expr:
        grown = scope.grown(metric, given.window).sum(*by)
        less = scope.grown(than, given.window, (), "", **only).sum(*by)
        return grown.minus(less.or_(grown.times(0))).above(given.threshold)

    return made


def newly_read(scope: Scope, window: str) -> Expr:
    """Share groups whose brokers were not read before the window, and that say no more than has ever arrived:
    they count since before.
    """
    written = scope.total(catalog.SHARE_RECORDS).sum(*BY_GROUP)
    arrived = scope.total(catalog.DEAD_LETTERS, dialect="share_group").sum(*BY_GROUP)
    before = scope.total(catalog.SHARE_RECORDS, window).sum(*BY_GROUP)
    return arrived.minus(written).is_(">=", 0).unless(before, *BY_GROUP)


def _disagree(scope: Scope, given: Alert) -> Expr:
    more = _more(catalog.SHARE_RECORDS, catalog.DEAD_LETTERS, *GROUP, dialect="share_group")
    return more(scope, given).unless(newly_read(scope, given.window), *BY_GROUP)


alert: Final = partial(Alert, board=board.BOARD.uid)
ALERTS: Final = (
    alert(
        "DeadwatchDeadLetters",
        growth(catalog.DEAD_LETTERS, "kafka_cluster", "dlq_topic"),
        "{count} new dead letters on {dlq_topic}",
        "A consumer gives up records of cluster {kafka_cluster}. Find the cause in the groups "
        "of dead letters, fix it, then put them back.",
    ),
    alert(
        "DeadwatchNewErrorClass",
        _new_class,
        "{error_class} is new on {dlq_topic}",
        "{count} records of cluster {kafka_cluster} failed for a cause that this topic did "
        "not know before. Look at what was deployed lately.",
    ),
    alert(
        "DeadwatchDeadLetterTooOld",
        _too_old,
        "A dead letter on {dlq_topic} waits for too long, up to {age}",
        "Records wait on this topic of cluster {kafka_cluster}, and its oldest one is near its "
        "end: what retention deletes is lost. Handle it, or raise retention.ms.",
        threshold=86_400,
        wait="5m",
    ),
    alert(
        "DeadwatchDeadLettersNobodyHandles",
        _nobody,
        "Nobody handles the {count} dead letters on {dlq_topic}",
        "Records wait on this topic of cluster {kafka_cluster}, and for hours none of its "
        "records was put back or parked. Find the owner of its consumer.",
        window="6h",
        wait="5m",
    ),
    *of(signals.SHARE_DEAD_LETTERS_LOST),
    alert(
        "DeadwatchShareGroupWritesFail",
        growth(catalog.SHARE_FAILED_REQUESTS, *GROUP),
        "Dead letters of share group {consumergroup} cannot be written",
        "{count} attempts of brokers of cluster {kafka_cluster} to write dead letters "
        "failed. Records may be lost; look at the dead letter topic and at the brokers' log.",
    ),
    alert(
        "DeadwatchShareGroupCountsDisagree",
        _disagree,
        "{count} dead letters of share group {consumergroup} are on no topic",
        "Brokers of cluster {kafka_cluster} say they wrote more dead letters than arrived on "
        "topics: a topic is not read, was cut, or they are lost.",
        window="1h",
        wait="10m",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchConnectDeadLetterWritesFail",
        growth(catalog.CONNECT_DLQ_FAILURES, *CONNECTOR),
        "Dead letters of connector {connector} are lost",
        "{count} dead letters of a sink of cluster {kafka_cluster} could not be written. "
        "They are on no topic. Look at the queue's leaders and at the worker's permission to write.",
        severity=Severity.CRITICAL,
    ),
    alert(
        "DeadwatchConnectRecordsSkipped",
        _more(catalog.CONNECT_RECORDS_SKIPPED, catalog.CONNECT_DLQ_REQUESTS, *CONNECTOR),
        "Connector {connector} skipped {count} records without a dead letter",
        "Tasks of cluster {kafka_cluster} passed over records that are on no dead letter topic: "
        "they are lost without a trace. Give the sink a queue, or set errors.tolerance=none.",
        severity=Severity.CRITICAL,
    ),
)
