"""What Kafka's admin interface knows of dead letter topics: settings, how much they hold, who names them.

Nothing is consumed and no group is joined. kafka-python 3.0.12 hides that a resource may not be read: its
settings are empty then. Every request here includes a setting that always exists, so an empty answer
means that it was refused (or that the resource has gone meanwhile).

``records`` is the distance from the first offset to the last stable one. It also counts transaction
markers and what compaction has removed: on a topic with either it is an upper bound. The time of the
oldest record is that of the first record with a time that is not negative, as its producer set it.

``Names`` are the topics that the configurations of share groups and connectors name as their dead letter
queues. If a cluster cannot be asked now, its last answer stays, also over restarts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kafka import KafkaAdminClient, TopicPartition, errors
from kafka.admin import ConfigResourceType, OffsetSpec
from kafka.protocol.consumer import IsolationLevel

from collector.settings import ConnectSettings
from collector.sources.connect import interfaces
from collector.sources.connect.workers import source_name
from collector.sources.findings.configuration import DLQ, Broker, Connector, listed
from collector.sources.findings.connect import SOURCE
from collector.sources.findings.share import GROUP_ENABLE
from collector.sources.findings.topics import POLICY, RETENTION_BYTES, RETENTION_MS
from collector.sources.source import SourceDownError, State
from deadwatch.runtime import http_client
from deadwatch.runtime.kafka_topics import settings_of

_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
_CREATES: Final = "errors.deadletterqueue.auto.create.topics.enable"
_OF_BROKER: Final = "num.partitions"
_OF_GROUP: Final = "consumer.session.timeout.ms"
"""A setting that every broker, and every group, has had since before share groups."""

_OF_TOPIC: Final = (RETENTION_MS, RETENTION_BYTES, POLICY, GROUP_ENABLE)
_SHARE_VERSION: Final = "share.version"

Settings = dict[str, str]

_FIRST_RECORD: Final = 0

SHARE_GROUPS: Final = "share groups"
SHARE_GROUP: Final = "share group"
_REFUSED: Final = "settings of share groups may not be read: allow us DescribeConfigs on cluster and groups"

Named = dict[str, list[str]]
"""The share groups and connectors that send to a topic, by topic."""


def of_topics(admin: KafkaAdminClient, names: Iterable[str]) -> dict[str, Settings | None]:
    """What findings need of each topic, None where we may not read it. Raises ``KafkaError``."""
    described = settings_of(admin, ConfigResourceType.TOPIC, names, _OF_TOPIC)
    return {name: settings or None for name, settings in described.items()}


def of_brokers(admin: KafkaAdminClient, ids: Iterable[int]) -> dict[int, Broker | None]:
    """What each broker does with dead letters, None where we may not read it. Raises ``KafkaError``.

    A broker too old for these settings writes no dead letters of share groups, so it has no findings.
    """
    described = settings_of(admin, ConfigResourceType.BROKER, map(str, ids), (_PREFIX, _CREATES, _OF_BROKER))
    return {
        int(name): Broker(settings.get(_PREFIX, ""), settings.get(_CREATES, "true") == "true")
        if _OF_BROKER in settings
        else None
        for name, settings in described.items()
    }


def share_version(admin: KafkaAdminClient) -> int | None:
    """The cluster's ``share.version``; None on one that has no features. Raises ``KafkaError``."""
    try:
        feature = admin.describe_features().get(_SHARE_VERSION, {})
    except errors.UnsupportedVersionError:
        return None
    return int(feature.get("finalized", (0, 0))[1])


def hidden_topics(admin: KafkaAdminClient, names: Iterable[str]) -> frozenset[str]:
    """Those of ``names`` whose existence we may not know. Raises ``KafkaError``."""
    asked = list(names)
    return frozenset(
        topic["name"]
        for topic in (admin.describe_topics(asked) if asked else ())
        if topic["error_code"] == errors.TopicAuthorizationFailedError.errno
    )


@dataclass(frozen=True, slots=True)
class Extent:
    """What a topic holds; ``oldest_at_ms`` is 0 when it is empty."""

    partitions: int = 0
    records: int = 0
    oldest_at_ms: int = 0


def extents(admin: KafkaAdminClient, by_topic: Mapping[str, list[TopicPartition]]) -> dict[str, Extent]:
    """What each of these topics holds. Raises ``KafkaError``."""
    every = [partition for partitions in by_topic.values() for partition in partitions]
    first, end, oldest = (
        admin.list_partition_offsets(dict.fromkeys(every, spec), IsolationLevel.READ_COMMITTED)
        for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, _FIRST_RECORD)
    )
    found = {}
    for topic, partitions in by_topic.items():
        held = {place: max(0, end[place].offset - first[place].offset) for place in partitions}
        times_ms = (oldest[place].timestamp for place, records in held.items() if records)
        oldest_at_ms = min((time_ms for time_ms in times_ms if time_ms > 0), default=0)
        found[topic] = Extent(len(partitions), sum(held.values()), oldest_at_ms)
    return found


def share_group_queues(admin: KafkaAdminClient) -> dict[str, str | None]:
    """The dead letter queue of each share group: "" for none, None where we may not read it.

    A group that has settings but no queue may be of another type; it is left out unless Kafka lists it as a
    share group. There are no groups on a broker too old to have any, and no queues on one too old for these.
    Raises ``KafkaError``.
    """
    try:
        shares = {group["group_id"] for group in admin.list_groups(types_filter=["share"])}
        configured = admin.list_config_resources([ConfigResourceType.GROUP]).get("group", [])
    except errors.UnsupportedVersionError:
        return {}
    names = sorted(shares.union(configured))
    queues = {
        name: settings.get(DLQ, "") if _OF_GROUP in settings else None
        for name, settings in settings_of(admin, ConfigResourceType.GROUP, names, (DLQ, _OF_GROUP)).items()
    }
    return {group: queue for group, queue in queues.items() if queue != "" or group in shares}


class Names:
    """The topics that are named, by who was asked: Kafka for its share groups, or a Connect cluster.

    ``queues`` and ``connectors`` are the latest answers, None if there was none.
    """

    def __init__(self, clusters: Sequence[ConnectSettings], saved: State) -> None:
        self._clients = {
            source_name(cluster): (cluster.url, http_client.client(cluster.request_timeout_ms))
            for cluster in clusters
        }
        known = {SHARE_GROUPS, *self._clients}
        self.queues: Mapping[str, str | None] | None = None
        self.connectors: dict[str, Mapping[str, Connector] | None] = dict.fromkeys(self._clients)
        self._named: dict[str, Named] = {
            owner: named for owner, named in saved.get("named", {}).items() if owner in known
        }

    def ask_connect(self) -> None:
        """Ask what sinks name; the cluster's own source reports if it cannot be reached."""
        for owner, (url, client) in self._clients.items():
            self.connectors[owner] = None
            with suppress(SourceDownError):
                connectors = interfaces.connectors(client, url)
                sinks = {
                    name: connector.setting(DLQ)
                    for name, connector in connectors.items()
                    if connector.kind != SOURCE
                }
                self._named[owner] = _named(sinks, "connector")
                self.connectors[owner] = connectors

    def ask_share_groups(self, admin: KafkaAdminClient) -> Iterator[str]:
        """Ask what share groups name; yields what went wrong. Raises ``KafkaError``."""
        self.queues = None
        try:
            named = share_group_queues(admin)
        except errors.AuthorizationError:
            yield _REFUSED
            return
        except (errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError):
            yield "a broker is still loading its groups; what is known of share groups stays"
            return
        self.queues = named
        before = self._named.get(SHARE_GROUPS, {})
        self._named[SHARE_GROUPS] = _named(named, SHARE_GROUP)
        if refused := {f"{SHARE_GROUP} {group}" for group, queue in named.items() if queue is None}:
            yield _REFUSED
            for topic, namers in before.items():
                if kept := [namer for namer in namers if namer in refused]:
                    self._named[SHARE_GROUPS].setdefault(topic, []).extend(kept)

    def topics(self) -> frozenset[str]:
        """Every topic that is named."""
        return frozenset(topic for named in self._named.values() for topic in named)

    def of(self, topic: str) -> str:
        """The share groups and connectors that name the topic, as a text for people."""
        every = sorted(namer for named in self._named.values() for namer in named.get(topic, ()))
        return listed(every)

    def state(self) -> dict[str, dict[str, Named]]:
        """The named topics, as they are saved."""
        return {"named": dict(self._named)}

    def close(self) -> None:
        """Close all connections that are open."""
        for _, client in self._clients.values():
            client.close()


def _named(queues: Mapping[str, str | None], kind: str) -> Named:
    named: Named = {}
    for name, topic in queues.items():
        if topic and "${" not in topic:  # a name that a config provider fills in is not known here
            named.setdefault(topic, []).append(f"{kind} {name}")
    return named
