"""Which failures of kafka-python start the timer of a source (KIP-572)."""

import pytest
from kafka import errors

from collector.clients.observations import KAFKA_PYTHON
from collector.sources.source import TIMEOUTS, SourceTimeoutError, down

CASES = [
    ("the client waited in vain", errors.KafkaTimeoutError("…"), True),
    ("the broker waited in vain", errors.RequestTimedOutError(), True),
    ("no connection came about", errors.NodeNotReadyError("…"), True),
    ("no permission", errors.TopicAuthorizationFailedError(), False),
    ("the connection broke", errors.KafkaConnectionError("…"), False),
    ("another failure of the broker", errors.NotControllerError(), False),
]


@pytest.mark.parametrize(("error", "timed_out"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_only_a_call_without_answer_is_a_timeout(error: errors.KafkaError, timed_out: bool) -> None:
    raised = down("looking", "Kafka does not tell", error)
    assert str(raised) == "Kafka does not tell"
    assert [raised.call] == ["looking"] if isinstance(raised, SourceTimeoutError) else not timed_out
    assert isinstance(raised, SourceTimeoutError) == timed_out


def test_whatever_the_client_instrumentation_takes_for_a_timeout_is_one_here() -> None:
    assert set(KAFKA_PYTHON) <= set(TIMEOUTS)
