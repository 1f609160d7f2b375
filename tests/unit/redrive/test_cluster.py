"""What topics hold, and how far a consumer group is behind, without a Kafka."""

from collections.abc import Collection
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaException, TopicPartition

from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.selection import Extents
from deadwatch.runtime.kafka import KafkaConnection
from redrive import cluster
from redrive.cluster import Cluster, group_lag


def answer(**content: object) -> Future[SimpleNamespace]:
    made: Future[SimpleNamespace] = Future()
    made.set_result(SimpleNamespace(**content))
    return made


SEVEN_READ = TopicPartition("orders", 0, 7)
NEVER_READ = TopicPartition("payments", 0, OFFSET_INVALID)


class Kafka:
    """Two topics with a partition of ten records, and what a group has committed."""

    def __init__(self, committed: tuple[TopicPartition, ...], end: int = 10) -> None:
        self._offsets, self._committed = iter((0, end)), committed

    def list_topics(self, timeout: float) -> SimpleNamespace:
        del timeout
        return SimpleNamespace(topics=dict.fromkeys(("orders", "payments"), SimpleNamespace(partitions=[0])))

    def list_offsets(self, places: Collection[TopicPartition], **_options: object) -> dict[Any, Any]:
        return dict.fromkeys(places, answer(offset=next(self._offsets)))

    def list_consumer_group_offsets(self, _groups: object, **_options: object) -> dict[str, Any]:
        return {"g": answer(topic_partitions=self._committed)}


def lag(*topics: str, committed: tuple[TopicPartition, ...] = (SEVEN_READ,)) -> int:
    return group_lag(cast("Any", Kafka(committed)), "g", "our client", topics)


def test_a_topic_that_has_been_deleted_holds_nothing_back() -> None:
    assert lag("orders") == lag("orders", "gone") == 3
    assert lag("gone") == 0


def test_a_topic_that_a_group_does_not_read_holds_nothing_back() -> None:
    assert lag("orders", "payments", committed=(SEVEN_READ, NEVER_READ)) == 3
    assert lag("payments", committed=(NEVER_READ,)) == 10, "it may come to read it"


def test_a_group_that_is_asked_about_in_vain_is_not_up_to_date() -> None:
    with pytest.raises(KafkaException, match="_TIMED_OUT"):
        group_lag(cast("Any", Kafka((SEVEN_READ,), OFFSET_INVALID)), "g", "our client", ["orders"])


class Hanging(Kafka):
    """A Kafka whose broker of the first partition of "orders" answers nobody."""

    def __init__(self, _options: object = None) -> None:
        super().__init__((TopicPartition("payments", 0, 7),))
        self.asked = 0

    def list_offsets(self, places: Collection[TopicPartition], **_options: object) -> dict[Any, Any]:
        self.asked += 1
        return {one: answer(offset=OFFSET_INVALID if one == SEVEN_READ else 7) for one in places}


def test_a_broker_that_answers_nobody_keeps_no_place_of_the_others_and_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster.admin, "AdminClient", Hanging)
    kafka = Cluster(KafkaConnection(bootstrap_servers="k:9092"))
    found = kafka.extents_of({"orders": 1, "payments": 2})
    assert kafka._admin.asked == len(("begin", "end"))
    assert found["payments"] == Extents({0: 7, 1: 7}, {0: 7, 1: 7})
    assert "topic orders does not tell its offsets: Local: Timed out" in str(found["orders"])
    with pytest.raises(KafkaUnavailableError, match="topic orders does not tell"):
        kafka.extents("orders", 2)
    assert kafka.extents("orders", [1]) == Extents({1: 7}, {1: 7})


def test_a_broker_that_answers_nobody_holds_back_no_group_that_reads_nothing_of_it() -> None:
    assert group_lag(cast("Any", Hanging()), "g", "our client", ["orders", "payments"]) == 0
