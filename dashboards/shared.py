"""Figures and panels that several dashboards show alike."""

from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Metric
from dashboards.frame import RANGE, SCOPE
from dashboards.panels import ANY_IS_ODD, NEUTRAL, UP_OR_DOWN, About, AnyPanel, Column, Page, rows
from dashboards.promql import Expr, Scope, Value

MOST_CLIENTS: Final = 20


def in_this_time(scope: Scope, metric: Metric, **only: Value) -> Expr:
    """How much a counter has grown in the chosen time, as one number."""
    return scope.or_zero(scope.grown(metric, RANGE, **only).sum())


def lost() -> Expr:
    """Dead letters of the chosen time that are on no topic: of share groups, and of Connect sinks."""
    share = in_this_time(SCOPE, catalog.SHARE_DEAD_LETTERS_LOST)
    return share.plus(in_this_time(SCOPE, catalog.CONNECT_DLQ_FAILURES))


def sources(title: str, text: str, page: Page) -> AnyPanel:
    """Source by source, half a screen wide."""
    up = SCOPE.gauge(catalog.SOURCE_UP).min("source", "kind")
    state = Column("State", up, texts=UP_OR_DOWN)
    about = About(title, text, page, steps=NEUTRAL, width=12)
    return rows(about, ("source", "kind"), state, worst_first=False)


def client_timeouts(title: str, text: str) -> AnyPanel:
    """Which clients timed out, and at what; their ids are long and differ at the end."""
    labels = ("kind", "client_id")
    grown = SCOPE.grown(catalog.CLIENT_TIMEOUTS, RANGE).sum(*labels).above(0).top(MOST_CLIENTS)
    about = About(title, text, Page.OVERVIEW, steps=NEUTRAL, width=12)
    return rows(about, labels, Column("Timeouts", grown, steps=ANY_IS_ODD))
