"""Settings of brokers, topics and groups, as Kafka's admin interface tells them.

kafka-python 3.0.12 hides that a resource may not be read: its settings are empty then. Every question here
asks for a setting that is always there, so empty means refused (or gone meanwhile).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAuthorizationFailedError, UnsupportedVersionError

from collector.sources.findings_picture import Broker
from collector.sources.findings_share import GROUP_ENABLE
from collector.sources.findings_topics import POLICY, RETENTION_BYTES, RETENTION_MS

_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
_CREATES: Final = "errors.deadletterqueue.auto.create.topics.enable"
_OF_BROKER: Final = "num.partitions"
_OF_GROUP: Final = "consumer.session.timeout.ms"
"""A setting that every broker, and every group, has had since before share groups."""

_OF_TOPIC: Final = (RETENTION_MS, RETENTION_BYTES, POLICY, GROUP_ENABLE)
_SHARE_VERSION: Final = "share.version"

Settings = dict[str, str]


def of_groups(admin: KafkaAdminClient, names: Iterable[str], setting: str) -> dict[str, str | None]:
    """One setting of each group: "" on a broker too old for it, None where we may not read it.

    Raises ``KafkaError``.
    """
    told = _told(admin, ConfigResourceType.GROUP, names, (setting, _OF_GROUP))
    return {
        name: settings.get(setting, "") if _OF_GROUP in settings else None for name, settings in told.items()
    }


def of_topics(admin: KafkaAdminClient, names: Iterable[str]) -> dict[str, Settings | None]:
    """What findings need of each topic, None where we may not read it. Raises ``KafkaError``."""
    told = _told(admin, ConfigResourceType.TOPIC, names, _OF_TOPIC)
    return {name: settings or None for name, settings in told.items()}


def of_brokers(admin: KafkaAdminClient, ids: Iterable[int]) -> dict[int, Broker | None]:
    """What each broker does with dead letters, None where we may not read it. Raises ``KafkaError``.

    One too old to know the settings writes none, so nothing can be said against it.
    """
    told = _told(admin, ConfigResourceType.BROKER, map(str, ids), (_PREFIX, _CREATES, _OF_BROKER))
    return {
        int(name): Broker(settings.get(_PREFIX, ""), settings.get(_CREATES, "true") == "true")
        if _OF_BROKER in settings
        else None
        for name, settings in told.items()
    }


def share_version(admin: KafkaAdminClient) -> int | None:
    """The cluster's ``share.version``; None on one that has no features. Raises ``KafkaError``."""
    try:
        feature = admin.describe_features().get(_SHARE_VERSION, {})
    except UnsupportedVersionError:
        return None
    return int(feature.get("finalized", (0, 0))[1])


def hidden_topics(admin: KafkaAdminClient, names: Iterable[str]) -> frozenset[str]:
    """Those of ``names`` whose existence we may not know. Raises ``KafkaError``."""
    asked = list(names)
    return frozenset(
        topic["name"]
        for topic in (admin.describe_topics(asked) if asked else ())
        if topic["error_code"] == TopicAuthorizationFailedError.errno
    )


def _told(
    admin: KafkaAdminClient, kind: ConfigResourceType, names: Iterable[str], settings: Iterable[str]
) -> Mapping[str, Settings]:
    wanted = dict.fromkeys(settings)
    resources = [ConfigResource(kind, name, wanted) for name in names]
    answer = admin.describe_configs(resources, config_filter="all") if resources else {}
    told = answer.get(kind.name.lower(), {})
    return {
        resource.name: {name: entry["value"] or "" for name, entry in told.get(resource.name, {}).items()}
        for resource in resources
    }
