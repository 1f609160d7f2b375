"""The metrics: declared in ``catalog``, made of rows in ``samples``, written in ``exposition``."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from deadwatch.contract.signals.signal import Signal
from deadwatch.store import series
from deadwatch.store.series import Series


class Kind(StrEnum):
    """The types of metrics, as OpenMetrics spells them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric whose name is promised to users.

    ``series`` is the series of the store that keeps it.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    series: Series | None = None

    @property
    def kind(self) -> Kind:
        """The type, by the suffix that OpenMetrics gives it."""
        return {"total": Kind.COUNTER, "info": Kind.INFO}.get(self.name.rpartition("_")[2], Kind.GAUGE)

    @property
    def family(self) -> str:
        """The name without the suffix that OpenMetrics gives its type."""
        return self.name.removesuffix({Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(self.kind, ""))


def kept(name: str, text: str, counters: Series) -> Metric:
    """The metric of a series of the store, with its labels."""
    return Metric(name, text, counters.labels, counters)


def counter(signal: Signal) -> Metric:
    """The metric of a signal."""
    return kept(signal.metric, signal.help, series.of(signal))


def declared(names: Mapping[str, object]) -> tuple[Metric, ...]:
    """The metrics among a module's names, in the order of their declaration."""
    return tuple(value for value in names.values() if isinstance(value, Metric))
