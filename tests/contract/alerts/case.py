"""What Prometheus has to make of a rule: series, a moment, and who is told of it."""

from collections.abc import Mapping
from dataclasses import dataclass

Series = Mapping[str, str]
"""Values by series, as promtool notes them; the job is added, and a store that is read whole."""

UP = "1x2000"
STORE = 'deadwatch_store_up{job="deadwatch", instance="a"}'
DLQ = 'kafka_cluster="c", dlq_topic="dlq.a"'
SENT = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a", outcome="sent"}}'
PARKED = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a.parked", outcome="parked"}}'
TASK = 'kafka_cluster="c", worker="w", connector="n", task="0"'
ON_TOPIC = {"kafka_cluster": "c", "dlq_topic": "dlq.a"}


@dataclass(frozen=True)
class Case:
    """At ``at`` the alert fires with these labels and this summary; with no ``labels`` it is silent."""

    alert: str
    name: str
    series: Series
    at: str
    labels: Mapping[str, str] | None = None
    value: str = ""
    summary: str = ""
    store: str = UP
    window: str = ""


def counter(alert: str, series: str, labels: Mapping[str, str], summary: str) -> list[Case]:
    """What holds for every alert on a counter: a series that first appears counts wholly, an old one not."""
    first, quiet = 5, "80m"
    appears, grows = f"_x9 {first}x300", f"100x9 {100 + first}x300"
    there = f"{first}x300"
    reset = f"{first}x9 0x300"
    return [
        Case(
            alert,
            "fires on a series that first appears",
            {series: appears},
            "11m",
            labels,
            str(first),
            summary,
        ),
        Case(alert, "fires on growth", {series: grows}, "11m", labels, str(first), ""),
        Case(alert, "resolves when nothing more happens", {series: grows}, quiet),
        Case(alert, "is silent while idle", {series: there}, "11m"),
        Case(alert, "is silent on a reset", {series: reset}, "11m"),
        Case(alert, "is silent without series", {}, "11m"),
        Case(
            alert,
            "is silent when a long-lived service is first scraped",
            {series: f"_x9 {first}x300"},
            "11m",
            store="_x9 1x300",
        ),
        Case(
            alert,
            "is silent when Prometheus was away",
            {series: f"{first}x3 _x6 {first}x300"},
            "11m",
            store="1x3 _x6 1x300",
        ),
    ]


def gauge(
    alert: str, series: str, labels: Mapping[str, str], value: str, summary: str, *, wait_m: int
) -> list[Case]:
    """What holds for every alert on a gauge that is 0 when all is well."""
    raised = f"0x9 {value}x20 0x60"
    return [
        Case(alert, "fires after its time", {series: raised}, f"{11 + wait_m}m", labels, value, summary),
        Case(alert, "resolves", {series: raised}, "40m"),
        Case(alert, "is silent at 0", {series: "0x90"}, "30m"),
        Case(alert, "is silent without series", {}, "30m"),
        *(
            [Case(alert, "is silent on a blink", {series: f"0x9 {value}x0 0x60"}, f"{11 + wait_m}m")]
            if wait_m
            else []
        ),
    ]
