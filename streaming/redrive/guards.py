"""What pauses or slows an order before it does harm, looked at every few seconds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from confluent_kafka import Consumer, TopicPartition

from collector.kafka import Options
from streaming.redrive.order import Guards

LOOK_MS: Final = 5_000
BRAKE_MS: Final = 1_000
"""How often the group that a target is read by is asked how far it is."""
LEAST_SENT: Final = 20
"""Below this a ratio says nothing."""
TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Returns:
    """Of the records that an order has sent, how many came back within its settle window."""

    sent: int
    bounced: int


Watch = Callable[[str], Returns]
"""Asked with the order's id; the store counts."""


def loop_in_the_making(guards: Guards, returns: Returns) -> str:
    """Why the order has to stop; "" while it need not."""
    if guards.max_bounce_ratio is None or returns.sent < LEAST_SENT:
        return ""
    ratio = returns.bounced / returns.sent
    if ratio <= guards.max_bounce_ratio:
        return ""
    return (
        f"{returns.bounced} of {returns.sent} records came back ({ratio:.0%}, guards.max_bounce_ratio is "
        f"{guards.max_bounce_ratio:.0%}): mend the cause, then resume"
    )


class Lag(Protocol):
    """How far a group is behind."""

    def __call__(self, topics: Iterable[str]) -> int:
        """The most records that the group has still to read of one topic."""

    def close(self) -> None:
        """Let go of the connection."""


class GroupLag:
    """As the brokers tell it; partitions without a commit count from their beginning."""

    def __init__(self, connection: Options, group: str) -> None:
        self._consumer = Consumer(connection | {"group.id": group, "enable.auto.commit": False})

    def __call__(self, topics: Iterable[str]) -> int:
        """Raises ``KafkaException`` when the brokers do not answer."""
        return max(map(self._of_topic, topics), default=0)

    def close(self) -> None:
        """Let go of the connection; it has never joined the group."""
        self._consumer.close()

    def _of_topic(self, topic: str) -> int:
        partitions = self._consumer.list_topics(timeout=TIMEOUT_S).topics[topic].partitions
        places = [TopicPartition(topic, partition) for partition in partitions]
        return sum(map(self._of_partition, self._consumer.committed(places, timeout=TIMEOUT_S)))

    def _of_partition(self, place: TopicPartition) -> int:
        low, end = self._consumer.get_watermark_offsets(
            TopicPartition(place.topic, place.partition), timeout=TIMEOUT_S
        )
        return max(end - max(place.offset, low), 0)


class Guard:
    """Of one order; returns are asked for every ``LOOK_MS``, lags also when they hold the order up."""

    def __init__(self, order: str, guards: Guards, watch: Watch, lag: Lag | None, shared_by: int = 1) -> None:
        self._order, self._guards, self._watch, self._lag = order, guards, watch, lag
        self._next_look_ms = self._next_lag_ms = 0
        self._topics: frozenset[str] = frozenset()
        self._room, self._shared_by = 0, shared_by

    def trip(self, now_ms: int, topics: frozenset[str]) -> tuple[str, int | None]:
        """Why to pause ("" for not), and how many records the target's group leaves room for; None: any.

        ``topics`` are the targets so far. As long as there is none there is room for one record.
        """
        reason = ""
        if now_ms >= self._next_look_ms:
            self._next_look_ms = now_ms + LOOK_MS
            reason = loop_in_the_making(self._guards, self._watch(self._order))
        most = self._guards.max_target_lag
        if self._lag is None or most is None:
            return reason, None
        if not topics:
            return reason, 1
        if now_ms >= self._next_lag_ms or topics != self._topics:
            self._room = max(most - self._lag(topics), 0) // self._shared_by
            self._topics, self._next_lag_ms = topics, now_ms + BRAKE_MS
        return reason, self._room

    def wrote(self, records: int) -> None:
        """The group has as many more to read."""
        self._room = max(self._room - records, 0)

    def close(self) -> None:
        """Let go of what it holds."""
        if self._lag is not None:
            self._lag.close()
