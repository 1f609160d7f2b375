"""What findings stand on when Kafka does not tell everything, without a Kafka."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import GroupAuthorizationFailedError

from collector.settings import CollectorSettings
from collector.sources.brokers.findings_watch import FindingsWatch
from collector.sources.brokers.kafka_admin import Extent, Names
from collector.sources.source import Publishing, State
from deadwatch.contract.events import Finding
from deadwatch.runtime.kafka_topics import Layout
from tests.tables import named
from tests.unit.collector.sources.brokers.admin import Admin

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
GROUP_AND_QUEUE = Admin(groups={"g1": "dlq.a"}, shares=["g1"])
"""A queue that is not enabled."""


@dataclass
class Watch:
    admin: Admin
    watch: FindingsWatch
    names: Names

    def look(
        self, layouts: Mapping[str, Layout] = LAYOUTS, extents: Mapping[str, Extent] = EXTENTS
    ) -> tuple[list[str], set[tuple[str, str]]]:
        admin = self.admin.client
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
    opened = watch_of(GROUP_AND_QUEUE)
    yield opened
    opened.watch.close()


REFUSALS = [
    ("groups cannot be listed", {"unlisted": GroupAuthorizationFailedError()}, MAY_READ_GROUPS),
    ("groups may not be read", {"refused": {"GROUP"}}, MAY_READ_GROUPS),
    ("topics may not be read", {"refused": {"TOPIC"}}, MAY_READ_TOPIC),
    ("brokers may not be read", {"refused": {"BROKER"}}, MAY_READ_BROKERS),
    ("a broker cannot be reached", {"brokers_are_away": True}, MAY_READ_BROKERS),
]


@pytest.mark.parametrize(("what", "trouble"), named(REFUSALS))
def test_a_permission_that_is_missing_is_said_and_takes_nothing_back(
    watch: Watch, what: dict[str, Any], trouble: str
) -> None:
    assert watch.look() == ([], {NOT_ENABLED, EXPIRING})
    watch.admin = replace(GROUP_AND_QUEUE, **what)
    assert watch.look() == ([trouble], {NOT_ENABLED, EXPIRING})
    watch.admin = replace(GROUP_AND_QUEUE, enabled="true")
    assert watch.look() == ([], {EXPIRING})


def test_a_queue_whose_existence_is_hidden_is_not_called_missing(watch: Watch) -> None:
    assert watch.look({}) == ([MAY_READ_TOPIC], set())


def test_a_queue_that_may_not_be_read_is_said_and_a_denied_one_is_judged_for_its_group_alone(
    watch: Watch,
) -> None:
    closed = {"dlq.a": replace(LAYOUTS["dlq.a"], readable=False)}
    assert watch.look(closed) == ([MAY_READ_LETTERS], {NOT_ENABLED, EXPIRING})
    other = watch_of(GROUP_AND_QUEUE, deny=("dlq.a",))
    assert other.look(closed, extents={}) == other.look(extents={}) == ([], {NOT_ENABLED})
    other.watch.close()


def test_what_was_published_outlives_a_restart(watch: Watch) -> None:
    watch.look()
    again = watch_of(replace(GROUP_AND_QUEUE, refused={"TOPIC"}), saved=watch.watch.state())
    assert again.look() == ([MAY_READ_TOPIC], {NOT_ENABLED, EXPIRING})
    again.watch.close()
    (_, (snapshot,)) = again.watch.due()
    assert all(isinstance(one, Finding) for one in snapshot.findings)
    assert snapshot.position.epoch == 5_002
