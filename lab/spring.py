"""A Spring Kafka application 4.0.7 whose listeners fail until they are fixed: ``SpringListeners.java``.

Each listener has a topic and a dead letter topic: ``RETRIED`` fails through two retry topics
(``@RetryableTopic``), ``RECOVERED`` at once (``DeadLetterPublishingRecoverer``), and the records of
``UNREADABLE`` cannot be deserialized (``ErrorHandlingDeserializer``).
"""

from typing import Final

RETRIED: Final = "spring-orders"
RECOVERED: Final = "spring-payments"
UNREADABLE: Final = "spring-numbers"
PROCESSED: Final = "spring-processed"
"""Holds a copy of each record that a fixed listener has processed, with its topic as key."""
GROUP: Final = "spring-billing"
DLQ_OF: Final = {topic: f"{topic}-dlt" for topic in (RETRIED, RECOVERED, UNREADABLE)}
TOPICS: Final = (RECOVERED, UNREADABLE, RETRIED, DLQ_OF[RECOVERED], DLQ_OF[UNREADABLE], PROCESSED)
"""Those that the lab makes; Spring makes the others."""

WRAPPER: Final = "org.springframework.kafka.listener.ListenerExecutionFailedException"
DESERIALIZATION: Final = "org.springframework.kafka.support.serializer.DeserializationException"


def thrown(topic: str, number: int) -> tuple[str, str]:
    """Class and message of the exception that the record ``order-<number>`` of a topic causes."""
    if topic == UNREADABLE:
        return (
            "org.apache.kafka.common.errors.SerializationException",
            "Size of data received by IntegerDeserializer is not 4",
        )
    if number % 2:
        return "java.lang.IllegalArgumentException", f"bad amount {number}"
    return "java.lang.IllegalStateException", f"no account {number}"
