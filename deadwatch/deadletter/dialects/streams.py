"""What the exception handlers of Kafka Streams write (KIP-1034)."""

from typing import Final

from deadwatch.contract import headers
from deadwatch.deadletter.dialects.dialect import Dialect

STREAMS: Final = Dialect(
    name="streams",
    prefix=headers.STREAMS,
    source_topic=headers.STREAMS_TOPIC,
    source_partition=headers.STREAMS_PARTITION,
    source_offset=headers.STREAMS_OFFSET,
    error_class=headers.STREAMS_EXCEPTION,
    message=headers.STREAMS_MESSAGE,
)
