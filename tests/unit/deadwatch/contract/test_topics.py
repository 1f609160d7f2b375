"""Which topics are read for dead letters."""

import pytest

from deadwatch.contract.topics import OWN_DLQ, is_dead_letter_topic


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("dlq.orders", True),
        (OWN_DLQ, True),
        ("orders-dlt", True),
        ("error.orders.billing", True),
        ("error.log", False),
        ("errors.orders.billing", False),
        ("error..billing", False),
        ("dead-letter-topic-orders", True),
        ("dead-letter-", False),
        ("orders-retry-0", False),
        ("orders.DLQ", True),
        ("orders", False),
        ("dlq", False),
        ("orders-dlq-archive", False),
        ("__dlq.orders", False),
        ("orders.dlq.parked", False),
        ("dlq.orders.parked", False),
    ],
)
def test_a_topic_matches_as_a_whole(topic: str, expected: bool) -> None:
    assert is_dead_letter_topic(topic) is expected


def test_the_deny_list_wins() -> None:
    assert not is_dead_letter_topic("dlq.orders", deny=["dlq.orders"])
