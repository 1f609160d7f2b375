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

from collector.clients.confluent import ConfluentKafkaTimeoutInstrumentor as ConfluentKafkaTimeoutInstrumentor
from collector.clients.confluent import DeliveryReports as DeliveryReports
from collector.clients.kafka_python import KafkaPythonTimeoutInstrumentor as KafkaPythonTimeoutInstrumentor
from collector.clients.observations import CommitFailed as CommitFailed
from collector.clients.observations import Expired as Expired
from collector.clients.observations import Observation as Observation
from collector.clients.observations import Reporter as Reporter
from collector.clients.observations import Retried as Retried
from collector.clients.observations import TimedOut as TimedOut
from collector.clients.observations import Timeout as Timeout
from collector.clients.reporters import EventsReporter as EventsReporter
from collector.clients.reporters import OpenTelemetryReporter as OpenTelemetryReporter
