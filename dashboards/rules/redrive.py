"""Alerts on redrives: records come back, orders stand still, records are parked."""

from typing import Final

from api.metrics import catalog
from dashboards import redrive as board
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import COUNT, SHARE, Alert, Knobs
from dashboards.rules.values import Severity

TOPIC: Final = ("kafka_cluster", "dlq_topic")


def _bounce(scope: Scope, knobs: Knobs) -> Expr:
    back = scope.grown(catalog.REDRIVE_RECORDS, knobs.window, outcome="bounced").sum(*TOPIC)
    sent = scope.grown(catalog.REDRIVE_RECORDS, knobs.window, outcome="sent").sum(*TOPIC).above(0)
    return back.over(sent).above(knobs.threshold)


def _stuck(scope: Scope, knobs: Knobs) -> Expr:
    waiting = scope.gauge(catalog.REDRIVE_JOBS, status=board.WAITING).sum("job", "status")
    running = scope.gauge(catalog.REDRIVE_JOBS, status="RUNNING").sum("job", "status")
    moved = scope.grown(catalog.REDRIVE_RECORDS, knobs.window).sum("job").above(0)
    still = running.above(knobs.threshold).unless(moved, "job")
    return waiting.above(knobs.threshold).or_(still)


def _parked(scope: Scope, knobs: Knobs) -> Expr:
    parked = scope.grown(catalog.REDRIVE_RECORDS, knobs.window, outcome="parked")
    return parked.sum(*TOPIC).above(knobs.threshold)


ALERTS: Final = (
    Alert(
        "DeadwatchRedriveBounces",
        Severity.WARNING,
        _bounce,
        f"{SHARE} of what is put back from {{{{ $labels.dlq_topic }}}} comes back",
        "The cause of these dead letters of cluster {{ $labels.kafka_cluster }} is not mended: each record "
        "put back "
        "dies again. Pause the order, mend the consumer first.",
        board.UID,
        threshold=0.2,
        window="1h",
        wait="5m",
    ),
    Alert(
        "DeadwatchRedriveStuck",
        Severity.WARNING,
        _stuck,
        f"{COUNT} redrives are {{{{ $labels.status }}}} and move nothing",
        "PAUSED: it waits for somebody, its status_reason says for what. CANCELLING or RUNNING: no worker "
        "takes it, "
        "or its target is away.",
        board.UID,
        wait="15m",
    ),
    Alert(
        "DeadwatchRecordsParked",
        Severity.WARNING,
        _parked,
        f"{COUNT} records of {{{{ $labels.dlq_topic }}}} were parked",
        "Their attempts on cluster {{ $labels.kafka_cluster }} are used up; no redrive takes them again by "
        "itself. "
        "A person decides: mend and put back, or let go.",
        board.UID,
        window="1h",
    ),
)
