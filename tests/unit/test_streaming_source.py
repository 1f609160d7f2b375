"""Which topics are read, and from where."""

import re

import pytest

from streaming.cluster import going_on
from streaming.settings import StreamingSettings
from streaming.source import events_pattern, is_read, letters_pattern

SETTINGS = StreamingSettings(dlq_topics_deny=("dlq.secret", "a.b-dlq"))
TOPICS = [
    ("deadwatch.events", True),
    ("deadwatch_events", False),
    ("deadwatch.events2", False),
    ("old.deadwatch.events", False),
    ("orders.dlq.archive", False),
    ("orders.DLQ-old", False),
    ("my-dlq.orders", False),
    ("dlq.orders", True),
    ("dlq.deadwatch", True),
    ("dlqxorders", False),
    ("orders.dlq", True),
    ("dlq.orders.parked", False),
    ("dlq.parked.orders", True),
    ("orders-DLT", True),
    ("ordersdlq", False),
    ("dlq.secret", False),
    ("dlq.secrets", True),
    ("a.b-dlq", False),
    ("axb-dlq", True),
    ("__dlq.internal", False),
    ("__x.dlq", False),
    ("orders", False),
]


def found(pattern: str, topic: str) -> bool:
    """As Spark's ``SubscribePatternStrategy`` does it: anywhere in the name."""
    return re.search(pattern, topic) is not None


@pytest.mark.parametrize(("topic", "read"), TOPICS)
def test_pattern_and_predicate_agree(topic: str, read: bool) -> None:
    assert is_read(topic, SETTINGS) is read
    is_events = topic == SETTINGS.events_topic
    assert found(events_pattern(SETTINGS), topic) is is_events
    assert found(letters_pattern(SETTINGS), topic) is (read and not is_events)


def test_a_topic_denied_is_denied_whatever_else_it_matches() -> None:
    settings = StreamingSettings(dlq_topics=(".*",), dlq_topics_deny=("orders",))
    assert [is_read(topic, settings) for topic in ("orders", "payments")] == [False, True]
    never = ("orders", "deadwatch.events", "__consumer_offsets", "payments.parked")
    assert [topic for topic in never if found(letters_pattern(settings), topic)] == []


OFFSETS = [
    ("a known partition goes on", {("t", 0): 7}, {("t", 0): 9}, {("t", 0): 7}),
    ("at its end", {("t", 0): 9}, {("t", 0): 9}, {("t", 0): 9}),
    (
        "a new partition from its beginning",
        {("t", 0): 7},
        {("t", 0): 9, ("t", 1): 4},
        {("t", 0): 7, ("t", 1): -2},
    ),
    ("a topic made anew from its beginning", {("t", 0): 7}, {("t", 0): 3}, {("t", 0): -2}),
    ("a topic that is gone is not asked for", {("t", 0): 7}, {("u", 0): 3}, {("u", 0): -2}),
]


@pytest.mark.parametrize(
    ("stored", "ends", "expected"), [row[1:] for row in OFFSETS], ids=[row[0] for row in OFFSETS]
)
def test_a_query_without_checkpoint_goes_on_where_the_store_is(
    stored: dict[tuple[str, int], int],
    ends: dict[tuple[str, int], int],
    expected: dict[tuple[str, int], int],
) -> None:
    assert going_on(stored, ends) == expected
