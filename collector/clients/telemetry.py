"""Reports through OpenTelemetry: counters, and a log event for each timeout.

| metric | counts | attributes beside system, client and ``error.type`` |
|---|---|---|
| ``deadwatch.client.delivery_timeouts`` | batches | ``messaging.destination.name`` |
| ``deadwatch.client.delivery_timeout.records`` | records of these batches | ``messaging.destination.name`` |
| ``deadwatch.client.timeouts`` | other timeouts | ``deadwatch.timeout`` |
| ``deadwatch.client.retries`` | records sent once more | ``messaging.destination.name`` |
| ``deadwatch.client.commit_failures`` | failed commits | |

The events ``deadwatch.client.delivery_timeout`` and ``deadwatch.client.timeout`` carry these attributes,
``messaging.destination.partition.id``, ``messaging.batch.message_count`` and ``deadwatch.elapsed_ms``.
"""

from typing import Final

from opentelemetry._logs import LoggerProvider, SeverityNumber, get_logger
from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.semconv._incubating.attributes import messaging_attributes as messaging
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.util.types import AttributeValue

from collector.clients.observations import CommitFailed, Expired, Observation, Retried, TimedOut

SCOPE: Final = "deadwatch.client"
SCHEMA_URL: Final = Schemas.V1_43_0.value
LIBRARY: Final = "deadwatch.client.library"
TIMEOUT: Final = "deadwatch.timeout"
ELAPSED_MS: Final = "deadwatch.elapsed_ms"

Attributes = dict[str, AttributeValue]


class OpenTelemetryReporter:
    """Without providers the global ones are used."""

    def __init__(
        self, meter_provider: MeterProvider | None = None, logger_provider: LoggerProvider | None = None
    ) -> None:
        meter = get_meter(SCOPE, meter_provider=meter_provider, schema_url=SCHEMA_URL)
        counter = meter.create_counter
        self._logger = get_logger(SCOPE, logger_provider=logger_provider, schema_url=SCHEMA_URL)
        self._batches = counter(f"{SCOPE}.delivery_timeouts", "{batch}", "Batches not delivered in time.")
        self._records = counter(
            f"{SCOPE}.delivery_timeout.records", "{record}", "Records of batches not delivered in time."
        )
        self._timeouts = counter(f"{SCOPE}.timeouts", "{timeout}", "Other timeouts, by what was waited for.")
        self._retries = counter(f"{SCOPE}.retries", "{record}", "Records that are sent once more.")
        self._commit_failures = counter(f"{SCOPE}.commit_failures", "{commit}", "Commits that failed.")

    def report(self, seen: Observation) -> None:
        """Count it, and log an event where something timed out."""
        attributes = _common(seen)
        match seen:
            case Expired():
                self._expired(seen, attributes)
            case TimedOut():
                self._timed_out(seen, attributes)
            case Retried():
                attributes[messaging.MESSAGING_DESTINATION_NAME] = seen.topic
                self._retries.add(seen.records, attributes)
            case CommitFailed():
                self._commit_failures.add(1, attributes)

    def _expired(self, seen: Expired, attributes: Attributes) -> None:
        attributes[messaging.MESSAGING_DESTINATION_NAME] = seen.topic
        self._batches.add(1, attributes)
        self._records.add(seen.records, attributes)
        details: Attributes = {
            messaging.MESSAGING_DESTINATION_PARTITION_ID: str(seen.partition),
            messaging.MESSAGING_BATCH_MESSAGE_COUNT: seen.records,
            ELAPSED_MS: seen.elapsed_ms,
        }
        self._emit("delivery_timeout", seen.message, attributes | details)

    def _timed_out(self, seen: TimedOut, attributes: Attributes) -> None:
        attributes[TIMEOUT] = seen.timeout.value
        self._timeouts.add(1, attributes)
        self._emit("timeout", seen.message, attributes)

    def _emit(self, event: str, message: str, attributes: Attributes) -> None:
        self._logger.emit(
            event_name=f"{SCOPE}.{event}",
            severity_number=SeverityNumber.WARN,
            body=message,
            attributes=attributes,
        )


def _common(seen: Observation) -> Attributes:
    return {
        messaging.MESSAGING_SYSTEM: messaging.MessagingSystemValues.KAFKA.value,
        messaging.MESSAGING_CLIENT_ID: seen.client_id,
        LIBRARY: seen.client,
        ERROR_TYPE: seen.error,
    }
