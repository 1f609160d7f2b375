"""Alerts on dead letters: they arrive, they wait, they are lost."""

from typing import Final

from api.metrics import catalog
from dashboards import counts
from dashboards import dead_letters as board
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import AGE, COUNT, Alert, Knobs
from dashboards.rules.values import Severity

TOPIC: Final = ("kafka_cluster", "dlq_topic")
GROUP: Final = ("kafka_cluster", "consumergroup")
CONNECTOR: Final = ("kafka_cluster", "connector")
CAUSE: Final = (*TOPIC, "error_class")


def _arrive(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.DEAD_LETTERS, knobs.window).sum(*TOPIC).above(knobs.threshold)


def _new_class(scope: Scope, knobs: Knobs) -> Expr:
    now = scope.grown(catalog.DEAD_LETTERS, knobs.window).sum(*CAUSE).above(knobs.threshold)
    return now.unless(scope.known(catalog.DEAD_LETTERS, knobs.window).sum(*CAUSE), *CAUSE)


def _too_old(scope: Scope, knobs: Knobs) -> Expr:
    age = scope.gauge(catalog.DEAD_LETTER_OLDEST).age().max(*TOPIC).above(knobs.threshold)
    return age.and_(counts.unhandled(scope).sum(*TOPIC).above(0), *TOPIC)


def _nobody(scope: Scope, knobs: Knobs) -> Expr:
    waiting = counts.unhandled(scope).sum(*TOPIC).above(knobs.threshold)
    waited = scope.gauge(catalog.DEAD_LETTER_BACKLOG, offset=knobs.window).sum(*TOPIC).above(0)
    moved = scope.grown(catalog.REDRIVE_RECORDS, knobs.window, outcome=counts.HANDLED).sum(*TOPIC).above(0)
    return waiting.and_(waited, *TOPIC).unless(moved, *TOPIC)


def _share_lost(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.SHARE_DEAD_LETTERS_LOST, knobs.window).sum(*GROUP).above(knobs.threshold)


def _share_failed(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.SHARE_FAILED_REQUESTS, knobs.window).sum(*GROUP).above(knobs.threshold)


def _share_disagree(scope: Scope, knobs: Knobs) -> Expr:
    brokers = scope.grown(catalog.SHARE_RECORDS, knobs.window).sum(*GROUP)
    topics = scope.grown(catalog.DEAD_LETTERS, knobs.window, dialect="share_group").sum(*GROUP)
    return brokers.minus(topics.or_(brokers.times(0))).above(knobs.threshold)


def _connect_failed(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.CONNECT_DLQ_FAILURES, knobs.window).sum(*CONNECTOR).above(knobs.threshold)


def _connect_skipped(scope: Scope, knobs: Knobs) -> Expr:
    skipped = scope.grown(catalog.CONNECT_RECORDS_SKIPPED, knobs.window).sum(*CONNECTOR)
    written = scope.grown(catalog.CONNECT_DLQ_REQUESTS, knobs.window).sum(*CONNECTOR)
    return skipped.minus(written.or_(skipped.times(0))).above(knobs.threshold)


ALERTS: Final = (
    Alert(
        "DeadwatchDeadLetters",
        Severity.WARNING,
        _arrive,
        f"{COUNT} new dead letters on {{{{ $labels.dlq_topic }}}}",
        "A consumer gives up records of cluster {{ $labels.kafka_cluster }}. Find the cause in the groups of "
        "dead letters, mend it, then put them back.",
        board.UID,
    ),
    Alert(
        "DeadwatchNewErrorClass",
        Severity.WARNING,
        _new_class,
        "{{ $labels.error_class }} is new on {{ $labels.dlq_topic }}",
        f"{COUNT} records of cluster {{{{ $labels.kafka_cluster }}}} failed for a cause that this topic did "
        f"not "
        "know before. Look at what was deployed lately.",
        board.UID,
    ),
    Alert(
        "DeadwatchDeadLetterTooOld",
        Severity.WARNING,
        _too_old,
        f"A dead letter on {{{{ $labels.dlq_topic }}}} waits for {AGE}",
        "Records wait on this topic of cluster {{ $labels.kafka_cluster }}, and its oldest one is near its "
        "end: "
        "what retention deletes is lost. Handle it, or raise retention.ms.",
        board.UID,
        threshold=86_400,
        wait="5m",
    ),
    Alert(
        "DeadwatchDeadLettersNobodyHandles",
        Severity.WARNING,
        _nobody,
        f"Nobody handles the {COUNT} dead letters on {{{{ $labels.dlq_topic }}}}",
        "Records wait on this topic of cluster {{ $labels.kafka_cluster }}, and for hours none of its "
        "records "
        "was put back or parked. Find the owner of its consumer.",
        board.UID,
        window="6h",
        wait="5m",
    ),
    Alert(
        "DeadwatchShareGroupDeadLettersLost",
        Severity.CRITICAL,
        _share_lost,
        "Dead letters of share group {{ $labels.consumergroup }} are lost",
        f"A broker of cluster {{{{ $labels.kafka_cluster }}}} archived records {COUNT} times although their "
        f"dead "
        "letters could not be written. They are on no topic; the broker's log has the exception.",
        board.UID,
    ),
    Alert(
        "DeadwatchShareGroupWritesFail",
        Severity.WARNING,
        _share_failed,
        "Dead letters of share group {{ $labels.consumergroup }} cannot be written",
        f"{COUNT} attempts of brokers of cluster {{{{ $labels.kafka_cluster }}}} to write dead letters "
        f"failed. "
        "Records may be lost; look at the dead letter topic and at the brokers' log.",
        board.UID,
    ),
    Alert(
        "DeadwatchShareGroupCountsDisagree",
        Severity.CRITICAL,
        _share_disagree,
        f"{COUNT} dead letters of share group {{{{ $labels.consumergroup }}}} are on no topic",
        "Brokers of cluster {{ $labels.kafka_cluster }} say they wrote more dead letters than arrived on "
        "topics: "
        "a topic is not read, was cut, or they are lost.",
        board.UID,
        window="1h",
        wait="10m",
    ),
    Alert(
        "DeadwatchConnectDeadLetterWritesFail",
        Severity.CRITICAL,
        _connect_failed,
        "Dead letters of connector {{ $labels.connector }} are lost",
        f"{COUNT} dead letters of a sink of cluster {{{{ $labels.kafka_cluster }}}} could not be written. "
        f"They are "
        "on no topic. Look at the queue's leaders and at the worker's permission to write.",
        board.UID,
    ),
    Alert(
        "DeadwatchConnectRecordsSkipped",
        Severity.CRITICAL,
        _connect_skipped,
        f"Connector {{{{ $labels.connector }}}} skipped {COUNT} records without a dead letter",
        "Tasks of cluster {{ $labels.kafka_cluster }} passed over records that are on no dead letter topic: "
        "they "
        "are lost without a trace. Give the sink a queue, or set errors.tolerance=none.",
        board.UID,
    ),
)
