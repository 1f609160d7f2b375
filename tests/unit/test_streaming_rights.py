"""Dead letter topics that may be seen and not read."""

from collections.abc import Sequence

import pytest
from pydantic import SecretStr

from collector.kafka import KafkaConnection
from streaming import rights
from streaming.settings import StreamingSettings
from streaming.source import is_read

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
    ("topic", "operations", "closed"),
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
def test_which_topics_are_closed(topic: str, operations: Sequence[str] | None, closed: bool) -> None:
    described = [{"name": topic, "error_code": 0, "authorized_operations": operations}]
    assert rights.closed(described, SETTINGS) == ({topic} if closed else set())


def test_what_is_closed_is_left_out_and_the_rest_is_not() -> None:
    settings = rights.without({"dlq.a"}, SETTINGS)
    assert [is_read(topic, settings) for topic in ("dlq.a", "dlq.denied", "dlq.b")] == [False, False, True]


def test_what_to_grant_is_told_and_a_hundred_names_are_not() -> None:
    assert rights.told((), SETTINGS) == ""
    assert rights.told(["dlq.b", "dlq.a"], SETTINGS) == (
        "not counted, allow ann Read on them or add them to dlq_topics_deny: dlq.a, dlq.b"
    )
    assert rights.told((f"dlq.{n}" for n in range(100)), SETTINGS).endswith(
        "dlq.0, dlq.1, dlq.10, dlq.11, dlq.12 and 95 more"
    )
