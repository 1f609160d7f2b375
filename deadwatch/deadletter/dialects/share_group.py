"""What brokers write for share groups (KIP-1191), and this service for what it cannot read itself."""

from typing import Final

from deadwatch.contract import headers
from deadwatch.contract.quarantine import MESSAGES
from deadwatch.deadletter.dialects.dialect import Dialect

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
