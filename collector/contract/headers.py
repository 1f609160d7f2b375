"""Header names of the dead letter dialects we read and of the records we write.

Values are UTF-8 text, numbers as decimal text; of several headers of one name the last counts.
Sources: Connect ``DeadLetterQueueReporter`` (KIP-298), brokers ``ShareGroupDLQStateManager`` (KIP-1191).
"""

from typing import Final

CONNECT: Final = "__connect.errors."
CONNECT_TOPIC: Final = CONNECT + "topic"
CONNECT_PARTITION: Final = CONNECT + "partition"
CONNECT_OFFSET: Final = CONNECT + "offset"
CONNECT_CONNECTOR: Final = CONNECT + "connector.name"
CONNECT_TASK: Final = CONNECT + "task.id"
CONNECT_STAGE: Final = CONNECT + "stage"
CONNECT_CLASS: Final = CONNECT + "class.name"
CONNECT_EXCEPTION: Final = CONNECT + "exception.class.name"
CONNECT_MESSAGE: Final = CONNECT + "exception.message"
CONNECT_STACKTRACE: Final = CONNECT + "exception.stacktrace"

SHARE: Final = "__dlq.errors."
SHARE_TOPIC: Final = SHARE + "topic"
SHARE_PARTITION: Final = SHARE + "partition"
SHARE_OFFSET: Final = SHARE + "offset"
SHARE_GROUP: Final = SHARE + "group"
SHARE_DELIVERY_COUNT: Final = SHARE + "delivery.count"
SHARE_MESSAGE: Final = SHARE + "message"
