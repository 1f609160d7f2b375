"""Alerts on Kafka Streams and producers: patience that ends, deliveries that expire."""

from typing import Final

from api.metrics import catalog
from dashboards import delivery_timeouts, task_timeouts
from dashboards.promql import Expr, Scope
from dashboards.rules.alert import COUNT, Alert, Knobs
from dashboards.rules.values import Severity

APPLICATION: Final = ("kafka_cluster", "application")
THREAD: Final = (*APPLICATION, "decision")
PRODUCER: Final = ("kafka_cluster", "topic", "client_id")
CLIENT: Final = ("kafka_cluster", "client_id")


def _timeouts(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.TASK_TIMEOUTS, knobs.window).sum(*APPLICATION).above(knobs.threshold)


def _timers(scope: Scope, knobs: Knobs) -> Expr:
    return scope.gauge(catalog.TASK_TIMERS).sum(*APPLICATION).above(knobs.threshold)


def _deaths(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.STREAM_THREAD_DEATHS, knobs.window).sum(*THREAD).above(knobs.threshold)


def _expired(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.DELIVERY_TIMEOUT_RECORDS, knobs.window).sum(*PRODUCER).above(knobs.threshold)


def _backoff(scope: Scope, knobs: Knobs) -> Expr:
    return scope.grown(catalog.RETRY_BACKOFF_MISCONFIGURED, knobs.window).sum(*CLIENT).above(knobs.threshold)


ALERTS: Final = (
    Alert(
        "DeadwatchTaskTimeouts",
        Severity.CRITICAL,
        _timeouts,
        f"{COUNT} tasks of {{{{ $labels.application }}}} timed out",
        "Tasks of this Streams application on cluster {{ $labels.kafka_cluster }} made no progress within "
        "task.timeout.ms; each ends a stream thread. Look at the brokers the tasks depend on.",
        task_timeouts.UID,
    ),
    Alert(
        "DeadwatchTaskTimersRunning",
        Severity.WARNING,
        _timers,
        f"{COUNT} tasks of {{{{ $labels.application }}}} wait without progress",
        "A call of each on cluster {{ $labels.kafka_cluster }} timed out and nothing moved since. When "
        "task.timeout.ms is over, stream threads end: there is still time to mend what they wait for.",
        task_timeouts.UID,
        wait="2m",
        keep_firing_for="5m",
    ),
    Alert(
        "DeadwatchStreamThreadDied",
        Severity.CRITICAL,
        _deaths,
        f"{COUNT} stream threads of {{{{ $labels.application }}}} died: {{{{ $labels.decision }}}}",
        "An exception ended them on cluster {{ $labels.kafka_cluster }}. After REPLACE_THREAD a new one "
        "works on; "
        "after SHUTDOWN_CLIENT or SHUTDOWN_APPLICATION nothing does until somebody restarts it.",
        task_timeouts.UID,
    ),
    Alert(
        "DeadwatchDeliveryTimeouts",
        Severity.CRITICAL,
        _expired,
        f"{COUNT} records to {{{{ $labels.topic }}}} expired at {{{{ $labels.client_id }}}}",
        "The producer gave them up after delivery.timeout.ms on cluster {{ $labels.kafka_cluster }}: the "
        "application sends each again, or it is lost. Look at the topic's leaders and the producer's load.",
        delivery_timeouts.UID,
    ),
    Alert(
        "DeadwatchBackoffMisconfigured",
        Severity.INFO,
        _backoff,
        "Client {{ $labels.client_id }} backs off by a constant time",
        "Its retry.backoff.ms is above retry.backoff.max.ms (cluster {{ $labels.kafka_cluster }}), so waits "
        "do not "
        "grow and it hammers a broker that recovers. Set the first below the second.",
        delivery_timeouts.UID,
        window="1h",
    ),
)
