"""Header names of the dead letter dialects we read and of the records we write.

Values are UTF-8 text, numbers as decimal text; of several headers of one name the last counts.
Sources: Connect ``DeadLetterQueueReporter`` (KIP-298), brokers ``ShareGroupDLQStateManager`` (KIP-1191),
Streams ``ExceptionHandlerUtils`` (KIP-1034), Spring Kafka ``KafkaHeaders`` and ``RetryTopicHeaders`` (numbers
are big-endian bytes).
"""

import re
from typing import Final

CONNECT: Final = "__connect.errors."
CONNECT_TOPIC: Final = CONNECT + "topic"
CONNECT_PARTITION: Final = CONNECT + "partition"
CONNECT_OFFSET: Final = CONNECT + "offset"
CONNECT_CONNECTOR: Final = CONNECT + "connector.name"
CONNECT_EXCEPTION: Final = CONNECT + "exception.class.name"
CONNECT_MESSAGE: Final = CONNECT + "exception.message"

SHARE: Final = "__dlq.errors."
SHARE_TOPIC: Final = SHARE + "topic"
SHARE_PARTITION: Final = SHARE + "partition"
SHARE_OFFSET: Final = SHARE + "offset"
SHARE_GROUP: Final = SHARE + "group"
SHARE_DELIVERY_COUNT: Final = SHARE + "delivery.count"
SHARE_MESSAGE: Final = SHARE + "message"

STREAMS: Final = "__streams.errors."
STREAMS_EXCEPTION: Final = STREAMS + "exception"
STREAMS_MESSAGE: Final = STREAMS + "message"
STREAMS_TOPIC: Final = STREAMS + "topic"
STREAMS_PARTITION: Final = STREAMS + "partition"
STREAMS_OFFSET: Final = STREAMS + "offset"

SPRING: Final = "kafka_"
SPRING_DLT: Final = SPRING + "dlt-"
SPRING_RETRY: Final = "retry_topic-"

REDRIVE: Final = "deadwatch.redrive."
REDRIVE_ID: Final = REDRIVE + "id"
"""The order that moved the record last."""
REDRIVE_ATTEMPTS: Final = REDRIVE + "attempts"
"""How often the record was moved, over all orders."""
REDRIVE_NOT_BEFORE_MS: Final = REDRIVE + "not-before-ms"
"""The record was not to be moved before, ms since the epoch."""
REDRIVE_ORIGIN: Final = REDRIVE + "origin"
"""Where the record was read first: ``<topic>/<partition>/<offset>``."""
REDRIVE_MOVED_AT_MS: Final = REDRIVE + "moved-at-ms"
"""When the record was moved last, ms since the epoch: its next wait begins no earlier."""
REDRIVE_GROUP: Final = REDRIVE + "group"
"""Fingerprint of the group of dead letters that the record was in when it was moved last."""
REDRIVE_PARKED_REASON: Final = REDRIVE + "parked-reason"
"""Why the record was parked; on parked records alone, as the next one."""
REDRIVE_PARKED_AT_MS: Final = REDRIVE + "parked-at-ms"
"""When the record was parked, ms since the epoch."""


TRACEPARENT: Final = "traceparent"
TRACEPARENT_FORM: Final = "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,100})?$"
TRACE_ID: Final = "trace_id"
SPAN_ID: Final = "span_id"
TRACED_MS: Final = "traced_ms"
"""Details of a series: the trace of the newest counted record with one, and that record's time in ms."""

_PARTS = re.compile("(?!ff)..-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-.*")


def trace_facts(traceparent: str, timestamp_ms: int) -> dict[str, int | str]:
    """The details that a series keeps of a traceparent (W3C Trace Context 1); none without a trace."""
    match = _PARTS.fullmatch(traceparent)
    return {} if match is None else {TRACE_ID: match[1], SPAN_ID: match[2], TRACED_MS: timestamp_ms}
