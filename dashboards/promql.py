"""PromQL made from the metric catalogue: a metric or a label that it does not have is refused.

An expression knows its labels; a metric, a label of a selector or a label of ``by`` that does not exist is a
``PromqlError`` while dashboards and rules are built, not an empty panel at 3 a.m.

Every replica of the api reads the same store and shows the same figures, so a series is read as the maximum
over all that tells replicas apart: only ``job``, ``namespace`` and the metric's own labels are kept. A
counter is read by ``rate`` or ``grown``; ``total`` is for the difference of two counters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partialmethod
from typing import Final

from api.metrics import catalog
from api.metrics.catalog import Kind, Metric

INSTALLATION: Final = ("job", "namespace")
"""What tells two installations apart; outside of Kubernetes there is no namespace, which is one as well."""
RATE_INTERVAL: Final = "$__rate_interval"

RISING: Final = (catalog.SHARE_RECORDS,)
"""Gauges by their names that only rise, as counters do."""

_PART: Final = re.compile(r"(\d+)(ms|[smhdwy])")
_UNITS_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
    "y": 31_536_000_000,
}

Value = str | Sequence[str]
"""The value that a label must have: a text, or one of several."""


class PromqlError(ValueError):
    """The expression names a metric or a label that the catalogue does not have."""


@dataclass(frozen=True, slots=True)
class Expr:
    """An instant vector: its text, the labels of its series, whether it is an operand without parentheses."""

    text: str
    labels: frozenset[str] = frozenset()
    operand: bool = True

    def _aggregated(self, function: str, *by: str) -> "Expr":
        self.require(by)
        if self.labels == set(by) and function != "count":
            return self  # each series is alone with its labels
        text = f"{function} by ({', '.join(by)}) ({self.text})" if by else f"{function}({self.text})"
        return replace(self, text=text, labels=frozenset(by), operand=True)

    sum = partialmethod(_aggregated, "sum")
    """The series added up, one sum for each set of the labels that are named."""
    max = partialmethod(_aggregated, "max")
    """The largest value for each set of the labels that are named."""
    min = partialmethod(_aggregated, "min")
    """The smallest value for each set of the labels that are named."""
    count = partialmethod(_aggregated, "count")
    """How many series there are for each set of the labels that are named."""

    def _with(self, operator: str, other: "Expr") -> "Expr":
        if self.labels != other.labels:
            differing = ", ".join(sorted(self.labels ^ other.labels))
            raise PromqlError(f"{self.text!r} and {other.text!r} do not match: only one has {differing}")
        return replace(self, text=f"{self.grouped} {operator} {other.grouped}", operand=False)

    plus = partialmethod(_with, "+")
    """The sum of two series with the same labels."""
    minus = partialmethod(_with, "-")
    """The difference of two series with the same labels."""
    over = partialmethod(_with, "/")
    """The quotient of two series with the same labels."""
    or_ = partialmethod(_with, "or")
    """This series, and the other one for labels which this one does not have."""

    def _where(self, operator: str, other: "Expr", *on: str) -> "Expr":
        self.require(on)
        other.require(on)
        text = f"{self.grouped} {operator} on ({', '.join(on)}) {other.grouped}"
        return replace(self, text=text, operand=False)

    and_ = partialmethod(_where, "and")
    """This series where the other one has one with the same labels of those that are named."""
    unless = partialmethod(_where, "unless")
    """This series where the other one has none with the same labels of those that are named."""

    def top(self, number: int) -> "Expr":
        """``topk``: the ``number`` series with the largest values."""
        return replace(self, text=f"topk({number}, {self.text})", operand=True)

    def at_least(self, number: float) -> "Expr":
        """``clamp_min``: a value below ``number`` becomes ``number``."""
        return replace(self, text=f"clamp_min({self.text}, {_number(number)})", operand=True)

    def at_most(self, number: float) -> "Expr":
        """``clamp_max``: a value above ``number`` becomes ``number``."""
        return replace(self, text=f"clamp_max({self.text}, {_number(number)})", operand=True)

    def is_(self, operator: str, number: float) -> "Expr":
        """The series whose value compares to ``number`` as ``operator`` says; the others are left out."""
        return replace(self, text=f"{self.grouped} {operator} {_number(number)}", operand=False)

    above = partialmethod(is_, ">")
    """The series whose value is more than a number; the others are left out."""

    def times(self, number: float) -> "Expr":
        """Every value multiplied by ``number``."""
        return replace(self, text=f"{self.grouped} * {_number(number)}", operand=False)

    def beside(self, other: "Expr", *by: str) -> "Expr":
        """The sum of two kinds of series whose labels differ, so that none hides another."""
        if self.labels == other.labels:
            raise PromqlError(
                f"{self.text!r} and {other.text!r} have the same labels: one would hide the other"
            )
        self.require(by)
        other.require(by)
        text, labels = f"{self.grouped} or {other.grouped}", self.labels | other.labels
        return replace(self, text=text, labels=labels, operand=False).sum(*by)

    def or_others(self, other: "Expr") -> "Expr":
        """Both kinds of series, to be aggregated no more; only a label that both have can be named."""
        text = f"{self.grouped} or {other.grouped}"
        return replace(self, text=text, labels=self.labels & other.labels, operand=False)

    def smaller_of(self, other: "Expr") -> "Expr":
        """The smaller value of two series with the same labels; that of ``other`` where only it has one."""
        return self._with("<=", other).or_(other)

    def age(self) -> "Expr":
        """Seconds since the time that is the value."""
        return replace(self, text=f"time() - {self.grouped}", operand=False)

    @property
    def grouped(self) -> str:
        """The text as an operand, in parentheses where it needs them."""
        return self.text if self.operand else f"({self.text})"

    def require(self, labels: Sequence[str]) -> None:
        """Refuse labels that the series do not have."""
        if unknown := set(labels) - self.labels:
            raise PromqlError(f"{self.text!r} has no label {', '.join(sorted(unknown))}")


NOW: Final = Expr("vector(1)")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series are meant: ``matchers`` are patterns by label, used where a metric has the label."""

    matchers: Mapping[str, str]
    window: str = RATE_INTERVAL
    narrowing: Mapping[str, str] = field(default_factory=dict)

    def narrowed(self, **matchers: str) -> "Scope":
        """The scope with more matchers; unlike the first ones, a metric must have their labels."""
        return replace(self, narrowing={**self.narrowing, **matchers})

    def gauge(self, metric: Metric, offset: str = "", **only: Value) -> Expr:
        """A gauge as it is, or was ``offset`` ago."""
        if metric.kind is Kind.COUNTER:
            raise PromqlError(f"{metric.name} is a counter: its rate or growth says something")
        return self._over_replicas(metric, self.selector(metric, **only) + _offset(offset))

    def total(self, metric: Metric, offset: str = "", **only: Value) -> Expr:
        """A counter since it began; only a difference of such says something."""
        self._require_counter(metric)
        return self._over_replicas(metric, self.selector(metric, **only) + _offset(offset))

    def rate(self, metric: Metric, **only: Value) -> Expr:
        """Growth of a counter in a second."""
        self._require_counter(metric)
        return self._over_replicas(metric, f"rate({self.selector(metric, **only)}[{self.window}])")

    def grown(
        self, metric: Metric, window: str = "", by: Sequence[str] = (), offset: str = "", **only: Value
    ) -> Expr:
        """Growth of a counter, exact to the record: its value now less its value before the window.

        It holds over a change of pods too. A series that did not exist before the window has grown by its
        whole value if it is in fewer scrapes of the window than those that read the whole store: it began
        within the window. So the very first scrape, and the first after an outage, do not count what has long
        been counted. After a reset (all was counted anew, a backup was restored), and where neither gives a
        value, it is what came since the least that was scraped.

        With ``by`` the series are added up by these labels first: what moves between them is no growth. With
        ``offset`` the window ended so long ago.
        """
        self._require_counter(metric)
        window = window or self.window
        series = self.selector(metric, **only)
        end, begin = f"{series}{_offset(offset)}", f"{series} offset {_added(window, offset)}"
        began = f"{end} and ({self._compared(metric, series, '<', window, offset)})"
        read = [self._over_replicas(metric, text) for text in (end, begin, began)]
        since = f"{end} - min_over_time({series}[{window}]{_offset(offset)})"
        every = (*read, self._over_replicas(metric, since))
        now, then, whole, risen = (one.sum(*by) if by else one for one in every)
        return now.minus(then).is_(">=", 0).or_(whole).or_(risen)

    def known(self, metric: Metric, window: str, **only: Value) -> Expr:
        """The series of a counter that were there before the window began; the value says nothing."""
        self._require_counter(metric)
        return self._over_replicas(
            metric, self._compared(metric, self.selector(metric, **only), ">=", window)
        )

    def last(self, metric: Metric, window: str, **only: Value) -> Expr:
        """The last value of a gauge within the window, also of one that is gone."""
        return self._over_replicas(metric, f"last_over_time({self.selector(metric, **only)}[{window}])")

    def absent(self, metric: Metric) -> Expr:
        """1 where no series is."""
        return Expr(f"absent({self.selector(metric)})")

    def targets(self) -> Expr:
        """What Prometheus scrapes or tries to, whether it answers or not."""
        return self.of_rule("up", (*INSTALLATION, "instance")).max(*INSTALLATION)

    def of_rule(self, name: str, labels: Sequence[str]) -> Expr:
        """What a recording rule has made of series in this scope."""
        matchers = (f'{label}=~"{regex}"' for label, regex in self.matchers.items() if label in labels)
        return Expr(f"{name}{{{', '.join(matchers)}}}", frozenset(labels))

    def or_zero(self, expression: Expr) -> Expr:
        """0 instead of nothing, while every installation is read whole: no news is good news only then."""
        if expression.labels:
            raise PromqlError(f"{expression.text!r} has labels: a single number can be 0")
        whole = self._anywhere.gauge(catalog.STORE_UP).min().is_("==", 1)
        return expression.or_(whole.times(0))

    def _compared(self, metric: Metric, series: str, operator: str, window: str, offset: str = "") -> str:
        """Compare in how many scrapes of the window a series is with how many read the whole store.

        Both have the same labels of their target, whatever Prometheus adds to them.
        """
        store = self._anywhere.selector(catalog.STORE_UP)
        ranged = f"[{window}]{_offset(offset)}"
        whole = f"sum_over_time({store}{ranged})"
        own = ", ".join(metric.labels)
        return f"count_over_time({series}{ranged}) {operator} ignoring ({own}) group_left () {whole}"

    @property
    def _anywhere(self) -> "Scope":
        return replace(self, narrowing={})

    @staticmethod
    def _over_replicas(metric: Metric, text: str) -> Expr:
        kept = (*INSTALLATION, *metric.labels)
        return Expr(f"max by ({', '.join(kept)}) ({text})", frozenset(kept))

    def selector(self, metric: Metric, **only: Value) -> str:
        """The metric with its matchers."""
        if metric not in catalog.ALL:
            raise PromqlError(f"{metric.name} is not in the catalogue")
        labels = {*INSTALLATION, *metric.labels}
        if unknown := (set(only) | set(self.narrowing)) - labels:
            raise PromqlError(f"{metric.name} has no label {', '.join(sorted(unknown))}")
        matchers = {label: f'=~"{regex}"' for label, regex in self.matchers.items() if label in labels}
        matchers |= {label: f'=~"{regex}"' for label, regex in self.narrowing.items()}
        matchers |= {label: _matcher(value) for label, value in only.items()}
        return f"{metric.name}{{{', '.join(label + value for label, value in matchers.items())}}}"

    @staticmethod
    def _require_counter(metric: Metric) -> None:
        if metric.kind is not Kind.COUNTER and metric not in RISING:
            raise PromqlError(f"{metric.name} is no counter")


def _number(number: float) -> str:
    """To twelve digits, and none of them in an exponent: two weeks have 1209600 seconds."""
    return f"{number:.12g}"


def _offset(offset: str) -> str:
    return f" offset {offset}" if offset else ""


def _added(duration: str, more: str) -> str:
    """The sum of two durations as Prometheus writes them; of one alone, as it is written."""
    if not more:
        return duration
    parts = [_PART.findall(text) for text in (duration, more)]
    if not all(parts):
        raise PromqlError(f"{duration!r} and {more!r} cannot be added: one is no duration")
    return f"{sum(int(number) * _UNITS_MS[unit] for part in parts for number, unit in part)}ms"


def _matcher(value: Value) -> str:
    return f'="{value}"' if isinstance(value, str) else f'=~"{"|".join(value)}"'
