"""What became of the dead letters of the traffic, as Kafka has it and as the orders tell."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from deadwatch.contract.headers import REDRIVE_ID
from tests.chaos.traffic import DLQ_TOPIC, ELSEWHERE, ORIGIN
from tests.kafka_topics import messages

SURELY = (b"connect", b"streams", b"spring")
"""Dialects that tell where a record came from: an order of everything moves it."""

Order = Mapping[str, Any]
"""As the api answers."""
WITHIN_S = 600


@dataclass(frozen=True)
class Moved:
    """``lies`` tells where a dead letter is, by its value; ``sent`` how often an order has sent it."""

    lies: Mapping[bytes, tuple[int, int]]
    sent: Counter[tuple[str, bytes]]

    @classmethod
    def of(cls, bootstrap_servers: str) -> Self:
        """All that is committed."""
        letters = messages(bootstrap_servers, DLQ_TOPIC, WITHIN_S)
        lies = {one.value() or b"": (one.partition() or 0, one.offset() or 0) for one in letters}
        sent: Counter[tuple[str, bytes]] = Counter()
        for topic in (ORIGIN, ELSEWHERE):
            for one in messages(bootstrap_servers, topic, WITHIN_S):
                headers: dict[str, Any] = dict(one.headers() or [])
                sent[headers[REDRIVE_ID].decode(), one.value() or b""] += 1
        return cls(lies, sent)

    def by_order(self) -> Counter[str]:
        """How many records each has sent."""
        found: Counter[str] = Counter()
        for (order, _), times in self.sent.items():
            found[order] += times
        return found

    def lost(self, orders: Iterable[Order]) -> list[tuple[str, bytes]]:
        """What a completed order has left behind of the offsets that it names, and no order has sent."""
        arrived = {value for _, value in self.sent}
        left = [(value, at) for value, at in self.lies.items() if value not in arrived and surely(value)]
        return [
            (one["id"], value)
            for one in orders
            if one["status"] == "COMPLETED" and one["request"]["limits"]["max_records"] is None
            for value, at in left
            if names(one, at)
        ]

    def twice(self) -> list[tuple[str, bytes]]:
        """What one order has sent more than once."""
        return [one for one, times in self.sent.items() if times > 1]

    def strayed(self, orders: Iterable[Order]) -> list[tuple[str, bytes]]:
        """What was sent by an order that is not known, or does not name it."""
        known = {one["id"]: one for one in orders}
        return [
            (order, value)
            for order, value in self.sent
            if order not in known or (intervals(known[order]) and not names(known[order], self.lies[value]))
        ]


def surely(value: bytes) -> bool:
    """Whether an order of everything moves it."""
    return value.startswith(SURELY)


def intervals(order: Order) -> Mapping[str, tuple[int, int]]:
    """The offsets that it names, by partition; none where it selects in another way."""
    return order["request"]["selection"]["offsets"] or {}


def names(order: Order, at: tuple[int, int]) -> bool:
    """Whether the offset of the partition is among them; what came after the order is not part of it."""
    partition, offset = str(at[0]), at[1]
    first, end = intervals(order).get(partition, (0, 0))
    return bool(first <= offset < min(end, order["cut_off"].get(partition, 0)))
