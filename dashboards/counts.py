"""Figures that are made of several metrics, and that panels, rules and the objective must agree on."""

from typing import Final

from api.metrics import catalog
from dashboards.promql import Expr, Scope

BY_TOPIC: Final = ("job", "kafka_cluster", "dlq_topic")
HANDLED: Final = ("sent", "parked")
"""Outcomes after which nobody has to look at the record on the dead letter topic again."""


def handled(scope: Scope) -> Expr:
    """Records of each dead letter topic that redrives have put back or parked, ever."""
    return scope.total(catalog.REDRIVE_RECORDS, outcome=HANDLED).sum(*BY_TOPIC)


def unhandled(scope: Scope) -> Expr:
    """Records of each dead letter topic that wait for somebody.

    Kafka deletes nothing when a record is put back, so what is on the topic is too much, and what has arrived
    without being handled is too much where retention has deleted: it is the smaller of the two.
    """
    on_topic = scope.gauge(catalog.DEAD_LETTER_BACKLOG).sum(*BY_TOPIC)
    waiting = outstanding(scope)
    return waiting.smaller_of(on_topic)


def outstanding(scope: Scope, offset: str = "") -> Expr:
    """Records of each dead letter topic that have arrived until ``offset`` ago and are not handled now."""
    arrived = scope.total(catalog.DEAD_LETTERS, offset=offset).sum(*BY_TOPIC)
    return arrived.minus(handled(scope).or_(arrived.times(0))).at_least(0)
