"""Events that cannot be read go to our own dead letter topic, as KIP-1191 would write them.

The topic is written before the store is: a batch that is run again writes them again. What comes from a dead
letter topic is never refused, so that no record can go round in circles. Without that topic, and without the
right to create it, what is refused is passed over with an error line; it is counted all the same.
"""

import logging
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from collector.contract import headers
from collector.contract.quarantine import GROUP
from streaming import cluster
from streaming.refusals import MESSAGES
from streaming.settings import StreamingSettings

logger = logging.getLogger(__name__)

BROKEN_HEADERS: Final = "broken_headers"


def refused_records(decoded: DataFrame, *, copies: bool) -> DataFrame:
    """The refused of a decoded batch as Spark's Kafka sink takes them: key, value, headers.

    Without ``copies``, as by default in KIP-1191, key and value are null: the original stands where it was.
    """
    context = {
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
    content = [F.col(name) if copies else F.lit(None).cast("binary").alias(name) for name in ("key", "value")]
    return refused.select(*content, F.array(*entries).alias("headers"))


def write(decoded: DataFrame, settings: StreamingSettings) -> None:
    """Write the refused of a decoded batch to our own dead letter topic."""
    if not settings.quarantine_auto_create_topics_enable and not cluster.has_quarantine(settings):
        logger.error(
            "%s does not exist: what cannot be read is counted and passed over; create the topic, or set"
            " quarantine_auto_create_topics_enable",
            settings.quarantine_topic,
        )
        return
    limits = {
        "kafka.max.block.ms": settings.default_api_timeout_ms,
        "kafka.delivery.timeout.ms": settings.default_api_timeout_ms,
        "kafka.request.timeout.ms": settings.request_timeout_ms,
    }
    records = refused_records(decoded, copies=settings.quarantine_copy_record_enable)
    writer = records.write.format("kafka").options(**settings.kafka.spark(), **limits)
    writer.option("topic", settings.quarantine_topic).save()


def _message(reason: Column) -> Column:
    text = F.lit("")
    for name, message in MESSAGES.items():
        text = F.when(reason == name, message).otherwise(text)
    return text
