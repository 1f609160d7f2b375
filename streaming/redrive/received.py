"""What librdkafka hands over, with the types that it has for records, and the codes that begin with ``_``."""

from typing import Final, Protocol, cast

from confluent_kafka import Consumer, KafkaError

PARTITION_EOF: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 -- public, whatever its name
TIMED_OUT: Final = KafkaError._TIMED_OUT  # noqa: SLF001
STATE: Final = KafkaError._STATE  # noqa: SLF001
PURGED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001
BESIDE: Final = KafkaError._INVALID_DIFFERENT_RECORD  # noqa: SLF001
"""Of a record whose batch was refused for another one."""
EXPIRED: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    }
)
UNKNOWN_PLACE: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)
HOPELESS: Final = UNKNOWN_PLACE | {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
"""What only people can mend when it happens to a consumer."""


class Received(Protocol):
    """A record, or an error of its partition."""

    def topic(self) -> str: ...  # noqa: D102 -- as librdkafka's
    def partition(self) -> int: ...  # noqa: D102
    def offset(self) -> int: ...  # noqa: D102
    def timestamp(self) -> tuple[int, int]: ...  # noqa: D102
    def key(self) -> bytes | None: ...  # noqa: D102
    def value(self) -> bytes | None: ...  # noqa: D102
    def headers(self) -> list[tuple[str, bytes | None]] | None: ...  # noqa: D102
    def error(self) -> KafkaError | None: ...  # noqa: D102


def consume(consumer: Consumer, most: int, timeout_s: float) -> list[Received]:
    """Records and errors; returns when there are as many, or when the time is over."""
    return cast("list[Received]", consumer.consume(most, timeout_s))
