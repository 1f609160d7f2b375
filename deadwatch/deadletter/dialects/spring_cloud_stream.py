"""What Spring Cloud Stream's Kafka binder writes with ``enableDlq`` (``KafkaMessageChannelBinder``).

It names no consumer group; the exception is a wrapper around the thrown one, which is in the stack trace. The
names are such as others use, too: a dialect of a user's own goes before it.
"""

from typing import Final

from deadwatch.deadletter.dialects.dialect import Dialect

ORIGINAL: Final = "x-original-"
EXCEPTION: Final = "x-exception-"

SPRING_CLOUD_STREAM: Final = Dialect(
    name="spring_cloud_stream",
    source_topic=ORIGINAL + "topic",
    source_partition=ORIGINAL + "partition",
    source_offset=ORIGINAL + "offset",
    error_class=EXCEPTION + "fqcn",
    message=EXCEPTION + "message",
    stacktrace=EXCEPTION + "stacktrace",
    others=(ORIGINAL + "timestamp", ORIGINAL + "timestamp-type"),
    wrappers=frozenset(
        {
            "org.springframework.kafka.listener.ListenerExecutionFailedException",
            "org.springframework.messaging.MessageHandlingException",
        }
    ),
    binary_numbers=True,
)
