"""What becomes of an order whose parked topic is missing, and is not made."""

from concurrent.futures import Future
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from deadwatch.orders.targets import TargetRules
from redrive.librdkafka import AWAY, ConsumerRecord
from redrive.move import targets
from redrive.move.mover import Mover, Paused
from redrive.move.targets import Router
from tests.unit.redrive.move import fakes
from tests.unit.redrive.move.fakes import DLQ, EVENTS, NOW_MS, FakeProducer, message, whole_order

EXCLUDED = "a.Broken"
RETRY = {"retry_backoff_ms": 0, "park_error_classes": [EXCLUDED]}
ASKED = whole_order(1, 9, {"retry": RETRY})


class Admin:
    """Kafka refuses to make topics."""

    def __init__(self, refusal: KafkaError) -> None:
        self._refusal = refusal

    def list_topics(self, timeout: float) -> SimpleNamespace:
        del timeout
        return SimpleNamespace(topics=dict.fromkeys(("orders", DLQ), SimpleNamespace(partitions=[0])))

    def create_topics(self, _topics: object, request_timeout: float) -> dict[str, Future[None]]:
        del request_timeout
        answer: Future[None] = Future()
        answer.set_exception(KafkaException(self._refusal))
        return {f"{DLQ}.parked": answer}


def moving(refusal: KafkaError, producer: FakeProducer) -> Mover:
    """The first record of the order goes to its target, the second is to be parked."""

    def found(partition: int, offset: int) -> ConsumerRecord:
        error = EXCLUDED if offset else "a.Timeout"
        return message(partition, offset, b"%d" % offset, exception_class_name=error)

    router: Any = Router(cast("Any", Admin(refusal)), ASKED, TargetRules({}, frozenset({EVENTS})))
    router.refresh()
    return fakes.mover(Random(1), producer, {}, found=found, router=router, retry=RETRY)


GRANT = f"Kafka refuses our client CREATE on topic {DLQ}.parked: grant it (or make the topic), then resume"
MAKE = f"Kafka refuses to make topic {DLQ}.parked (no): make it, then resume"
NEVER_MADE = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: GRANT,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: GRANT,
    KafkaError.POLICY_VIOLATION: MAKE,
}


@pytest.mark.parametrize(("code", "reason"), NEVER_MADE.items())
def test_a_parked_topic_that_kafka_refuses_to_make_pauses_the_order(code: int, reason: str) -> None:
    producer = FakeProducer(Random(1), 0)
    mover = moving(KafkaError(code, "no"), producer)
    mover.step(NOW_MS)
    assert mover.step(NOW_MS + 1_000) == Paused(reason)
    assert (producer.records, producer.open) == ([], [])


NOT_NOW = [KafkaError.NOT_CONTROLLER, KafkaError.INVALID_REPLICATION_FACTOR]
"""The second is what brokers say too while others of them restart."""


@pytest.mark.parametrize("code", NOT_NOW)
def test_a_parked_topic_that_is_not_made_for_now_is_tried_again(code: int) -> None:
    mover = moving(KafkaError(code, "not now"), FakeProducer(Random(1), 0))
    mover.step(NOW_MS)
    with pytest.raises(KafkaException, match=rf"topic {DLQ}\.parked cannot be made: not now"):
        mover.step(NOW_MS + 1_000)


def test_brokers_that_do_not_answer_are_away_also_for_a_topic_that_is_to_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(targets, "TIMEOUT_S", 0.1)
    nobody = AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    with pytest.raises(KafkaException) as raised:
        Router(nobody, ASKED, TargetRules({DLQ: 1}, frozenset())).parked(0)
    assert raised.value.args[0].code() in AWAY
