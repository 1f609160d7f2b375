"""What sinks and transformations of Kafka Connect write (KIP-298)."""

from typing import Final

from deadwatch.contract import headers
from deadwatch.deadletter.dialects.dialect import Dialect

CONNECT: Final = Dialect(
    name="connect",
    prefix=headers.CONNECT,
    source_topic=headers.CONNECT_TOPIC,
    source_partition=headers.CONNECT_PARTITION,
    source_offset=headers.CONNECT_OFFSET,
    connector=headers.CONNECT_CONNECTOR,
    error_class=headers.CONNECT_EXCEPTION,
    message=headers.CONNECT_MESSAGE,
)
