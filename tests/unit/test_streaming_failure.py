"""Sixty lines of Java become one."""

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

CASES = [
    (
        "the innermost cause of a Java stack",
        RuntimeError(TIMEOUT),
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.",
        True,
    ),
    ("an error of kafka-python", KafkaTimeoutError("nobody"), "KafkaTimeoutError: nobody", True),
    (
        "the first line of what has no cause",
        ValueError("\ndatabase is locked\n[SQL: …]"),
        "database is locked",
        False,
    ),
    (
        "a full disk, whoever met it",
        RuntimeError("[STREAM_FAILED] x\nCaused by: java.io.IOException: No space left on device\n\tat y"),
        DISK_FULL,
        False,
    ),
    ("an error without text", ValueError(), "ValueError", False),
]


@pytest.mark.parametrize(
    ("error", "message", "kafka"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_a_failure_is_one_line(error: Exception, message: str, kafka: bool) -> None:
    failure = failure_of(error)
    assert (failure.message, failure.kafka) == (message, kafka)


def test_a_line_has_an_end() -> None:
    assert len(failure_of(ValueError("x" * 9_999)).message) == 500
