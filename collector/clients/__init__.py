"""Timeouts of Kafka clients, reported from within the application that uses them.

    KafkaPythonTimeoutInstrumentor().instrument(reporters=[EventsReporter(KafkaConnection(...))])
    ConfluentKafkaTimeoutInstrumentor().instrument(meter_provider=...)

Nothing in here raises into the application, waits, or starts before something has gone wrong. What each
library can report, and what it does not expose, is described in ``kafka_python`` and ``confluent``.

Names are OpenTelemetry's for messaging, schema 1.43: ``messaging.system`` (kafka), ``messaging.client.id``,
``messaging.destination.name``, ``messaging.destination.partition.id``, ``messaging.batch.message_count``,
``error.type`` (the library's name of the error). Our own: ``deadwatch.client.library`` (kafka-python or
librdkafka), ``deadwatch.timeout`` (metadata, buffer, commit, request or poll), ``deadwatch.elapsed_ms``.
"""

from collector.clients.confluent import ConfluentKafkaTimeoutInstrumentor, DeliveryReports
from collector.clients.kafka_python import KafkaPythonTimeoutInstrumentor
from collector.clients.observations import (
    CommitFailed,
    Expired,
    Observation,
    Reporter,
    Retried,
    TimedOut,
    Timeout,
)
from collector.clients.reporters import EventsReporter, OpenTelemetryReporter

__all__ = [
    "CommitFailed",
    "ConfluentKafkaTimeoutInstrumentor",
    "DeliveryReports",
    "EventsReporter",
    "Expired",
    "KafkaPythonTimeoutInstrumentor",
    "Observation",
    "OpenTelemetryReporter",
    "Reporter",
    "Retried",
    "TimedOut",
    "Timeout",
]
