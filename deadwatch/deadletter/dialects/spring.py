"""What Spring Kafka writes to dead letter topics, by itself and at the end of its retry topics, and what the
Kafka binder of Spring Cloud Stream writes.

``DeadLetterPublishingRecoverer`` writes ``kafka_dlt-*``. ``@RetryableTopic`` writes ``kafka_original-*``,
``kafka_exception-*`` and at last ``retry_topic-*``, but the group as ``kafka_dlt-original-consumer-group``:
so each field has the names of both families, those of the family that wrote last before the others.

Spring Cloud Stream (``KafkaMessageChannelBinder`` with ``enableDlq``) names no consumer group; the exception
is a wrapper around the thrown one, which is in the stack trace. The names are such as others use, too: a
dialect of a user's own goes before it.
"""

from typing import Final

from deadwatch.contract.headers import SPRING, SPRING_DLT, SPRING_RETRY
from deadwatch.deadletter.dialects.dialect import Dialect

LISTENER_FAILED: Final = "org.springframework.kafka.listener.ListenerExecutionFailedException"
WRAPPERS: Final = (
    LISTENER_FAILED,
    "org.springframework.kafka.listener.TimestampedException",
    "org.springframework.kafka.support.serializer.DeserializationException",
)


def _family(first: str, second: str, *prefixes: str) -> Dialect:
    """The family of the prefix ``first``; what it does not have is read from the other family."""

    def either(*names: str) -> tuple[str, ...]:
        return tuple(prefix + name for prefix in (first, second) for name in names)

    return Dialect(
        name="spring",
        prefix=prefixes,
        source_topic=either("original-topic"),
        source_partition=either("original-partition"),
        source_offset=either("original-offset"),
        consumergroup=SPRING_DLT + "original-consumer-group",
        error_class=either("exception-fqcn", "key-exception-fqcn"),
        message=either("exception-message", "key-exception-message"),
        cause_class=either("exception-cause-fqcn"),
        stacktrace=either("exception-stacktrace", "key-exception-stacktrace"),
        wrappers=WRAPPERS,
        drop_headers=(SPRING_RETRY + "*",),
        binary_numbers=True,
    )


DEAD_LETTER: Final = _family(SPRING_DLT, SPRING, SPRING_DLT)
RETRY: Final = _family(
    SPRING,
    SPRING_DLT,
    *(SPRING + name for name in ("original-", "exception-", "key-exception-")),
    SPRING_RETRY,
)

ORIGINAL: Final = "x-original-"
EXCEPTION: Final = "x-exception-"

CLOUD_STREAM: Final = Dialect(
    name="spring_cloud_stream",
    source_topic=ORIGINAL + "topic",
    source_partition=ORIGINAL + "partition",
    source_offset=ORIGINAL + "offset",
    error_class=EXCEPTION + "fqcn",
    message=EXCEPTION + "message",
    stacktrace=EXCEPTION + "stacktrace",
    others=(ORIGINAL + "timestamp", ORIGINAL + "timestamp-type"),
    wrappers=(LISTENER_FAILED, "org.springframework.messaging.MessageHandlingException"),
    binary_numbers=True,
)
