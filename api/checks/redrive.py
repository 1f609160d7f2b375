"""What redrives need of Kafka, as far as it can be told without writing anything.

Targets are the topics that dead letters came from, as the store knows them. Kafka tells of groups and
transactional ids only whether we may see them; whether we may write shows when a redrive begins.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from random import Random
from typing import Final, Protocol

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import (
    AuthorizationError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    NotCoordinatorError,
    TransactionalIdNotFoundError,
)
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from api.checks.finding import Finding, ok, short, warn
from api.errors import ApiError
from api.store import Store
from collector.contract.backoff import Backoff
from collector.contract.topics import PARKED_SUFFIX
from streaming.redrive.targets import TargetRules
from streaming.store import schema

NAME: Final = "deadwatch-redrive-doctor"
TRANSACTION_MS: Final = 180_000
"""How long a transaction of an order with the default ``delivery_timeout_ms`` may take."""
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ATTEMPTS: Final = 8
"""At a coordinator that is not there yet: 5 s or so."""
BACKOFF: Final = Backoff()
NAMED: Final = 3
"""Topics that one line names; the others are counted."""

Operations = Mapping[str, Collection[str]]


class Rules(Protocol):
    """Which topics hold dead letters, and which may be targets: settings of the api and of redrive."""

    @property
    def dlq_topics(self) -> tuple[str, ...]:
        """Patterns."""

    @property
    def dlq_topics_deny(self) -> tuple[str, ...]:
        """Patterns."""

    @property
    def targets_allow(self) -> tuple[str, ...]:
        """Patterns."""

    @property
    def store_url(self) -> str:
        """Where streaming counts what has died."""


def redrive(settings: Rules, admin: KafkaAdminClient) -> Iterator[Finding]:
    """Our groups, transactional ids, topics, and how long a transaction may last."""
    try:
        yield _allowed("group", lambda: _see_group(admin))
        yield _allowed("transactional id", lambda: _see_transaction(admin))
        yield _longest_transaction(admin)
        yield from _topics(admin, settings)
    except KafkaError as error:
        yield warn("redrive", short(error), "redrives need a broker that is up and is 3.0 or newer")


def _see_group(admin: KafkaAdminClient) -> None:
    told = admin.describe_groups([NAME])[NAME]["error"]
    if told and "Authorization" in told:
        raise AuthorizationError(told)


def _see_transaction(admin: KafkaAdminClient) -> None:
    """The first who asks a Kafka for transactions makes their topic, and waits for its leaders (KIP-580)."""
    for failures in range(1, ATTEMPTS + 1):
        try:
            admin.describe_transactions([NAME])
        except TransactionalIdNotFoundError:
            return
        except (CoordinatorNotAvailableError, CoordinatorLoadInProgressError, NotCoordinatorError):
            if failures == ATTEMPTS:
                raise
            time.sleep(BACKOFF.delay_ms(failures, Random()) / 1_000)
        else:
            return


def _allowed(what: str, see: Callable[[], None]) -> Finding:
    try:
        see()
    except AuthorizationError:
        return warn(
            "redrive",
            f"{what} deadwatch-redrive-* is not for us",
            "add the ACL (docs/configuration.md), or no dead letter can be put back",
        )
    return ok("redrive", f"{what} deadwatch-redrive-* may be seen")


def _longest_transaction(admin: KafkaAdminClient) -> Finding:
    """Kafka refuses a producer whose transactions may last longer than it allows."""
    broker = str(admin.describe_cluster()["brokers"][0]["broker_id"])
    resource = ConfigResource(ConfigResourceType.BROKER, broker, {MAX_TIMEOUT: None})
    try:
        told = admin.describe_configs([resource], config_filter="all")
        allowed_ms = int(next(iter(told.values()))[broker][MAX_TIMEOUT]["value"])
    except (AuthorizationError, LookupError, StopIteration):
        return warn(
            "redrive",
            f"{MAX_TIMEOUT} may not be read",
            f"see that it is at least {TRANSACTION_MS} on the brokers",
        )
    if allowed_ms < TRANSACTION_MS:
        advice = f"raise it to {TRANSACTION_MS}, or give redrives a smaller delivery_timeout_ms"
        return warn("redrive", f"{MAX_TIMEOUT} of the brokers is {allowed_ms}", advice)
    return ok("redrive", f"{MAX_TIMEOUT} of the brokers is {allowed_ms}")


def _topics(admin: KafkaAdminClient, settings: Rules) -> Iterator[Finding]:
    """Dead letter topics may be read, their parked ones and the targets written."""
    allowed = {
        topic["name"]: frozenset(topic["authorized_operations"] or ()) for topic in admin.describe_topics()
    }
    rules = TargetRules(
        dict.fromkeys(allowed, 1), settings.targets_allow, settings.dlq_topics, settings.dlq_topics_deny
    )
    queues = [topic for topic in allowed if rules.is_dlq(topic) and not topic.endswith(PARKED_SUFFIX)]
    parking = [topic + PARKED_SUFFIX for topic in queues]
    parked = [topic for topic in parking if topic in allowed]
    missing = [topic for topic in parking if topic not in allowed]
    targets = [topic for topic in _sources(settings) if rules.refusal(topic) is None]
    yield _may(allowed, queues, "READ", "dead letter topics")
    yield _may(allowed, parked, "WRITE", "topics of parked records")
    if missing:
        yield _may_park(admin, missing[0])
    yield _may(allowed, targets, "WRITE", "topics that dead letters came from")


def _sources(settings: Rules) -> list[str]:
    """As far as streaming has counted; none before there is a store."""
    try:
        with closing(Store(settings.store_url)) as store, store.read() as connection:
            return sorted(connection.scalars(select(schema.groups.c.source_topic).distinct()))
    except (ApiError, SQLAlchemyError):
        return []


def _may(allowed: Operations, topics: Sequence[str], operation: str, what: str) -> Finding:
    closed = sorted(topic for topic in topics if operation not in allowed[topic])
    if not closed:
        return ok("redrive", f"{operation} on {len(topics)} {what}")
    named = ", ".join(closed[:NAMED]) + (f" and {len(closed) - NAMED} more" if len(closed) > NAMED else "")
    return warn("redrive", f"no {operation} on {named}, of {len(topics)} {what}", "add the ACL for this user")


def _may_park(admin: KafkaAdminClient, topic: str) -> Finding:
    """A topic of parked records is made when the first is parked."""
    try:
        admin.create_topics([NewTopic(topic, 1, -1)], validate_only=True)
    except AuthorizationError:
        advice = (
            "create the topics of parked records, or add the ACL: without them a redrive that parks is paused"
        )
        return warn("redrive", f"{topic} is missing and may not be created", advice)
    return ok("redrive", f"{topic} may be created")
