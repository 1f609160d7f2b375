"""How far a consumer group is behind, without a Kafka."""

from collections.abc import Collection
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import TopicPartition

from redrive.cluster import group_lag


def answer(**content: object) -> Future[SimpleNamespace]:
    made: Future[SimpleNamespace] = Future()
    made.set_result(SimpleNamespace(**content))
    return made


class Kafka:
    """A topic with a partition of ten records, of which the group has committed seven."""

    def __init__(self) -> None:
        self._offsets = iter((0, 10))

    def list_topics(self, timeout: float) -> SimpleNamespace:
        del timeout
        return SimpleNamespace(topics={"orders": SimpleNamespace(partitions=[0])})

    def list_offsets(self, places: Collection[TopicPartition], **_options: object) -> dict[Any, Any]:
        return dict.fromkeys(places, answer(offset=next(self._offsets)))

    def list_consumer_group_offsets(self, _groups: object, **_options: object) -> dict[str, Any]:
        return {"g": answer(topic_partitions=[TopicPartition("orders", 0, 7)])}


def lag(*topics: str) -> int:
    return group_lag(cast("Any", Kafka()), "g", "our client", topics)


def test_a_topic_that_has_been_deleted_holds_nothing_back() -> None:
    assert lag("orders") == lag("orders", "gone") == 3
    assert lag("gone") == 0
