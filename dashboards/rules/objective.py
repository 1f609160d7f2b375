"""The objective "a dead letter is handled within N hours", watched by how fast its error budget burns.

Of the dead letters whose time ran out within a window, the late share is what is not handled now; redrives go
from old to new, so at most what is outstanding from before is late. The windows and factors are those of the
Site Reliability Workbook: 2 % of a budget of 30 days in 1 h, 5 % in 6 h, 10 % in 1 day and in 3 days.
"""

from dataclasses import dataclass
from typing import Any, Final

from api.metrics import catalog
from dashboards import figures
from dashboards.dead_letters import BOARD
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import Alert, rule
from dashboards.rules.values import Values
from deadwatch.contract.signals.signal import Severity


@dataclass(frozen=True, slots=True)
class Burn:
    """How many times too fast the budget burns, over a long window and still over a short one."""

    factor: float
    long: str
    short: str
    severity: Severity


BURNS: Final = (
    Burn(14.4, "1h", "5m", Severity.CRITICAL),
    Burn(6, "6h", "30m", Severity.CRITICAL),
    Burn(3, "1d", "2h", Severity.WARNING),
    Burn(1, "3d", "6h", Severity.WARNING),
)
WINDOWS: Final = tuple(sorted({window for burn in BURNS for window in (burn.long, burn.short)}))


def recorded(values: Values) -> list[dict[str, Any]]:
    """The late share over each window; slow to compute, so once."""
    return [
        {"record": _name(window), "expr": _late(values.scope, values.objective.hours, window)}
        for window in WINDOWS
    ]


def alerts(values: Values) -> list[dict[str, Any]]:
    """An alert for each pair of windows, all of one name."""
    return [made for burn in BURNS if (made := rule(_alert(burn, values), values))]


NAME: Final = "DeadwatchObjectiveBurns"


def _alert(burn: Burn, values: Values) -> Alert:
    budget = 1 - values.objective.target

    def burning(_: Scope, __: Alert) -> Expr:
        long, short = (
            values.scope.of_rule(_name(window), figures.BY_TOPIC).above(burn.factor * budget)
            for window in (burn.long, burn.short)
        )
        return long.and_(short, *figures.BY_TOPIC)

    return Alert(
        NAME,
        burning,
        "{share} of the dead letters on {dlq_topic} are late",
        f"They were to be handled within {values.objective.hours} h, {values.objective.target:g} of them. "
        f"On cluster {{kafka_cluster}} that is missed {burn.factor:g} times too fast, over "
        f"{burn.long} and {burn.short}.",
        BOARD.uid,
        burn.severity,
        labels={"window": burn.long},
    )


def _name(window: str) -> str:
    return f"deadwatch:dead_letters_late:ratio_{window}"


def _late(scope: Scope, hours: int, window: str) -> str:
    due = scope.grown(catalog.DEAD_LETTERS, window, offset=f"{hours}h").sum(*figures.BY_TOPIC).above(0)
    outstanding = figures.outstanding(scope, f"{hours}h")
    return outstanding.over(due).at_most(1).text
