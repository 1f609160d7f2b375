"""What the doctor says of redrives, before an admin client that answers as Kafka does."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from kafka.admin import NewTopic
from kafka.errors import (
    CoordinatorNotAvailableError,
    IncompatibleBrokerVersion,
    NotCoordinatorError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    TransactionalIdNotFoundError,
)
from sqlalchemy import insert

from api.checks.redrive import MAX_TIMEOUT, redrive
from api.settings import ApiSettings
from collector.settings import CollectorSettings
from deadwatch.doctor import line
from deadwatch.service import Service
from streaming.redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings
from streaming.store import schema
from streaming.store.engine import connect
from streaming.store.store import Store

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

ALL = ("READ", "WRITE", "DESCRIBE")


@dataclass(frozen=True)
class Admin:
    """Everything is allowed, unless said."""

    topics: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"dlq.a": ALL, "orders": ALL})
    group_error: str | None = None
    transaction_error: type[Exception] = TransactionalIdNotFoundError
    timeout_ms: str | None = "900000"
    create_error: Exception | None = None

    def describe_groups(self, groups: list[str]) -> dict[str, dict[str, str | None]]:
        return {group: {"error": self.group_error} for group in groups}

    def describe_transactions(self, _ids: list[str]) -> None:
        raise self.transaction_error

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1}]}

    def describe_configs(self, _resources: list[object], **_more: str) -> dict[str, Any]:
        told = {} if self.timeout_ms is None else {MAX_TIMEOUT: {"value": self.timeout_ms}}
        return {"broker": {"1": told}}

    def describe_topics(self) -> list[dict[str, object]]:
        return [{"name": name, "authorized_operations": allowed} for name, allowed in self.topics.items()]

    def create_topics(self, topics: list[NewTopic], *, validate_only: bool) -> None:
        assert validate_only
        if self.create_error is not None:
            raise self.create_error
        if any(topic.name in self.topics for topic in topics):
            raise TopicAlreadyExistsError


@pytest.fixture
def service(tmp_path: Path) -> Service:
    url = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(url):
        pass
    row = {column.name: 0 if "ms" in column.name else "" for column in schema.groups.c}
    engine = connect(url)
    with engine.begin() as connection:
        for source in ("orders", "gone"):
            told = {**row, "fingerprint": source, "source_topic": source, "records": 1}
            connection.execute(insert(schema.groups), told)
    engine.dispose()
    redriving = RedriveSettings(store_url=url)
    return Service(CollectorSettings(), StreamingSettings(), redriving, ApiSettings(), tmp_path, None)


def lines(admin: Admin, service: Service) -> list[str]:
    return [line(finding) for finding in redrive(service.redrive, cast("KafkaAdminClient", admin))]


def test_all_is_well_where_everything_is_allowed(service: Service) -> None:
    assert lines(Admin(), service) == [
        "ok    redrive: group deadwatch-redrive-* may be seen",
        "ok    redrive: transactional id deadwatch-redrive-* may be seen",
        "ok    redrive: transaction.max.timeout.ms of the brokers is 900000",
        "ok    redrive: READ on 1 dead letter topics",
        "ok    redrive: WRITE on 0 topics of parked records",
        "ok    redrive: dlq.a.parked may be created",
        "ok    redrive: WRITE on 1 topics that dead letters came from",
    ]


MANY = {f"dlq.{name}": ("DESCRIBE",) for name in "abcde"}
REFUSED: list[tuple[str, Admin, str]] = [
    ("the group", Admin(group_error="[Error 30] GroupAuthorizationFailedError"), "group deadwatch-redrive-*"),
    (
        "the transactional id",
        Admin(transaction_error=TransactionalIdAuthorizationFailedError),
        "transactional id deadwatch-redrive-* is not for us; add the ACL",
    ),
    ("an old broker", Admin(transaction_error=IncompatibleBrokerVersion), "3.0 or newer"),
    ("too short", Admin(timeout_ms="60000"), "brokers is 60000; raise it to 180000"),
    ("not told", Admin(timeout_ms=None), "transaction.max.timeout.ms may not be read"),
    ("a target", Admin({"orders": ("READ",)}), "no WRITE on orders, of 1 topics that dead letters"),
    ("many", Admin(MANY), "no READ on dlq.a, dlq.b, dlq.c and 2 more, of 5 dead letter topics"),
    (
        "parked records",
        Admin({"dlq.a": ALL, "dlq.a.parked": ("READ",)}),
        "no WRITE on dlq.a.parked, of 1 topics of parked records",
    ),
    (
        "making their topic",
        Admin(create_error=TopicAuthorizationFailedError()),
        "dlq.a.parked is missing and may not be created; create the topics",
    ),
]


@pytest.mark.parametrize(("admin", "told"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_a_redrive_would_lack_is_a_warning(admin: Admin, told: str, service: Service) -> None:
    (warning,) = [found for found in lines(admin, service) if found.startswith("warn")]
    assert told in warning


def test_only_a_topic_that_is_missing_is_asked_for(service: Service) -> None:
    told = lines(Admin({"dlq.a": ALL, "dlq.a.parked": ALL, "dlq.b": ALL, "orders": ALL}), service)
    assert told[-3:] == [
        "ok    redrive: WRITE on 1 topics of parked records",
        "ok    redrive: dlq.b.parked may be created",
        "ok    redrive: WRITE on 1 topics that dead letters came from",
    ]


@dataclass(frozen=True)
class Fresh(Admin):
    """A Kafka in which nobody has asked for transactions yet."""

    not_there: list[type[Exception]] = field(default_factory=list)

    def describe_transactions(self, _ids: list[str]) -> None:
        raise self.not_there.pop() if self.not_there else self.transaction_error


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def test_who_is_first_waits_until_transactions_have_their_topic(
    service: Service, waits_s: list[float]
) -> None:
    not_there: list[type[Exception]] = [NotCoordinatorError, CoordinatorNotAvailableError]
    told = lines(Fresh(not_there=not_there), service)
    assert told[1] == "ok    redrive: transactional id deadwatch-redrive-* may be seen"
    assert len(waits_s) == 2


def test_a_coordinator_that_does_not_come_is_told_after_some_seconds(
    service: Service, waits_s: list[float]
) -> None:
    told = lines(Fresh(not_there=[CoordinatorNotAvailableError] * 99), service)
    assert "CoordinatorNotAvailableError" in told[1]
    assert 3 < sum(waits_s) < 6


def test_without_a_store_no_target_is_known(service: Service, tmp_path: Path) -> None:
    nowhere = RedriveSettings(store_url=f"sqlite:///{tmp_path / 'none.db'}")
    assert "WRITE on 0 topics that" in lines(Admin(), replace(service, redrive=nowhere))[-1]
