"""Where a dead letter goes, and when it goes nowhere."""

from dataclasses import dataclass

import pytest

from deadwatch.contract import headers as names
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.order import MapTarget, OriginTarget, RetryTarget, Target, TopicTarget
from deadwatch.orders.reasons import SkipReason
from deadwatch.orders.targets import Skip, TargetPlace, TargetRules, cycle, target_of

TOPICS = {
    "orders": 6,
    "orders2": 6,
    "wide": 12,
    "orders-g1-retry": 6,
    "dlq.orders": 1,
    "orders-dlq.parked": 1,
    "errors": 1,
    "__consumer_offsets": 50,
    "deadwatch.events": 6,
    "secret.orders": 6,
}
OWN = frozenset({"deadwatch.events"})
RULES = TargetRules(TOPICS, OWN, allow=(r"(?!secret\.).*",), dlq_topics=frozenset({"errors"}))
ORIGIN = OriginTarget()


def to(topic: str) -> TopicTarget:
    return TopicTarget(kind="topic", topic=topic)


def redirected(**redirects: str) -> MapTarget:
    return MapTarget(kind="map", map=redirects)


def retry(group: str, topic: str | None = None) -> RetryTarget:
    return RetryTarget(kind="retry", consumergroup=group, topic=topic)


@dataclass(frozen=True)
class Case:
    name: str
    rule: Target
    expected: TargetPlace | Skip
    source: str = "orders"
    partition: str = "3"
    group: str = "g1"


CASES = [
    Case("back to where it came from", ORIGIN, TargetPlace("orders", 3)),
    Case("no origin is no guess", ORIGIN, Skip(SkipReason.NO_ORIGIN), source=""),
    Case("a partition that is not there: by key", ORIGIN, TargetPlace("orders", None), partition="6"),
    Case("a partition below zero: by key", ORIGIN, TargetPlace("orders", None), partition="-1"),
    Case("an origin that is gone", ORIGIN, Skip(SkipReason.TARGET_MISSING, "gone"), source="gone"),
    Case("an origin that is a dead letter topic", ORIGIN, Skip(SkipReason.TARGET_IS_DLQ, "errors"), "errors"),
    Case("an origin of Kafka's", ORIGIN, Skip(SkipReason.TARGET_INTERNAL, "__x"), source="__x"),
    Case("back into the very topic", ORIGIN, Skip(SkipReason.TARGET_CYCLE, "dlq.in"), source="dlq.in"),
    Case("a named topic with as many partitions", to("orders2"), TargetPlace("orders2", 3)),
    Case("a named topic with more partitions: by key", to("wide"), TargetPlace("wide", None)),
    Case("a named topic needs no origin", to("wide"), TargetPlace("wide", None), source=""),
    Case("a dead letter topic by pattern", to("dlq.orders"), Skip(SkipReason.TARGET_IS_DLQ, "dlq.orders")),
    Case("a parked one", to("orders-dlq.parked"), Skip(SkipReason.TARGET_IS_DLQ, "orders-dlq.parked")),
    Case("our events", to("deadwatch.events"), Skip(SkipReason.TARGET_INTERNAL, "deadwatch.events")),
    Case("outside the allow-list", to("secret.orders"), Skip(SkipReason.TARGET_NOT_ALLOWED, "secret.orders")),
    Case("redirected", redirected(orders="orders2"), TargetPlace("orders2", 3)),
    Case("redirected twice", redirected(orders="gone", gone="wide"), TargetPlace("wide", None)),
    Case("not in the map: its origin", redirected(gone="wide"), TargetPlace("orders", 3)),
    Case("redirected in a circle", redirected(orders="b", b="c", c="orders"), Skip(SkipReason.TARGET_CYCLE)),
    Case("the retry topic of its group", retry("g1"), TargetPlace("orders-g1-retry", 3)),
    Case("a retry topic by name", retry("g1", "wide"), TargetPlace("wide", None)),
    Case("another group's failure", retry("g2"), Skip(SkipReason.OTHER_CONSUMERGROUP)),
    Case("a retry topic without origin", retry("g1"), Skip(SkipReason.NO_ORIGIN), source=""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_record_goes_to_one_place_or_nowhere_with_the_reason(case: Case) -> None:
    headers = [
        (names.SHARE_TOPIC, case.source.encode()),
        (names.SHARE_PARTITION, case.partition.encode()),
        (names.SHARE_GROUP, case.group.encode()),
    ]
    record = parse_record("dlq.in", 0, 0, 0, b"k", b"v", headers)
    assert target_of(record, case.rule, RULES) == case.expected


@pytest.mark.parametrize(
    ("redirects", "circle"),
    [
        ({"a": "b"}, ()),
        ({"a": "b", "b": "c"}, ()),
        ({"a": "a"}, ("a", "a")),
        ({"x": "a", "a": "b", "b": "a"}, ("a", "b", "a")),
        ({"b": "c", "a": "b", "x": "b"}, ()),
        ({"x": "y", "y": "z", "a": "b", "b": "a"}, ("a", "b", "a")),
    ],
)
def test_a_circle_in_a_map_is_named(redirects: dict[str, str], circle: tuple[str, ...]) -> None:
    assert cycle(redirects) == circle


class CountedLookups(dict[str, str]):
    """A map that counts how often it is asked."""

    asked = 0

    def __getitem__(self, topic: str) -> str:
        self.asked += 1
        return super().__getitem__(topic)


def test_a_long_chain_is_followed_once() -> None:
    chain = CountedLookups({str(number): str(number + 1) for number in range(300)})
    assert cycle(chain) == ()
    assert chain.asked == len(chain)
