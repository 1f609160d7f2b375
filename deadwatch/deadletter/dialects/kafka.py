"""What Kafka's own parts write: Connect's sinks and transformations (KIP-298), the exception handlers of
Streams (KIP-1034), brokers for share groups (KIP-1191), and this service for what it cannot read itself.
"""

from typing import Final

from deadwatch.contract import headers
from deadwatch.contract.quarantine import MESSAGES
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
STREAMS: Final = Dialect(
    name="streams",
    prefix=headers.STREAMS,
    source_topic=headers.STREAMS_TOPIC,
    source_partition=headers.STREAMS_PARTITION,
    source_offset=headers.STREAMS_OFFSET,
    error_class=headers.STREAMS_EXCEPTION,
    message=headers.STREAMS_MESSAGE,
)
SHARE_GROUP: Final = Dialect(
    name="share_group",
    prefix=headers.SHARE,
    source_topic=headers.SHARE_TOPIC,
    source_partition=headers.SHARE_PARTITION,
    source_offset=headers.SHARE_OFFSET,
    consumergroup=headers.SHARE_GROUP,
    message=headers.SHARE_MESSAGE,
    error_classes={
        "Offset rejected by client.": "rejected",
        "Offset delivery count exceeded the threshold.": "delivery_count_exceeded",
        **{message: reason for reason, message in MESSAGES.items()},
    },
)
