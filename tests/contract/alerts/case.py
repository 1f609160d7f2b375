"""What Prometheus has to make of a rule: series, a moment, and which alert fires."""

from collections.abc import Mapping
from dataclasses import dataclass

Series = Mapping[str, str]
"""Values by series, as promtool notes them; the job is added, and a store that is read whole."""

NOTHING: Series = {}
UP = "1x2000"
STORE = 'deadwatch_store_up{job="deadwatch", instance="a"}'
OTHER_STORE = 'deadwatch_store_up{instance="b", namespace="other"}'
OTHER_TARGET = OTHER_STORE.replace("deadwatch_store_up", "up")
DLQ = 'kafka_cluster="c", dlq_topic="dlq.a"'
SENT = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a", outcome="sent"}}'
PARKED = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a.parked", outcome="parked"}}'
TASK = 'kafka_cluster="c", worker="w", connector="n", task="0"'
OURS = {"job": "deadwatch"}
ON_CLUSTER = {**OURS, "kafka_cluster": "c"}
ON_TOPIC = {**ON_CLUSTER, "dlq_topic": "dlq.a"}
OF_CONNECTOR = {**ON_CLUSTER, "connector": "n"}


@dataclass(frozen=True)
class Case:
    """At ``at`` the alert fires with these labels and this summary; with no ``labels`` it is silent."""

    name: str
    series: Series
    at: str
    labels: Mapping[str, str] | None = None
    value: str = ""
    summary: str = ""
    store: str = UP
    window: str = ""


@dataclass(frozen=True)
class Firing:
    """An alert's labels where it fires, and its summary; ``{}`` is the value."""

    labels: Mapping[str, str]
    summary: str

    def case(  # noqa: PLR0917 -- in the order in which a case has them
        self, name: str, series: Series, at: str, value: str, store: str = UP, window: str = "", **other: str
    ) -> Case:
        """It fires; ``other`` are labels that differ from the usual ones."""
        labels = {**self.labels, **other}
        return Case(name, series, at, labels, value, self.summary.format(value), store, window)


def counter(series: str, firing: Firing) -> list[Case]:
    """What holds for every alert on a counter: a series that first appears counts wholly, an old one not."""
    first, quiet = 5, "80m"
    appears, grows = f"_x9 {first}x300", f"100x9 {100 + first}x300"
    return [
        firing.case("fires on a series that first appears", {series: appears}, "11m", str(first)),
        firing.case("fires on growth", {series: grows}, "11m", str(first)),
        Case("resolves when nothing more happens", {series: grows}, quiet),
        Case("is silent while idle", {series: f"{first}x300"}, "11m"),
        Case("is silent on a reset", {series: f"{first}x9 0x300"}, "11m"),
        Case("is silent when all is counted anew", {series: f"200x9 {100 + first}x300"}, "11m"),
        firing.case("fires on growth since", {series: f"200x8 100 {100 + first}x300"}, "20m", str(first)),
        Case("is silent without series", {}, "11m"),
        Case(
            "is silent when a long-lived service is first scraped",
            {series: appears},
            "11m",
            store="_x9 1x300",
        ),
        Case(
            "is silent when Prometheus was away",
            {series: f"{first}x3 _x6 {first}x300"},
            "11m",
            store="1x3 _x6 1x300",
        ),
    ]


def gauge(
    series: str,
    firing: Firing,
    value: str = "1",
    *,
    wait_m: int = 5,
    well: str = "0",
    beside: Series = NOTHING,
    lasts: bool = False,
) -> list[Case]:
    """What holds for every alert on a gauge that is ``well`` when all is well, ``beside`` other series.

    One that ``lasts`` goes on for a while where the gauge has no value.
    """
    raised = {**beside, series: f"{well}x9 {value}x20 {well}x60"}
    blink = {**beside, series: f"{well}x9 {value}x{wait_m - 1} {well}x60"}
    return [
        firing.case("fires after its time", raised, f"{11 + wait_m}m", value),
        Case("resolves", raised, "40m"),
        Case("is silent when all is well", {**beside, series: f"{well}x90"}, "30m"),
        Case("is silent without series", beside, "30m"),
        Case("is silent on a blink", blink, f"{11 + wait_m}m"),
        *(_lasting(series, firing, value) if lasts else []),
    ]


def _lasting(series: str, firing: Firing, value: str) -> list[Case]:
    """Two minutes of every five it has no value; then for longer; then for good."""
    gaps = " ".join([f"{value}x2 stale _x1"] * 6)
    return [
        firing.case("fires in spite of gaps", {series: gaps}, "18m", value),
        firing.case("goes on over a longer gap", {series: f"{value}x19 stale _x6 {value}x20"}, "26m", value),
        Case("resolves when it is gone", {series: f"{value}x19 stale _x60"}, "40m"),
    ]
