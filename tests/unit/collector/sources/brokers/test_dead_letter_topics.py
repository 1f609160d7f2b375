"""Dead letter topics as Kafka and the configurations tell of them, without a Kafka."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import ClusterAuthorizationFailedError, KafkaError, UnsupportedVersionError
from kafka.structs import OffsetAndTimestamp

from collector.settings import ConnectSettings
from collector.sources.brokers import kafka_admin
from collector.sources.brokers.kafka_admin import SHARE_GROUPS, Extent, Names
from collector.sources.connect.workers import source_name
from collector.sources.findings.configuration import DLQ, MAX_SHOWN

Log = tuple[int, int, int]
"""First offset, end, time of the first record."""


TOO_OLD = "(the broker does not know the setting)"


class Admin:
    """Answers as kafka-python 3.0.12 does."""

    def __init__(
        self,
        logs: Mapping[str, list[Log]] | None = None,
        groups: Mapping[str, str | None] | None = None,
        refusal: KafkaError | None = None,
        shares: Sequence[str] = (),
    ) -> None:
        self.logs, self.groups, self.refusal, self.shares = logs or {}, groups or {}, refusal, shares

    def list_partition_offsets(
        self, specs: Mapping[TopicPartition, int], _isolation: object
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return {one: _offset(self.logs[one.topic][one.partition], spec) for one, spec in specs.items()}

    def list_config_resources(self, _types: object) -> dict[str, list[str]]:
        if self.refusal:
            raise self.refusal
        return {"group": list(self.groups)} if self.groups else {}

    def list_groups(self, *, types_filter: Sequence[str]) -> list[dict[str, str]]:
        assert types_filter == ["share"]
        return [{"group_id": group, "group_type": "share"} for group in self.shares]

    def describe_configs(self, resources: list[Any], *, config_filter: str) -> dict[str, dict[str, Any]]:
        """What may not be read has no settings."""
        assert config_filter == "all"
        admin = {one.name: self.groups.get(one.name, "") for one in resources}
        return {
            "group": {
                name: {}
                if queue is None
                else {"consumer.session.timeout.ms": {"value": "45000"}}
                | ({} if queue == TOO_OLD else {DLQ: {"value": queue}})
                for name, queue in admin.items()
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
    assert kafka_admin.extents(client(Admin({"t": logs})), {"t": places}) == {"t": extent}


def test_share_groups_have_their_queues_and_other_groups_are_left_out() -> None:
    admin = Admin(groups={"g1": "dlq.a", "g2": "dlq.a", "consumer": "", "g3": None}, shares=["g1", "g4"])
    named = {"g1": "dlq.a", "g2": "dlq.a", "g3": None, "g4": ""}
    assert kafka_admin.share_group_queues(client(admin)) == named


def test_a_broker_too_old_for_share_groups_has_none() -> None:
    assert kafka_admin.share_group_queues(client(Admin(refusal=UnsupportedVersionError()))) == {}


def test_a_broker_too_old_for_dead_letters_of_share_groups_has_none() -> None:
    assert kafka_admin.share_group_queues(client(Admin(groups={"g1": TOO_OLD}, shares=["g1"]))) == {"g1": ""}


def test_who_may_not_be_asked_keeps_the_last_answer_and_is_reported() -> None:
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


def test_a_single_group_that_may_not_be_read_keeps_its_name() -> None:
    names = Names((), {"named": {SHARE_GROUPS: {"dlq.a": ["share group g1", "share group g2"]}}})
    admin = Admin(groups={"g1": None, "g2": "", "g3": "dlq.b"})
    (trouble,) = names.ask_share_groups(client(admin))
    assert "allow us DescribeConfigs" in trouble
    assert names.of("dlq.a") == "share group g1"
    assert names.topics() == {"dlq.a", "dlq.b"}


def test_a_long_list_of_names_is_cut() -> None:
    groups = {f"g{number}": "dlq.a" for number in range(MAX_SHOWN + 2)}
    names = Names((), {})
    assert [*names.ask_share_groups(client(Admin(groups=groups)))] == []
    assert names.of("dlq.a").endswith("share group g4, 2 more")
    assert names.of("dlq.other") == ""


def test_a_connect_that_is_away_keeps_the_last_answer() -> None:
    connect = ConnectSettings(url="http://127.0.0.1:1")
    names = Names((connect,), {"named": {source_name(connect): {"dlq.b": ["connector x"]}}})
    names.ask_connect()
    names.close()
    assert names.of("dlq.b") == "connector x"
