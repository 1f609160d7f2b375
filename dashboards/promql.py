"""PromQL made from the metric catalogue: what it does not have cannot be asked for.

An expression knows its labels; a metric, a label of a selector or a label of ``by`` that does not exist is a
``PromqlError`` while dashboards and rules are built, not an empty panel at 3 a.m.

Every replica of the api reads the same store and shows the same figures, so a series is read as the maximum
over ``instance`` and ``pod``. A counter is read by ``rate``, ``increase`` or ``grown``; ``total`` is for the
difference of two counters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from api.metrics import catalog
from api.metrics.catalog import Kind, Metric

JOB: Final = "job"
REPLICAS: Final = "instance, pod"
RATE_INTERVAL: Final = "$__rate_interval"

RISING: Final = (catalog.SHARE_RECORDS,)
"""Gauges by their names that only rise, as counters do."""

Value = str | Sequence[str]
"""What a label must be: a text, or one of several."""


class PromqlError(ValueError):
    """The expression asks for what the catalogue does not have."""


@dataclass(frozen=True, slots=True)
class Expr:
    """An instant vector: its text, the labels of its series, whether it is an operand without parentheses."""

    text: str
    labels: frozenset[str] = frozenset()
    operand: bool = True

    def sum(self, *by: str) -> Self:
        """Added up."""
        return self._aggregate("sum", by)

    def max(self, *by: str) -> Self:
        """The largest."""
        return self._aggregate("max", by)

    def min(self, *by: str) -> Self:
        """The smallest."""
        return self._aggregate("min", by)

    def count(self, *by: str) -> Self:
        """How many series."""
        return self._aggregate("count", by)

    def top(self, number: int) -> Self:
        """The largest few."""
        return replace(self, text=f"topk({number}, {self.text})", operand=True)

    def at_least(self, number: float) -> Self:
        """No value below ``number``."""
        return replace(self, text=f"clamp_min({self.text}, {number:g})", operand=True)

    def at_most(self, number: float) -> Self:
        """No value above ``number``."""
        return replace(self, text=f"clamp_max({self.text}, {number:g})", operand=True)

    def is_(self, operator: str, number: float) -> Self:
        """The series whose value compares so."""
        return replace(self, text=f"{self.grouped} {operator} {number:g}", operand=False)

    def above(self, number: float) -> Self:
        """The series whose value is more."""
        return self.is_(">", number)

    def times(self, number: float) -> Self:
        """Multiplied."""
        return replace(self, text=f"{self.grouped} * {number:g}", operand=False)

    def beside(self, other: "Expr", *by: str) -> Self:
        """The sum of two kinds of series whose labels differ, so that none hides another."""
        if self.labels == other.labels:
            raise PromqlError(
                f"{self.text!r} and {other.text!r} have the same labels: one would hide the other"
            )
        other.require(by)
        return replace(self, text=f"{self.grouped} or {other.grouped}", operand=False).sum(*by)

    def smaller_of(self, other: "Expr") -> Self:
        """The smaller value of two with the same labels; theirs where we have none."""
        return self._between("<=", other).or_(other)

    def plus(self, other: "Expr") -> Self:
        """Sum of two with the same labels."""
        return self._between("+", other)

    def minus(self, other: "Expr") -> Self:
        """Difference of two with the same labels."""
        return self._between("-", other)

    def over(self, other: "Expr") -> Self:
        """Quotient of two with the same labels."""
        return self._between("/", other)

    def or_(self, other: "Expr") -> Self:
        """Ours, and theirs where we have none."""
        return self._between("or", other)

    def and_(self, other: "Expr", *on: str) -> Self:
        """Ours, where they have one too."""
        return self._joined("and", other, on)

    def unless(self, other: "Expr", *on: str) -> Self:
        """Ours, where they have none."""
        return self._joined("unless", other, on)

    def age(self) -> Self:
        """Seconds since the time that is the value."""
        return replace(self, text=f"time() - {self.grouped}", operand=False)

    @property
    def grouped(self) -> str:
        """As an operand."""
        return self.text if self.operand else f"({self.text})"

    def _aggregate(self, function: str, by: Sequence[str]) -> Self:
        self.require(by)
        text = f"{function} by ({', '.join(by)}) ({self.text})" if by else f"{function}({self.text})"
        return replace(self, text=text, labels=frozenset(by), operand=True)

    def _between(self, operator: str, other: "Expr") -> Self:
        if self.labels != other.labels:
            differing = ", ".join(sorted(self.labels ^ other.labels))
            raise PromqlError(f"{self.text!r} and {other.text!r} do not match: only one has {differing}")
        text = f"{self.grouped} {operator} {other.grouped}"
        return replace(self, text=text, operand=False)

    def _joined(self, operator: str, other: "Expr", on: Sequence[str]) -> Self:
        self.require(on)
        other.require(on)
        matching = f"{operator} on ({', '.join(on)})"
        return replace(self, text=f"{self.grouped} {matching} {other.grouped}", operand=False)

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
        """With more matchers; unlike the first ones, a metric must have their labels."""
        return replace(self, narrowing={**self.narrowing, **matchers})

    def gauge(self, metric: Metric, offset: str = "", **only: Value) -> Expr:
        """A gauge as it is, or was ``offset`` ago."""
        if metric.kind is Kind.COUNTER:
            raise PromqlError(f"{metric.name} is a counter: its rate or increase says something")
        return self._read(metric, only, f"{{}}{_offset(offset)}")

    def total(self, metric: Metric, offset: str = "", **only: Value) -> Expr:
        """A counter since it began; only a difference of such says something."""
        self._require_counter(metric)
        return self._read(metric, only, f"{{}}{_offset(offset)}")

    def rate(self, metric: Metric, **only: Value) -> Expr:
        """Growth of a counter in a second."""
        self._require_counter(metric)
        return self._read(metric, only, f"rate({{}}[{self.window}])")

    def increase(self, metric: Metric, window: str = "", offset: str = "", **only: Value) -> Expr:
        """Growth of a counter; of a series that first appears in the window, without its first value."""
        self._require_counter(metric)
        return self._read(metric, only, f"increase({{}}[{window or self.window}]{_offset(offset)})")

    def grown(self, metric: Metric, window: str = "", **only: Value) -> Expr:
        """Growth of a counter, to the record: now less then, over a change of pods too.

        A series that was not there then has grown by its whole value if it is in fewer scrapes of the window
        than were read whole: it began within it. So the very first scrape, and the first after an outage, do
        not count what has long been counted. After a reset, or where neither says a thing, ``increase`` does.
        """
        self._require_counter(metric)
        window = window or self.window
        series = self.selector(metric, **only)
        now, then = (self._over_replicas(metric, text) for text in (series, f"{series} offset {window}"))
        began = f"{series} and ({self._compared(series, '<', window)})"
        whole = self._over_replicas(metric, began)
        return now.minus(then).is_(">=", 0).or_(whole).or_(self.increase(metric, window, "", **only))

    def known(self, metric: Metric, window: str, **only: Value) -> Expr:
        """The series of a counter that were there before the window began; the value says nothing."""
        self._require_counter(metric)
        return self._over_replicas(metric, self._compared(self.selector(metric, **only), ">=", window))

    def absent(self, metric: Metric) -> Expr:
        """1 where no series is."""
        return Expr(f"absent({self.selector(metric)})")

    def recorded(self, name: str, *labels: str) -> Expr:
        """What a recording rule of ours gives."""
        return Expr(name, frozenset(labels))

    def whole(self, offset: str = "") -> Expr:
        """1 where a scrape read the whole store."""
        return self._anywhere.gauge(catalog.STORE_UP, offset).max(JOB).is_("==", 1)

    def or_zero(self, expression: Expr) -> Expr:
        """0 instead of nothing, as long as the service is read whole: no news is good news only then."""
        if expression.labels:
            raise PromqlError(f"{expression.text!r} has labels: a single number can be 0")
        return expression.or_(Expr(f"0 * max({self.whole().text})"))

    def _compared(self, series: str, operator: str, window: str) -> str:
        """In how many scrapes of the window a series is, against how many were read whole."""
        store = self._anywhere.selector(catalog.STORE_UP)
        whole = f"sum_over_time({store}[{window}])"
        return f"count_over_time({series}[{window}]) {operator} on (job, instance) group_left () {whole}"

    @property
    def _anywhere(self) -> "Scope":
        return replace(self, narrowing={})

    def _read(self, metric: Metric, only: Mapping[str, Value], form: str) -> Expr:
        return self._over_replicas(metric, form.format(self.selector(metric, **only)))

    @staticmethod
    def _over_replicas(metric: Metric, text: str) -> Expr:
        return Expr(f"max without ({REPLICAS}) ({text})", frozenset({JOB, *metric.labels}))

    def selector(self, metric: Metric, **only: Value) -> str:
        """The metric with its matchers."""
        if metric not in catalog.ALL:
            raise PromqlError(f"{metric.name} is not in the catalogue")
        labels = {JOB, *metric.labels}
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


def _offset(offset: str) -> str:
    return f" offset {offset}" if offset else ""


def _matcher(value: Value) -> str:
    return f'="{value}"' if isinstance(value, str) else f'=~"{"|".join(value)}"'
