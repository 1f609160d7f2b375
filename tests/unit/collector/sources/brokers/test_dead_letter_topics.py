"""Dead letter topics as Kafka and the configurations tell of them, without a Kafka."""

import json

import pytest
from kafka import TopicPartition
from kafka.errors import ClusterAuthorizationFailedError, UnsupportedVersionError

from collector.settings import CollectorSettings, ConnectSettings
from collector.sources.brokers import kafka_admin
from collector.sources.brokers.kafka_admin import SHARE_GROUPS, Extent, Names
from collector.sources.connect.workers import source_name
from collector.sources.findings.configuration import DLQ, MAX_SHOWN
from deadwatch.runtime import kafka_topics
from deadwatch.runtime.kafka import KafkaConnection
from tests.http_server import Serve
from tests.tables import named
from tests.unit.collector.sources.brokers.admin import TOO_OLD, Admin, Log

EXTENTS = [
    ("an empty topic", [(0, 0, 0)], Extent(1, 0, 0)),
    ("one that retention has emptied", [(7, 7, 0)], Extent(1, 0, 0)),
    ("what is left of it", [(3, 10, 500)], Extent(1, 7, 500)),
    ("the sum and the oldest of its partitions", [(0, 2, 900), (5, 5, 0), (1, 4, 400)], Extent(3, 5, 400)),
    ("records without time", [(0, 2, -1)], Extent(1, 2, 0)),
]


@pytest.mark.parametrize(("logs", "extent"), named(EXTENTS))
def test_what_a_topic_holds(logs: list[Log], extent: Extent) -> None:
    places = [TopicPartition("t", number) for number in range(len(logs))]
    assert kafka_admin.extents(Admin(logs={"t": logs}).client, {"t": places}) == {"t": extent}


QUEUES = [
    (
        "each has its own, and groups of other types are left out",
        Admin(groups={"g1": "dlq.a", "g2": "dlq.a", "consumer": "", "g3": None}, shares=["g1", "g4"]),
        {"g1": "dlq.a", "g2": "dlq.a", "g3": None, "g4": ""},
    ),
    ("a broker too old for share groups", Admin(unlisted=UnsupportedVersionError()), {}),
    ("a broker too old for their dead letters", Admin(groups={"g1": TOO_OLD}, shares=["g1"]), {"g1": ""}),
]


@pytest.mark.parametrize(("admin", "queues"), named(QUEUES))
def test_the_queues_of_share_groups(admin: Admin, queues: dict[str, str | None]) -> None:
    assert kafka_admin.share_group_queues(admin.client) == queues


def test_a_broker_that_has_joined_is_asked_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python lists the groups of the brokers that it knows."""
    monkeypatch.setattr(kafka_topics, "Admin", dict)
    interval_ms = CollectorSettings.model_fields["dlq_topics_poll_interval_ms"].default
    assert kafka_topics.connect(KafkaConnection())["metadata_max_age_ms"] <= interval_ms


def test_who_may_not_be_asked_keeps_the_last_answer_and_is_reported() -> None:
    saved = {
        "named": {SHARE_GROUPS: {"dlq.a": ["share group g1"]}, "connect:gone": {"dlq.b": ["connector x"]}}
    }
    names = Names((), saved)
    (trouble,) = names.ask_share_groups(Admin(unlisted=ClusterAuthorizationFailedError()).client)
    assert "allow us DescribeConfigs" in trouble
    assert names.topics() == {"dlq.a"}
    assert names.state() == {"named": {SHARE_GROUPS: {"dlq.a": ["share group g1"]}}}
    assert [*names.ask_share_groups(Admin().client)] == []
    assert names.topics() == frozenset()


def test_a_single_group_that_may_not_be_read_keeps_its_name() -> None:
    names = Names((), {"named": {SHARE_GROUPS: {"dlq.a": ["share group g1", "share group g2"]}}})
    admin = Admin(groups={"g1": None, "g2": "", "g3": "dlq.b"})
    (trouble,) = names.ask_share_groups(admin.client)
    assert "allow us DescribeConfigs" in trouble
    assert names.of("dlq.a") == "share group g1"
    assert names.topics() == {"dlq.a", "dlq.b"}


def test_a_long_list_of_names_is_cut() -> None:
    groups = {f"g{number}": "dlq.a" for number in range(MAX_SHOWN + 2)}
    names = Names((), {})
    assert [*names.ask_share_groups(Admin(groups=groups).client)] == []
    assert names.of("dlq.a").endswith("share group g4, 2 more")
    assert names.of("dlq.other") == ""


def test_a_connect_that_is_away_keeps_the_last_answer() -> None:
    connect = ConnectSettings(url="http://127.0.0.1:1")
    names = Names((connect,), {"named": {source_name(connect): {"dlq.b": ["connector x"]}}})
    names.ask_connect()
    names.close()
    assert names.of("dlq.b") == "connector x"


def test_a_name_that_a_config_provider_fills_in_names_no_topic(serve: Serve) -> None:
    status = {"connector": {"state": "RUNNING"}, "tasks": []}
    sinks = {
        name: {"status": status, "info": {"type": "sink", "config": {DLQ: queue}}}
        for name, queue in {"plain": "dlq.a", "filled": "dlq.${file:/etc/stage:name}"}.items()
    }
    port = serve(lambda *_: (200, json.dumps(sinks).encode()))
    names = Names((ConnectSettings(url=f"http://127.0.0.1:{port}"),), {})
    names.ask_connect()
    names.close()
    assert names.topics() == {"dlq.a"}
