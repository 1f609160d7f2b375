"""Kafka Streams and producers: deadlines that pass. What is a signal has the cases of a counter."""

from deadwatch.contract import signals
from deadwatch.contract.signals.signal import Signal
from tests.contract.alerts.case import ON_CLUSTER, OURS, Case, Firing, counter, gauge

STREAMS = 'kafka_cluster="c", application="words"'
TIMERS = f"deadwatch_task_timers{{{STREAMS}}}"
OF_APPLICATION = {**ON_CLUSTER, "application": "words"}


def of(signal: Signal) -> dict[str, list[Case]]:
    """Those of the signal's alert; every label has its own name as its value."""
    if signal.alert is None:
        return {}
    labels = {label: label for label in ("kafka_cluster", *signal.labels)}
    series = ", ".join(f'{label}="{value}"' for label, value in labels.items())
    firing = {**OURS, **{label: label for label in ("kafka_cluster", *signal.alert.by)}}
    summary = signal.alert.summary.format(count=5, **firing)
    nobody = signal.alert.summary.format(count=5, **dict.fromkeys(signal.alert.by, "(unnamed)"))
    grows = f'{signal.metric}{{kafka_cluster="c"}}'
    return {
        signal.alert.name: [
            *counter(f"{signal.metric}{{{series}}}", Firing(firing, summary)),
            Case("says that labels have no value", {grows: "0x9 5x60"}, "11m", ON_CLUSTER, "5", nobody),
        ]
    }


CASES: dict[str, list[Case]] = {
    **{name: cases for signal in signals.ALL for name, cases in of(signal).items()},
    "DeadwatchTaskTimersRunning": gauge(
        TIMERS, Firing(OF_APPLICATION, "3 tasks of words wait without progress"), "3", wait_m=2
    ),
}
