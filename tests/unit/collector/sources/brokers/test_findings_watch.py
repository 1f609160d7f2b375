"""What findings stand on when Kafka does not tell everything, without a Kafka."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResourceType
from kafka.errors import GroupAuthorizationFailedError, KafkaConnectionError, TopicAuthorizationFailedError

from collector.settings import CollectorSettings
from collector.sources.brokers.findings_watch import FindingsWatch
from collector.sources.brokers.kafka_admin import Extent, Names
from collector.sources.source import Publishing, State
from deadwatch.contract.events import Finding
from deadwatch.runtime.kafka_topics import Layout

MAY_READ_BROKERS = (
    "a broker does not show its settings: check it, and allow us DescribeConfigs on the cluster"
)
MAY_READ_TOPIC = "settings of dlq.a may not be read: allow us Describe and DescribeConfigs on it"
MAY_READ_LETTERS = "dead letters of dlq.a may not be read: allow us Read on it, or deny it"
MAY_READ_GROUPS = "settings of share groups may not be read: allow us DescribeConfigs on cluster and groups"
NOT_ENABLED = ("share_dlq_not_enabled", "sharegroup:g1")
EXPIRING = ("dlq_expiring", "topic:dlq.a")
LAYOUTS = {"dlq.a": Layout([TopicPartition("dlq.a", 0)], led=True, replicas=((1,),))}
EXTENTS = {"dlq.a": Extent(1, 1, 1)}


@dataclass
class Admin:
    """A cluster with one group and one queue that is not enabled; answers as kafka-python 3.0.12 does."""

    refused: set[str] = field(default_factory=set)
    enabled: str = "false"
    away: bool = False

    def describe_configs(self, resources: Sequence[Any], *, config_filter: str) -> dict[str, dict[str, Any]]:
        assert config_filter == "all"
        answer: dict[str, dict[str, Any]] = {}
        for one in resources:
            kind = one.resource_type
            if self.away and kind is ConfigResourceType.BROKER:
                raise KafkaConnectionError
            settings = {} if kind.name in self.refused else self._settings()
            answer.setdefault(kind.name.lower(), {})[one.name] = {
                name: {"value": settings[name]} for name in one.configs if name in settings
            }
        return answer

    def _settings(self) -> dict[str, str]:
        return {
            "errors.deadletterqueue.topic.name": "dlq.a",
            "errors.deadletterqueue.topic.name.prefix": "dlq.",
            "errors.deadletterqueue.auto.create.topics.enable": "false",
            "errors.deadletterqueue.group.enable": self.enabled,
            "num.partitions": "1",
            "consumer.session.timeout.ms": "45000",
            "retention.ms": "1",
            "retention.bytes": "-1",
            "cleanup.policy": "delete",
        }

    def list_config_resources(self, _types: object) -> dict[str, list[str]]:
        if "LIST" in self.refused:
            raise GroupAuthorizationFailedError
        return {"group": ["g1"]}

    def list_groups(self, *, types_filter: Sequence[str]) -> list[dict[str, str]]:
        return [{"group_id": "g1", "group_type": types_filter[0]}]

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1, "is_fenced": False}]}

    def describe_features(self) -> dict[str, Any]:
        return {"share.version": {"supported": (0, 2), "finalized": (2, 2)}}

    def describe_topics(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        return [{"name": name, "error_code": TopicAuthorizationFailedError.errno} for name in topics]


@dataclass
class Watch:
    admin: Admin
    watch: FindingsWatch
    names: Names

    def look(
        self, layouts: Mapping[str, Layout] = LAYOUTS, extents: Mapping[str, Extent] = EXTENTS
    ) -> tuple[list[str], set[tuple[str, str]]]:
        admin = cast("KafkaAdminClient", self.admin)
        refused = [*self.names.ask_share_groups(admin)]
        wanted = self.names.topics()
        troubles = [*refused, *self.watch.judge(admin, self.names, wanted, layouts, extents)]
        _, (snapshot,) = self.watch.due()
        return troubles, {(one.kind, one.subject) for one in snapshot.findings}


def watch_of(admin: Admin, *, saved: State | None = None, deny: tuple[str, ...] = ()) -> Watch:
    publishing = Publishing(lambda _: None, "default", 0, lambda: 5_000)
    settings = CollectorSettings(dlq_topics_deny=deny)
    return Watch(admin, FindingsWatch(settings, saved or {}, publishing), Names((), {}))


@pytest.fixture
def watch() -> Iterator[Watch]:
    opened = watch_of(Admin())
    yield opened
    opened.watch.close()


REFUSALS = [
    ("groups cannot be listed", "LIST", MAY_READ_GROUPS),
    ("groups may not be read", "GROUP", MAY_READ_GROUPS),
    ("topics may not be read", "TOPIC", MAY_READ_TOPIC),
    ("brokers may not be read", "BROKER", MAY_READ_BROKERS),
]


@pytest.mark.parametrize(("what", "trouble"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_a_permission_that_is_missing_is_said_and_takes_nothing_back(
    watch: Watch, what: str, trouble: str
) -> None:
    assert watch.look() == ([], {NOT_ENABLED, EXPIRING})
    watch.admin.refused = {what}
    assert watch.look() == ([trouble], {NOT_ENABLED, EXPIRING})
    watch.admin = Admin(enabled="true")
    assert watch.look() == ([], {EXPIRING})


def test_a_queue_whose_existence_is_hidden_is_not_called_missing(watch: Watch) -> None:
    assert watch.look({}) == ([MAY_READ_TOPIC], set())


def test_a_queue_that_may_not_be_read_is_said_and_a_denied_one_is_judged_for_its_group_alone(
    watch: Watch,
) -> None:
    closed = {"dlq.a": replace(LAYOUTS["dlq.a"], readable=False)}
    assert watch.look(closed) == ([MAY_READ_LETTERS], {NOT_ENABLED, EXPIRING})
    other = watch_of(Admin(), deny=("dlq.a",))
    assert other.look(closed, extents={}) == other.look(extents={}) == ([], {NOT_ENABLED})
    other.watch.close()


def test_a_broker_that_cannot_be_reached_takes_nothing_back(watch: Watch) -> None:
    watch.look()
    watch.admin.away = True
    assert watch.look()[1] == {NOT_ENABLED, EXPIRING}


def test_what_was_published_outlives_a_restart(watch: Watch) -> None:
    watch.look()
    again = watch_of(Admin(refused={"TOPIC"}), saved=watch.watch.state())
    assert again.look() == ([MAY_READ_TOPIC], {NOT_ENABLED, EXPIRING})
    again.watch.close()
    (_, (snapshot,)) = again.watch.due()
    assert all(isinstance(one, Finding) for one in snapshot.findings)
    assert snapshot.position.epoch == 5_002
