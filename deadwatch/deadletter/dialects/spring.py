"""What Spring Kafka writes to dead letter topics, by itself and at the end of its retry topics.

``DeadLetterPublishingRecoverer`` writes ``kafka_dlt-*``. ``@RetryableTopic`` writes ``kafka_original-*``,
``kafka_exception-*`` and at last ``retry_topic-*``, but the group as ``kafka_dlt-original-consumer-group``:
so each field has the names of both families, those of the family that wrote last before the others.
"""

from typing import Final

from deadwatch.contract.headers import SPRING, SPRING_DLT, SPRING_RETRY
from deadwatch.deadletter.dialects.dialect import Dialect

WRAPPERS: Final = frozenset(
    {
        "org.springframework.kafka.listener.ListenerExecutionFailedException",
        "org.springframework.kafka.listener.TimestampedException",
        "org.springframework.kafka.support.serializer.DeserializationException",
    }
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
