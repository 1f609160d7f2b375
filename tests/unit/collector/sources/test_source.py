"""Which failures of kafka-python start the timer of a source (KIP-572), and what one leaves behind."""

import socket
import threading

import pytest
from kafka import errors

from collector.clients.observations import KAFKA_PYTHON
from collector.sources import source
from collector.sources.source import TIMEOUTS, Consumer, SourceTimeoutError, down
from deadwatch.runtime.kafka import KafkaConnection
from tests.tables import named
from tests.waiting import until

CASES = [
    ("the client waited in vain", errors.KafkaTimeoutError("…"), True),
    ("the broker waited in vain", errors.RequestTimedOutError(), True),
    ("no connection came about", errors.NodeNotReadyError("…"), True),
    ("no permission", errors.TopicAuthorizationFailedError(), False),
    ("the connection broke", errors.KafkaConnectionError("…"), False),
    ("another failure of the broker", errors.NotControllerError(), False),
]


@pytest.mark.parametrize(("error", "timed_out"), named(CASES))
def test_only_a_call_without_answer_is_a_timeout(error: errors.KafkaError, timed_out: bool) -> None:
    raised = down("looking", "Kafka does not tell", error)
    assert str(raised) == "Kafka does not tell"
    assert [raised.call] == ["looking"] if isinstance(raised, SourceTimeoutError) else not timed_out
    assert isinstance(raised, SourceTimeoutError) == timed_out


def test_whatever_the_client_instrumentation_takes_for_a_timeout_is_one_here() -> None:
    assert set(KAFKA_PYTHON) <= set(TIMEOUTS)


def test_a_consumer_that_reaches_no_broker_is_not_waited_for_and_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "TIMEOUT_MS", 600)
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = KafkaConnection(bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(errors.KafkaTimeoutError):
            Consumer(connection)
    until(lambda: threading.active_count() == before, within_s=5)
