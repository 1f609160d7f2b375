"""Which topics are read, where a query goes on, and dead letter topics that may be seen and not read."""

import re
from collections.abc import Sequence

import pytest
from pydantic import SecretStr

from deadwatch.runtime.kafka import KafkaConnection
from streaming import cluster
from streaming.cluster import is_read
from streaming.kafka_source import dead_letters_pattern, events_pattern
from streaming.settings import StreamingSettings

SETTINGS = StreamingSettings(
    kafka=KafkaConnection(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="ann",
        sasl_password=SecretStr("p"),
    ),
    dlq_topics_deny=("dlq.denied",),
)


@pytest.mark.parametrize(
    ("topic", "operations", "is_unreadable"),
    [
        ("dlq.a", ["READ", "DESCRIBE"], False),
        ("dlq.a", ["DESCRIBE"], True),
        ("dlq.a", None, False),
        ("dlq.denied", ["DESCRIBE"], False),
        ("dlq.a.parked", ["DESCRIBE"], False),
        ("orders", ["DESCRIBE"], False),
        ("deadwatch.events", ["DESCRIBE"], False),
    ],
)
def test_which_topics_may_not_be_read(
    topic: str, operations: Sequence[str] | None, is_unreadable: bool
) -> None:
    described = [{"name": topic, "error_code": 0, "authorized_operations": operations}]
    assert cluster.unreadable(described, SETTINGS) == ({topic} if is_unreadable else set())


def test_the_line_says_which_rights_are_missing_and_has_an_end() -> None:
    assert cluster.missing_rights((), SETTINGS) == ""
    assert cluster.missing_rights(["dlq.b", "dlq.a"], SETTINGS) == (
        "not counted, allow ann Read on them or add them to dlq_topics_deny: dlq.a, dlq.b"
    )
    assert cluster.missing_rights((f"dlq.{n}" for n in range(100)), SETTINGS).endswith(
        "dlq.0, dlq.1, dlq.10, dlq.11, dlq.12 and 95 more"
    )


def test_a_query_goes_on_where_the_store_is_and_begins_what_is_new_or_forgets_what_is_gone() -> None:
    stored = {("t", 0): 7, ("gone", 0): 3}
    assert cluster.resumed(stored, [("t", 0), ("t", 1)]) == {("t", 0): 7, ("t", 1): cluster.FROM_BEGINNING}


DENYING = cluster.without(["a.b-dlq"], StreamingSettings(dlq_topics_deny=("dlq.secret",)))
READ = (
    *("deadwatch.events", "dlq.orders", "dlq.deadwatch", "orders.dlq", "dlq.parked.orders", "orders-DLT"),
    *("dlq.secrets", "axb-dlq"),
)
OTHERS = (
    *("deadwatch_events", "deadwatch.events2", "old.deadwatch.events", "orders.dlq.archive"),
    *("orders.DLQ-old", "my-dlq.orders", "dlqxorders", "dlq.orders.parked", "ordersdlq", "dlq.secret"),
    *("a.b-dlq", "__dlq.internal", "__x.dlq", "orders"),
)
TOPICS = [*((topic, True) for topic in READ), *((topic, False) for topic in OTHERS)]


def found(pattern: str, topic: str) -> bool:
    """As Spark's ``SubscribePatternStrategy`` does it: anywhere in the name."""
    return re.search(pattern, topic) is not None


@pytest.mark.parametrize(("topic", "read"), TOPICS)
def test_pattern_and_predicate_agree(topic: str, read: bool) -> None:
    assert is_read(topic, DENYING) is read
    is_events = topic == DENYING.events_topic
    assert found(events_pattern(DENYING), topic) is is_events
    assert found(dead_letters_pattern(DENYING), topic) is (read and not is_events)


def test_a_topic_denied_is_denied_whatever_else_it_matches() -> None:
    settings = StreamingSettings(dlq_topics=(".*",), dlq_topics_deny=("orders",))
    assert [is_read(topic, settings) for topic in ("orders", "payments")] == [False, True]
    never = ("orders", "deadwatch.events", "__consumer_offsets", "payments.parked")
    assert [topic for topic in never if found(dead_letters_pattern(settings), topic)] == []
