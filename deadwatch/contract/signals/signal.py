"""What a signal is: an event that is counted, and what people see of the counter.

A module of this package declares an event and its signals once. Its presence is enough: streaming counts the
event, the api exports the metric, ``make dashboards`` writes the panel, the alert, its runbook where there is
none, and a row of docs/dashboards.md.
"""

from dataclasses import dataclass
from enum import StrEnum

from deadwatch.contract.event import Event

__all__ = ["Alert", "Event", "Severity", "Signal"]


class Severity(StrEnum):
    """How soon somebody has to look: now, today, when there is time, never."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Alert:
    """Fires where the counter has grown by more than ``threshold`` in ``window``, by cluster and ``by``.

    In the texts ``{count}`` is by how much, ``{label}`` the value of a label. ``runbook`` says in a sentence
    each what it means, who is hurt and how to fix it: the page to begin with.
    """

    name: str
    severity: Severity
    by: tuple[str, ...]
    summary: str
    description: str
    window: str = "15m"
    threshold: float = 0
    runbook: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A counter of events; ``labels`` are fields of the event, beside its cluster.

    ``series`` is its name in the store, ``help`` the text of its metric. An event adds 1,
    or its field ``records`` where the signal ``counts_records``.

    The dashboard with the uid ``board`` has a number with ``title`` and ``text``: how much the counter has
    grown in the chosen time; without ``text`` the dashboard shows it in a way of its own. Above 0 the number
    is red, or orange where that is ``odd`` rather than bad. ``page`` is the page of the api that tells more.
    """

    series: str
    metric: str
    event: type[Event]
    labels: tuple[str, ...]
    help: str
    board: str
    title: str
    text: str = ""
    page: str = "/api/v1/overview"
    odd: bool = False
    alert: Alert | None = None
    counts_records: bool = False
