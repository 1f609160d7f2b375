"""Figures made of several metrics, on which dashboards, alerts and the objective must agree."""

from collections.abc import Iterator, Sequence
from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards.frame import RANGE, SCOPE, Choice
from dashboards.panels import ANY_IS_BAD, ANY_IS_ODD, AnyPanel, Page, number
from dashboards.promql import INSTALLATION, Expr, Scope, Value
from deadwatch.contract import signals

BY_TOPIC: Final = (*INSTALLATION, "kafka_cluster", "dlq_topic")
HANDLED: Final = ("sent", "parked")
"""Outcomes after which nobody has to look at the record on the dead letter topic again."""


def unhandled(scope: Scope, offset: str = "") -> Expr:
    """Records of each dead letter topic that wait for somebody, or did ``offset`` ago; those of archived
    causes do not.
    """
    return scope.gauge(catalog.DEAD_LETTERS_WAITING, offset, shelf="active").sum(*BY_TOPIC)


def outstanding(scope: Scope, offset: str) -> Expr:
    """Records of each dead letter topic that had arrived ``offset`` ago and wait now, at most; none where
    nothing was counted then.

    They are what waits, of archived causes too, less what has arrived since: redrives go from old to new.
    """
    arrived = scope.total(catalog.DEAD_LETTERS).sum(*BY_TOPIC)
    before = scope.total(catalog.DEAD_LETTERS, offset=offset).sum(*BY_TOPIC)
    waiting = scope.gauge(catalog.DEAD_LETTERS_WAITING).sum(*BY_TOPIC)
    old = waiting.minus(arrived.minus(before)).at_least(0)
    return unhandled(scope).smaller_of(old)


def in_this_time(scope: Scope, metric: Metric, **only: Value) -> Expr:
    """How much a counter has grown in the time that is chosen in Grafana, as one number."""
    return scope.or_zero(scope.grown(metric, RANGE, (), "", **only).sum())


def now(scope: Scope, metric: Metric, **only: Value) -> Expr:
    """The sum of a gauge, as one number."""
    return scope.or_zero(scope.gauge(metric, "", **only).sum())


def of_signals(uid: str, choices: Sequence[Choice]) -> Iterator[AnyPanel]:
    """A number for each signal that this dashboard shows, narrowed by those variables that it has."""
    for signal in signals.ALL:
        if signal.board == uid and signal.text:
            metric = catalog.counter(signal)
            chosen = {choice.label: f"${choice.name}" for choice in choices if choice.label in metric.labels}
            steps = ANY_IS_ODD if signal.odd else ANY_IS_BAD
            grown = in_this_time(SCOPE.narrowed(**chosen), metric)
            yield number(signal.title, signal.text, grown, steps=steps, page=Page(signal.page))


def lost() -> Expr:
    """Dead letters of the chosen time that are on no topic: of share groups, and of Connect sinks."""
    share = in_this_time(SCOPE, catalog.SHARE_DEAD_LETTERS_LOST)
    return share.plus(in_this_time(SCOPE, catalog.CONNECT_DLQ_FAILURES))
