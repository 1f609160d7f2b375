"""Where observations go: OpenTelemetry's names, and a reporter of events whose broker is away."""

import atexit
import logging
import os
import threading
from functools import partial

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from collector.clients import (
    CommitFailed,
    EventsReporter,
    Expired,
    Observation,
    OpenTelemetryReporter,
    Retried,
    TimedOut,
    Timeout,
)
from deadwatch.runtime.kafka import KafkaConnection
from tests.unit.collector.clients.seen import counted

NO_KAFKA = KafkaConnection(bootstrap_servers="127.0.0.1:1")
EXPIRED = Expired(
    client="kafka-python",
    client_id="p-1",
    error="KafkaTimeoutError",
    topic="orders",
    partition=3,
    records=7,
    elapsed_ms=2_001,
    message="Expiring 7 record(s)",
)
OBSERVATIONS: tuple[Observation, ...] = (
    EXPIRED,
    EXPIRED,
    TimedOut(client="librdkafka", client_id="c-1", error="_X", timeout=Timeout.POLL, message="left"),
    Retried(client="kafka-python", client_id="p-1", error="RequestTimedOutError", topic="orders", records=7),
    CommitFailed(client="librdkafka", client_id="c-1", error="_WAIT_COORD", message="no coordinator"),
)
PRODUCER = {
    "messaging.system": "kafka",
    "messaging.client.id": "p-1",
    "messaging.destination.name": "orders",
    "deadwatch.client.library": "kafka-python",
    "error.type": "KafkaTimeoutError",
}
CONSUMER = {
    "messaging.system": "kafka",
    "messaging.client.id": "c-1",
    "deadwatch.client.library": "librdkafka",
}


def test_counters_and_their_attributes_are_those_that_are_documented() -> None:
    reader = InMemoryMetricReader()
    reporter = OpenTelemetryReporter(MeterProvider([reader]))
    for seen in OBSERVATIONS:
        reporter.report(seen)
    assert counted(reader) == {
        "deadwatch.client.delivery_timeouts": (2, PRODUCER),
        "deadwatch.client.delivery_timeout.records": (14, PRODUCER),
        "deadwatch.client.timeouts": (1, CONSUMER | {"deadwatch.timeout": "poll", "error.type": "_X"}),
        "deadwatch.client.retries": (7, PRODUCER | {"error.type": "RequestTimedOutError"}),
        "deadwatch.client.commit_failures": (1, CONSUMER | {"error.type": "_WAIT_COORD"}),
    }


def test_a_timeout_is_a_log_event_and_a_retry_is_none() -> None:
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # the library's
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    reporter = OpenTelemetryReporter(MeterProvider(), provider)
    for seen in OBSERVATIONS[1:]:
        reporter.report(seen)
    delivery, poll = (each.log_record for each in exporter.get_finished_logs())
    assert (delivery.event_name, delivery.body) == (
        "deadwatch.client.delivery_timeout",
        "Expiring 7 record(s)",
    )
    assert dict(delivery.attributes or {}) == PRODUCER | {
        "messaging.destination.partition.id": "3",
        "messaging.batch.message_count": 7,
        "deadwatch.elapsed_ms": 2_001,
    }
    assert (poll.event_name, poll.body) == ("deadwatch.client.timeout", "left")
    provider.shutdown()


def test_two_threads_of_an_application_whose_log_goes_to_kafka_do_not_wait_for_each_other() -> None:
    """One is told that events are dropped while the other one reports from the log's handler."""
    reporter = EventsReporter(NO_KAFKA, capacity=1)
    writing, told = threading.Event(), threading.Event()
    log = logging.getLogger("collector.clients")
    application = log.getChild("application")

    class ToKafka(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == application.name:
                writing.set()
                told.wait(10)
                reporter.report(EXPIRED)

        def filter(self, record: logging.LogRecord) -> bool:
            if record.name != application.name:
                told.set()
            return True

    handler = ToKafka()
    reporter.report(EXPIRED)
    calls = (partial(application.error, "x"), partial(reporter.report, EXPIRED))
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    log.addHandler(handler)
    threads[0].start()
    assert writing.wait(10)
    threads[1].start()
    for thread in threads:
        thread.join(10)
    log.removeHandler(handler)
    assert not any(thread.is_alive() for thread in threads)
    assert reporter.dropped == 2
    reporter.close(timeout_ms=1)


def test_events_that_find_no_room_are_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    reporter = EventsReporter(NO_KAFKA, capacity=2)
    for _ in range(5):
        reporter.report(EXPIRED)
    assert reporter.dropped == 3
    assert reporter.close(timeout_ms=1) == 2
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "Events for deadwatch.events are dropped: Local: Queue full",
        "2 events are not published yet, 3 were dropped",
    ]


def test_what_is_no_event_needs_no_connection() -> None:
    reporter = EventsReporter(NO_KAFKA)
    for seen in OBSERVATIONS[3:]:
        reporter.report(seen)
    assert not reporter._connections
    assert reporter.flush(1) == reporter.dropped == 0


def test_a_forked_process_waits_once_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit = atexit._ncallbacks()
    reporter = EventsReporter(NO_KAFKA)
    reporter.report(EXPIRED)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    reporter.report(EXPIRED)
    assert (len(reporter._connections), atexit._ncallbacks()) == (2, at_exit + 1)
    reporter.close(timeout_ms=1)
