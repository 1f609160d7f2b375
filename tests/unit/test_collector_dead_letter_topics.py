"""Dead letter topics as Kafka and the configurations tell of them, without a Kafka."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import ClusterAuthorizationFailedError, KafkaError, UnsupportedVersionError
from kafka.structs import OffsetAndTimestamp

from collector.settings import ConnectSettings
from collector.sources import kafka_topics
from collector.sources.connect import source_name
from collector.sources.dead_letter_names import MAX_SHOWN, SHARE_GROUPS, Names
from collector.sources.kafka_topics import Extent

Log = tuple[int, int, int]
"""First offset, end, time of the first record."""


class Admin:
    """Answers as kafka-python 3.0.12 does."""

    def __init__(
        self,
        logs: Mapping[str, list[Log]] | None = None,
        groups: Mapping[str, str] | None = None,
        refusal: KafkaError | None = None,
    ) -> None:
        self.logs, self.groups, self.refusal = logs or {}, groups or {}, refusal

    def list_partition_offsets(
        self, specs: Mapping[TopicPartition, int], _isolation: object
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return {one: _offset(self.logs[one.topic][one.partition], spec) for one, spec in specs.items()}

    def list_config_resources(self, _types: object) -> dict[str, list[str]]:
        if self.refusal:
            raise self.refusal
        return {"group": list(self.groups)} if self.groups else {}

    def describe_configs(self, resources: list[Any]) -> dict[str, dict[str, Any]]:
        return {
            "group": {
                one.name: {kafka_topics.DLQ: {"value": self.groups[one.name]}}
                if self.groups[one.name]
                else {"share.auto.offset.reset": {"value": "earliest"}}
                for one in resources
            }
        }


def _offset(log: Log, spec: int) -> OffsetAndTimestamp:
    first, end, time_ms = log
    if spec == OffsetSpec.EARLIEST:
        return OffsetAndTimestamp(first, -1, None)
    if spec == OffsetSpec.LATEST:
        return OffsetAndTimestamp(end, -1, None)
    return OffsetAndTimestamp(first, time_ms, 0) if end > first else OffsetAndTimestamp(-1, -1, None)


def client(admin: Admin) -> KafkaAdminClient:
    return cast("KafkaAdminClient", admin)


EXTENTS = [
    ("an empty topic", [(0, 0, 0)], Extent(1, 0, 0)),
    ("one that retention has emptied", [(7, 7, 0)], Extent(1, 0, 0)),
    ("what is left of it", [(3, 10, 500)], Extent(1, 7, 500)),
    ("the sum and the oldest of its partitions", [(0, 2, 900), (5, 5, 0), (1, 4, 400)], Extent(3, 5, 400)),
    ("records without time", [(0, 2, -1)], Extent(1, 2, 0)),
]


@pytest.mark.parametrize(("logs", "extent"), [row[1:] for row in EXTENTS], ids=[row[0] for row in EXTENTS])
def test_what_a_topic_holds(logs: list[Log], extent: Extent) -> None:
    places = [TopicPartition("t", number) for number in range(len(logs))]
    assert kafka_topics.extents(client(Admin({"t": logs})), {"t": places}) == {"t": extent}


def test_share_groups_name_their_queues() -> None:
    admin = Admin(groups={"g1": "dlq.a", "g2": "dlq.a", "g3": ""})
    assert kafka_topics.named_by_share_groups(client(admin)) == {
        "dlq.a": ["share group g1", "share group g2"]
    }


def test_a_broker_too_old_for_share_groups_has_none() -> None:
    assert kafka_topics.named_by_share_groups(client(Admin(refusal=UnsupportedVersionError()))) == {}


def test_who_may_not_be_asked_keeps_the_last_answer_and_it_is_said() -> None:
    saved = {
        "named": {SHARE_GROUPS: {"dlq.a": ["share group g1"]}, "connect:gone": {"dlq.b": ["connector x"]}}
    }
    names = Names((), saved)
    (trouble,) = names.ask_share_groups(client(Admin(refusal=ClusterAuthorizationFailedError())))
    assert "allow us DescribeConfigs" in trouble
    assert names.topics() == {"dlq.a"}
    assert names.state() == {"named": {SHARE_GROUPS: {"dlq.a": ["share group g1"]}}}
    assert [*names.ask_share_groups(client(Admin()))] == []
    assert names.topics() == frozenset()


def test_a_long_list_of_names_is_cut() -> None:
    groups = {f"g{number}": "dlq.a" for number in range(MAX_SHOWN + 2)}
    names = Names((), None)
    assert [*names.ask_share_groups(client(Admin(groups=groups)))] == []
    assert names.of("dlq.a").endswith("share group g4, 2 more")
    assert names.of("dlq.other") == ""


def test_a_connect_that_is_away_keeps_the_last_answer() -> None:
    connect = ConnectSettings(url="http://127.0.0.1:1")
    names = Names((connect,), {"named": {source_name(connect): {"dlq.b": ["connector x"]}}})
    names.ask_connect()
    names.close()
    assert names.of("dlq.b") == "connector x"
