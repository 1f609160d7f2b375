"""Failures of the queries in one line."""

import pytest
from kafka.errors import KafkaTimeoutError

from streaming.failure import DISK_FULL, failure_of

TIMEOUT = """[STREAM_FAILED] Query terminated with exception: java.util.concurrent.ExecutionException: x
=== Streaming Query ===
JVM stacktrace:
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated
\tat org.apache.spark.sql.execution.streaming.StreamExecution.run(StreamExecution.scala:1)
Caused by: java.util.concurrent.ExecutionException: wrapped
\tat java.base/java.util.concurrent.CompletableFuture.get(CompletableFuture.java:2073)
Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.
\t... 60 more"""

ROOT = "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment."
FULL = "[STREAM_FAILED] x\nCaused by: java.io.IOException: No space left on device\n\tat y"
LOCKED = "database is locked"
NANOSECONDS = (
    "[KAFKA_MALFORMED_RECORD_TIMESTAMP] Record at topic deadwatch.events partition 0 offset 63 has timestamp"
    " value 1795809910165000000\nCaused by: java.lang.ArithmeticException: long overflow\n\tat x"
)
UNTIMELY = (
    "not counted, a record has a time that Spark cannot hold: let its producer give milliseconds, delete what"
    " is up to its offset (kafka-delete-records.sh), or add a dead letter topic to dlq_topics_deny:"
    " deadwatch.events, partition 0, 63"
)
CASES = {
    "the innermost cause of a Java stack": (RuntimeError(TIMEOUT), ROOT, True),
    "an error of kafka-python": (KafkaTimeoutError("nobody"), "KafkaTimeoutError: nobody", True),
    "the first line of what has no cause": (ValueError(f"\n{LOCKED}\n[SQL: …]"), LOCKED, False),
    "a full disk, whoever met it": (RuntimeError(FULL), DISK_FULL, False),
    "a record whose time Spark cannot hold": (RuntimeError(NANOSECONDS), UNTIMELY, False),
    "an error without text": (ValueError(), "ValueError", False),
    "a line has an end": (ValueError("x" * 9_999), "x" * 500, False),
}


@pytest.mark.parametrize(("error", "message", "kafka"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line(error: Exception, message: str, kafka: bool) -> None:
    failure = failure_of(error)
    assert (failure.message, failure.kafka) == (message, kafka)
