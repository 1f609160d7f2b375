"""Kafka Streams and producers: deadlines that pass. What is a signal has the cases of a counter."""

from deadwatch.contract import signals
from deadwatch.contract.signals.signal import Signal
from tests.contract.alerts.case import Case, counter, gauge

STREAMS = 'kafka_cluster="c", application="words"'
TIMERS = f"deadwatch_task_timers{{{STREAMS}}}"
OF_APPLICATION = {"kafka_cluster": "c", "application": "words"}


def of(signal: Signal) -> dict[str, list[Case]]:
    """Those of the signal's alert; every label has its own name as its value."""
    if signal.alert is None:
        return {}
    labels = {label: label for label in ("kafka_cluster", *signal.labels)}
    series = ", ".join(f'{label}="{value}"' for label, value in labels.items())
    firing = {label: labels[label] for label in ("kafka_cluster", *signal.alert.by)}
    summary = signal.alert.summary.format(count=5, **firing)
    return {signal.alert.name: counter(f"{signal.metric}{{{series}}}", firing, summary)}


CASES: dict[str, list[Case]] = {
    **{name: cases for signal in signals.ALL for name, cases in of(signal).items()},
    "DeadwatchTaskTimersRunning": gauge(
        TIMERS, OF_APPLICATION, "3", "3 tasks of words wait without progress", wait_m=2
    ),
}
