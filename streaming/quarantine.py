"""Events that cannot be read go to our own dead letter topic, as KIP-1191 would write them.

The topic is written before the store is: a batch that is run again writes them again. What comes from a dead
letter topic is never refused, so that no record can go round in circles.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from collector.contract import headers
from streaming.settings import StreamingSettings

NOT_JSON: Final = "not_json"
UNKNOWN_KIND: Final = "unknown_kind"
INCOMPLETE: Final = "incomplete"
BROKEN_HEADERS: Final = "broken_headers"
GROUP: Final = "deadwatch"

MESSAGES: Final[Mapping[str, str]] = {
    NOT_JSON: "The event is not a JSON object.",
    UNKNOWN_KIND: "The event's kind is not known.",
    INCOMPLETE: "The event lacks a field or has one of another type.",
}


def refused_records(decoded: DataFrame) -> DataFrame:
    """The refused of a decoded batch as Spark's Kafka sink takes them: key, value, headers."""
    context: Mapping[str, Column] = {
        headers.SHARE_TOPIC: F.col("topic"),
        headers.SHARE_PARTITION: F.col("partition").cast("string"),
        headers.SHARE_OFFSET: F.col("offset").cast("string"),
        headers.SHARE_GROUP: F.lit(GROUP),
        headers.SHARE_MESSAGE: _message(F.col("refused")),
    }
    entries = [
        F.struct(F.lit(name).alias("key"), text.cast("binary").alias("value"))
        for name, text in context.items()
    ]
    refused = decoded.where(F.col("refused").isNotNull())
    return refused.select("key", "value", F.array(*entries).alias("headers"))


def write(decoded: DataFrame, settings: StreamingSettings) -> None:
    """Write the refused of a decoded batch to our own dead letter topic."""
    limits = {
        "kafka.max.block.ms": settings.default_api_timeout_ms,
        "kafka.delivery.timeout.ms": settings.default_api_timeout_ms,
        "kafka.request.timeout.ms": settings.request_timeout_ms,
    }
    writer = refused_records(decoded).write.format("kafka").options(**settings.kafka.spark(), **limits)
    writer.option("topic", settings.quarantine_topic).save()


def _message(reason: Column) -> Column:
    text = F.lit("")
    for name, message in MESSAGES.items():
        text = F.when(reason == name, message).otherwise(text)
    return text
