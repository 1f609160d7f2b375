"""Alerts on redrives: records come back, orders stand still, records are parked."""

from functools import partial
from typing import Final

from api.metrics import catalog
from dashboards import redrive as board
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import Alert, growth

TOPIC: Final = ("kafka_cluster", "dlq_topic")


def _bounce(scope: Scope, given: Alert) -> Expr:
    back = scope.grown(catalog.REDRIVE_RECORDS, given.window, outcome="bounced").sum(*TOPIC)
    sent = scope.grown(catalog.REDRIVE_RECORDS, given.window, outcome="sent").sum(*TOPIC).above(0)
    return back.over(sent).above(given.threshold)


def _stuck(scope: Scope, given: Alert) -> Expr:
    waiting = scope.gauge(catalog.REDRIVE_JOBS, status=board.WAITING).sum("job", "status")
    running = scope.gauge(catalog.REDRIVE_JOBS, status="RUNNING").sum("job", "status")
    moved = scope.grown(catalog.REDRIVE_RECORDS, given.window).sum("job").above(0)
    still = running.above(given.threshold).unless(moved, "job")
    return waiting.above(given.threshold).or_(still)


alert: Final = partial(Alert, board=board.UID)
ALERTS: Final = (
    alert(
        "DeadwatchRedriveBounces",
        _bounce,
        "{share} of what is put back from {dlq_topic} comes back",
        "The cause of these dead letters of cluster {kafka_cluster} is not mended: each record "
        "put back dies again. Pause the order, mend the consumer first.",
        threshold=0.2,
        window="1h",
        wait="5m",
    ),
    alert(
        "DeadwatchRedriveStuck",
        _stuck,
        "{count} redrives are {status} and move nothing",
        "PAUSED: it waits for somebody, its status_reason says for what. CANCELLING or RUNNING: no worker "
        "takes it, or its target is away.",
        wait="15m",
    ),
    alert(
        "DeadwatchRecordsParked",
        growth(catalog.REDRIVE_RECORDS, *TOPIC, outcome="parked"),
        "{count} records of {dlq_topic} were parked",
        "Their attempts on cluster {kafka_cluster} are used up; no redrive takes them again by "
        "itself. A person decides: mend and put back, or let go.",
        window="1h",
    ),
)
