"""What the doctor says of redrives, before an admin client that answers as Kafka does."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import (
    CoordinatorNotAvailableError,
    IncompatibleBrokerVersion,
    NotCoordinatorError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    TransactionalIdNotFoundError,
)
from sqlalchemy import NullPool, create_engine, insert

from api.checks.redrive import MAX_TIMEOUT, MIN_IN_SYNC, UNCLEAN, redrive
from cli.doctor import line
from deadwatch.store import schema
from redrive.settings import RedriveSettings
from tests.console_store import empty_row

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

DURABLE = {MIN_IN_SYNC: "2", UNCLEAN: "false"}
ALL = ("READ", "WRITE", "DESCRIBE", "DESCRIBE_CONFIGS")


@dataclass(frozen=True)
class Admin:
    """Everything is allowed, unless said."""

    topics: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"dlq.a": ALL, "orders": ALL})
    group_error: str | None = None
    transaction_error: type[Exception] = TransactionalIdNotFoundError
    timeout_ms: str | None = "900000"
    create_error: Exception | None = None
    replicas: Sequence[int] = (1, 2, 3)
    topic_configs: Mapping[str, str] = field(default_factory=lambda: DURABLE)

    def describe_groups(self, groups: list[str]) -> dict[str, dict[str, str | None]]:
        return {group: {"error": self.group_error} for group in groups}

    def describe_transactions(self, _ids: list[str]) -> None:
        raise self.transaction_error

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1}]}

    def describe_configs(self, resources: list[ConfigResource], **_more: str) -> dict[str, Any]:
        if resources[0].resource_type == ConfigResourceType.TOPIC:
            config = {key: {"value": value} for key, value in self.topic_configs.items()}
            return {"topic": {resource.name: config for resource in resources}}
        config = {} if self.timeout_ms is None else {MAX_TIMEOUT: {"value": self.timeout_ms}}
        return {"broker": {"1": config}}

    def describe_topics(self) -> list[dict[str, object]]:
        partitions = [{"replica_nodes": [1, 2, 3]}, {"replica_nodes": self.replicas}]
        return [
            {"name": name, "authorized_operations": allowed, "partitions": partitions}
            for name, allowed in self.topics.items()
        ]

    def create_topics(self, topics: list[NewTopic], *, validate_only: bool) -> None:
        assert validate_only
        if self.create_error is not None:
            raise self.create_error
        if any(topic.name in self.topics for topic in topics):
            raise TopicAlreadyExistsError


@pytest.fixture(scope="module")
def settings(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> RedriveSettings:
    """Of a store that knows dead letters from two topics."""
    file = tmp_path_factory.mktemp("redrive") / "deadwatch.db"
    file.write_bytes(empty_store.read_bytes())
    engine = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    with engine.begin() as connection:
        for topic in ("orders", "gone"):
            row = {**empty_row(schema.groups), "fingerprint": topic, "source_topic": topic, "records": 1}
            connection.execute(insert(schema.groups), row)
    return RedriveSettings(store_url=f"sqlite:///{file}")


def lines(admin: Admin, settings: RedriveSettings) -> list[str]:
    return [line(finding) for finding in redrive(settings, cast("KafkaAdminClient", admin))]


def test_all_is_well_where_everything_is_allowed(settings: RedriveSettings) -> None:
    assert lines(Admin(), settings) == [
        "ok    redrive: group deadwatch-redrive-* may be seen",
        "ok    redrive: transactional id deadwatch-redrive-* may be seen",
        "ok    redrive: transaction.max.timeout.ms of the brokers is 900000",
        "ok    redrive: dead letter topics: READ on 1 of 1",
        "ok    redrive: topics of parked records: WRITE on 0 of 0",
        "ok    redrive: dlq.a.parked may be created",
        "ok    redrive: topics that dead letters came from: WRITE on 1 of 1",
        "ok    redrive: 2 of 2 topics outlive the loss of a broker",
    ]


MANY = {f"dlq.{name}": ("DESCRIBE",) for name in "abcde"}
PARKED_IS_READ_ONLY = {"dlq.a": ALL, "dlq.a.parked": ("READ",)}
WARNINGS: dict[str, Admin] = {
    "group deadwatch-redrive-*": Admin(group_error="[Error 30] GroupAuthorizationFailedError"),
    "transactional id deadwatch-redrive-* may not be seen; add the ACL": Admin(
        transaction_error=TransactionalIdAuthorizationFailedError
    ),
    "3.0 or newer": Admin(transaction_error=IncompatibleBrokerVersion),
    "brokers is 60000; raise it to 180000": Admin(timeout_ms="60000"),
    "transaction.max.timeout.ms may not be read": Admin(timeout_ms=None),
    "topics that dead letters came from: no WRITE on orders (1 of 1)": Admin({"orders": ("READ",)}),
    "dead letter topics: no READ on dlq.a, dlq.b, dlq.c and 2 more (5 of 5)": Admin(MANY),
    "topics of parked records: no WRITE on dlq.a.parked (1 of 1)": Admin(PARKED_IS_READ_ONLY),
    "dlq.a.parked is missing and may not be created; create the topics": Admin(
        create_error=TopicAuthorizationFailedError()
    ),
    "redrive: one replica: dlq.a, orders; give them three": Admin(replicas=[1]),
    "min.insync.replicas is 1: dlq.a, orders; set it to 2": Admin(
        topic_configs={**DURABLE, MIN_IN_SYNC: "1"}
    ),
    "unclean.leader.election.enable is on: dlq.a, orders": Admin(topic_configs={**DURABLE, UNCLEAN: "true"}),
}


def test_settings_that_may_not_be_read_promise_nothing(settings: RedriveSettings) -> None:
    seen = Admin({"orders": ("READ", "WRITE", "DESCRIBE")}, topic_configs={MIN_IN_SYNC: "1"})
    last = lines(seen, settings)[-1]
    assert "0 of 1 topics outlive the loss of a broker, the settings of the others may not be read" in last


@pytest.mark.parametrize(("expected", "admin"), WARNINGS.items(), ids=WARNINGS)
def test_what_a_redrive_would_lack_is_a_warning(
    expected: str, admin: Admin, settings: RedriveSettings
) -> None:
    (warning,) = [found for found in lines(admin, settings) if found.startswith("warn")]
    assert expected in warning


def test_only_a_missing_topic_is_tried_to_be_created(settings: RedriveSettings) -> None:
    found = lines(Admin({"dlq.a": ALL, "dlq.a.parked": ALL, "dlq.b": ALL, "orders": ALL}), settings)
    assert found[-4:-1] == [
        "ok    redrive: topics of parked records: WRITE on 1 of 1",
        "ok    redrive: dlq.b.parked may be created",
        "ok    redrive: topics that dead letters came from: WRITE on 1 of 1",
    ]


@dataclass(frozen=True)
class Fresh(Admin):
    """A Kafka in which nobody has asked for transactions yet."""

    errors: list[type[Exception]] = field(default_factory=list)

    def describe_transactions(self, _ids: list[str]) -> None:
        raise self.errors.pop() if self.errors else self.transaction_error


def test_the_first_request_waits_some_seconds_until_transactions_have_their_topic(
    settings: RedriveSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_s: list[float] = []
    monkeypatch.setattr(time, "sleep", waits_s.append)
    found = lines(Fresh(errors=[NotCoordinatorError, CoordinatorNotAvailableError]), settings)
    assert found[1] == "ok    redrive: transactional id deadwatch-redrive-* may be seen"
    assert len(waits_s) == 2
    waits_s.clear()
    found = lines(Fresh(errors=[CoordinatorNotAvailableError] * 99), settings)
    assert "CoordinatorNotAvailableError" in found[1]
    assert 3 < sum(waits_s) < 6


def test_without_a_store_no_target_is_known(tmp_path: Path) -> None:
    nowhere = RedriveSettings(store_url=f"sqlite:///{tmp_path / 'none.db'}")
    assert "came from: WRITE on 0 of 0" in lines(Admin(), nowhere)[-2]
