"""Kafka Streams and producers: patience that ends, deliveries that expire."""

from tests.contract.alerts.case import Case, counter, gauge

STREAMS = 'kafka_cluster="c", application="words"'
TIMEOUTS = f'deadwatch_task_timeouts_total{{{STREAMS}, task="0_0"}}'
TIMERS = f"deadwatch_task_timers{{{STREAMS}}}"
DEATHS = f'deadwatch_stream_thread_deaths_total{{{STREAMS}, decision="SHUTDOWN_CLIENT"}}'
EXPIRED = (
    'deadwatch_delivery_timeout_records_total{kafka_cluster="c", topic="t", client_id="p", client="java"}'
)
BACKOFF = 'deadwatch_retry_backoff_misconfigured_total{kafka_cluster="c", client_id="p"}'
OF_APPLICATION = {"kafka_cluster": "c", "application": "words"}

CASES: list[Case] = [
    *counter("DeadwatchTaskTimeouts", TIMEOUTS, OF_APPLICATION, "5 tasks of words timed out"),
    *counter(
        "DeadwatchStreamThreadDied",
        DEATHS,
        {**OF_APPLICATION, "decision": "SHUTDOWN_CLIENT"},
        "5 stream threads of words died: SHUTDOWN_CLIENT",
    ),
    *counter(
        "DeadwatchDeliveryTimeouts",
        EXPIRED,
        {"kafka_cluster": "c", "topic": "t", "client_id": "p"},
        "5 records to t expired at p",
    ),
    *counter(
        "DeadwatchBackoffMisconfigured",
        BACKOFF,
        {"kafka_cluster": "c", "client_id": "p"},
        "Client p backs off by a constant time",
    ),
    *gauge(
        "DeadwatchTaskTimersRunning",
        TIMERS,
        OF_APPLICATION,
        "3",
        "3 tasks of words wait without progress",
        wait_m=2,
    ),
]
