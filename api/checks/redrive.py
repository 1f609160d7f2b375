"""What redrives need of Kafka, as far as that can be checked without writing anything.

Targets are the topics that dead letters came from, as the store knows them. Of groups and
transactional ids Kafka only says whether we may see them; whether we may write is seen when a redrive begins.

Kafka's transactions hold where partitions have replicas in sync. While the only replica of one is down, the
markers of a transaction that ends may be left out (KAFKA-20734).
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from random import Random
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, NewTopic
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

from api.checks import Finding, ok, short, some, warn
from api.errors import ApiError
from api.settings import ApiSettings
from api.store import Store
from deadwatch.contract.backoff import Backoff
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.runtime.kafka_topics import settings_of
from deadwatch.store import schema
from redrive.settings import RedriveSettings

NAME: Final = "deadwatch-redrive-doctor"
TRANSACTION_MS: Final = 180_000
"""How long a transaction of an order with the default ``delivery_timeout_ms`` may take."""
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ATTEMPTS: Final = 8
"""At a coordinator that is not there yet: 5 s or so."""
BACKOFF: Final = Backoff()
Operations = Mapping[str, Collection[str]]


Settings = ApiSettings | RedriveSettings


def redrive(settings: Settings, admin: KafkaAdminClient) -> Iterator[Finding]:
    """Whether our groups, transactional ids and topics are permitted, and how long a transaction may last."""
    try:
        yield _allowed("group", lambda: _see_group(admin))
        yield _allowed("transactional id", lambda: _see_transaction(admin))
        yield _longest_transaction(admin)
        yield from _topics(admin, settings)
    except KafkaError as error:
        yield warn("redrive", short(error), "redrives need a broker that is up and is 3.0 or newer")


def _see_group(admin: KafkaAdminClient) -> None:
    error = admin.describe_groups([NAME])[NAME]["error"]
    if error and "Authorization" in error:
        raise AuthorizationError(error)


def _see_transaction(admin: KafkaAdminClient) -> None:
    """The first request for transactions makes Kafka create their topic; it waits for leaders (KIP-580)."""
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
        advice = "add the ACL (docs/configuration.md), or no dead letter can be put back"
        return warn("redrive", f"{what} deadwatch-redrive-* may not be seen", advice)
    return ok("redrive", f"{what} deadwatch-redrive-* may be seen")


def _longest_transaction(admin: KafkaAdminClient) -> Finding:
    """Kafka refuses a producer whose transactions may last longer than the broker's limit."""
    broker = str(admin.describe_cluster()["brokers"][0]["broker_id"])
    try:
        found = settings_of(admin, ConfigResourceType.BROKER, [broker], [MAX_TIMEOUT])
        allowed_ms = int(found[broker][MAX_TIMEOUT])
    except (AuthorizationError, LookupError):
        advice = f"see that it is at least {TRANSACTION_MS} on the brokers"
        return warn("redrive", f"{MAX_TIMEOUT} may not be read", advice)
    if allowed_ms < TRANSACTION_MS:
        advice = f"raise it to {TRANSACTION_MS}, or give redrives a smaller delivery_timeout_ms"
        return warn("redrive", f"{MAX_TIMEOUT} of the brokers is {allowed_ms}", advice)
    return ok("redrive", f"{MAX_TIMEOUT} of the brokers is {allowed_ms}")


def _topics(admin: KafkaAdminClient, settings: Settings) -> Iterator[Finding]:
    """Whether dead letter topics may be read, and their parked topics and the targets written."""
    described = {topic["name"]: topic for topic in admin.describe_topics()}
    allowed = {name: frozenset(topic["authorized_operations"] or ()) for name, topic in described.items()}
    rules = settings.target_rules(frozenset(), dict.fromkeys(allowed, 1))
    queues = [topic for topic in allowed if rules.is_dlq(topic) and not topic.endswith(PARKED_SUFFIX)]
    parking = [topic + PARKED_SUFFIX for topic in queues]
    missing = [topic for topic in parking if topic not in allowed]
    targets = [topic for topic in _sources(settings) if rules.refusal(topic) is None]
    yield _may(allowed, queues, "READ", "dead letter topics")
    yield _may(allowed, [*{*parking} & {*allowed}], "WRITE", "topics of parked records")
    if missing:
        yield _may_park(admin, missing[0])
    yield _may(allowed, targets, "WRITE", "topics that dead letters came from")
    yield from _durability(admin, described, {*queues, *parking, *targets, settings.events_topic})


def _sources(settings: Settings) -> list[str]:
    """Topics that dead letters came from, as far as streaming counted them; none without a store."""
    try:
        with closing(Store(settings.store_url)) as store, store.read() as connection:
            return sorted(connection.scalars(select(schema.groups.c.source_topic).distinct()))
    except (ApiError, SQLAlchemyError):
        return []


def _may(allowed: Operations, topics: Sequence[str], operation: str, what: str) -> Finding:
    closed = sorted(topic for topic in topics if operation not in allowed[topic])
    if not closed:
        return ok("redrive", f"{what}: {operation} on {len(topics)} of {len(topics)}")
    seen = f"{what}: no {operation} on {some(closed)} ({len(closed)} of {len(topics)})"
    return warn("redrive", seen, "add the ACL for this user")


def _may_park(admin: KafkaAdminClient, topic: str) -> Finding:
    """Whether we may create the topic, as we do when the first record is parked."""
    try:
        admin.create_topics([NewTopic(topic, 1, -1)], validate_only=True)
    except AuthorizationError:
        advice = (
            "create the topics of parked records, or add the ACL: without them a redrive that parks is paused"
        )
        return warn("redrive", f"{topic} is missing and may not be created", advice)
    return ok("redrive", f"{topic} may be created")


INTERNAL: Final = frozenset({"__transaction_state", "__consumer_offsets"})
MIN_IN_SYNC: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
WHY: Final = "see docs/exactly-once.md"

Described = Mapping[str, Mapping[str, Any]]
"""What the brokers tell of topics, by name."""


def _durability(admin: KafkaAdminClient, described: Described, used: Collection[str]) -> Iterator[Finding]:
    """What is found of Kafka's internal topics and of ``used`` ones, as far as we may see them."""
    topics = sorted((INTERNAL | {*used}) & described.keys())
    allowed = {topic: described[topic]["authorized_operations"] or () for topic in topics}
    readable = [topic for topic in topics if "DESCRIBE_CONFIGS" in allowed[topic]]
    configs = settings_of(admin, ConfigResourceType.TOPIC, readable, (MIN_IN_SYNC, UNCLEAN))
    single = [topic for topic in topics if _replicas(described[topic]) == 1]
    replicated = [topic for topic in configs if topic not in single]
    lonely = [topic for topic in replicated if configs[topic].get(MIN_IN_SYNC) == "1"]
    unclean = [topic for topic in configs if configs[topic].get(UNCLEAN) == "true"]
    if single:
        yield warn("redrive", f"one replica: {some(single)}", f"give them three, {WHY}")
    if lonely:
        yield warn("redrive", f"{MIN_IN_SYNC} is 1: {some(lonely)}", f"set it to 2, {WHY}")
    if unclean:
        yield warn("redrive", f"{UNCLEAN} is on: {some(unclean)}", f"switch it off, {WHY}")
    if not (single or lonely or unclean):
        seen = f"{len(configs)} of {len(topics)} topics outlive the loss of a broker"
        hidden = ", the settings of the others may not be read" if len(configs) < len(topics) else ""
        yield ok("redrive", seen + hidden)


def _replicas(described: Mapping[str, Any]) -> int:
    """The fewest of any partition."""
    return min((len(partition["replica_nodes"]) for partition in described["partitions"]), default=0)
