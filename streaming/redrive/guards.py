"""What pauses or slows an order before it does harm, looked at every few seconds."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka import admin as typed_admin

from collector.kafka import Options
from streaming.redrive.order import Guards

admin: Any = typed_admin  # its types leave out what is used here

Offsets = Mapping[tuple[str, int], int]
"""By topic and partition; below 0: there is none."""

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


class LagRefusedError(Exception):
    """We may not see how far the group is; says what to grant."""


class Lag(Protocol):
    """How far a group is behind."""

    def __call__(self, topics: Iterable[str]) -> int:
        """The most records that the group has still to read of one topic."""


class GroupLag:
    """As the brokers tell it; partitions without a commit count from their beginning."""

    def __init__(self, connection: Options, group: str, user: str) -> None:
        self._admin, self._group, self._user = admin.AdminClient(connection), group, user

    def __call__(self, topics: Iterable[str]) -> int:
        """Raises ``LagRefusedError``, and ``KafkaException`` when the brokers do not answer."""
        known = self._admin.list_topics(timeout=TIMEOUT_S).topics
        places = [
            TopicPartition(topic, partition) for topic in topics for partition in known[topic].partitions
        ]
        if not places:
            return 0
        committed = self._committed(places)
        begin, end = (
            self._offsets(places, spec) for spec in (admin.OffsetSpec.earliest(), admin.OffsetSpec.latest())
        )
        behind: Counter[str] = Counter()
        for topic, partition in end:
            place = (topic, partition)
            behind[topic] += max(end[place] - max(committed.get(place, 0), begin[place]), 0)
        return max(behind.values())

    def _committed(self, places: list[TopicPartition]) -> Offsets:
        asked = [ConsumerGroupTopicPartitions(self._group, places)]
        (answer,) = self._admin.list_consumer_group_offsets(asked, request_timeout=TIMEOUT_S).values()
        try:
            told = answer.result().topic_partitions
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise
            right = f"DESCRIBE on group {self._group}"
            raise LagRefusedError(f"Kafka refuses {self._user} {right}: grant it, then resume") from error
        return {(one.topic, one.partition): one.offset for one in told}

    def _offsets(self, places: list[TopicPartition], spec: object) -> Offsets:
        asked = self._admin.list_offsets(dict.fromkeys(places, spec), request_timeout=TIMEOUT_S)
        return {(place.topic, place.partition): found.result().offset for place, found in asked.items()}


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
            try:
                self._room = max(most - self._lag(topics), 0) // self._shared_by
            except LagRefusedError as refused:
                return str(refused), 0
            self._topics, self._next_lag_ms = topics, now_ms + BRAKE_MS
        return reason, self._room

    def wrote(self, records: int) -> None:
        """The group has as many more to read."""
        self._room = max(self._room - records, 0)
