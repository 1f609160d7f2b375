"""Kafka's admin interface without a Kafka; it answers as kafka-python 3.0.12 does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResourceType, OffsetSpec
from kafka.errors import KafkaConnectionError, KafkaError, TopicAuthorizationFailedError
from kafka.structs import OffsetAndTimestamp

from collector.sources.findings.configuration import DLQ

Log = tuple[int, int, int]
"""First offset, end, time of the first record."""

TOO_OLD: Final = "(the broker does not know the setting)"
SETTINGS: Final = {
    "errors.deadletterqueue.topic.name.prefix": "dlq.",
    "errors.deadletterqueue.auto.create.topics.enable": "false",
    "num.partitions": "1",
    "retention.ms": "1",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
}


@dataclass
class Admin:
    """``groups`` are those that have settings, with their queues; ``shares`` are listed as share groups.

    What may not be read, a group whose queue is None or a ``refused`` type of resource, has no settings.
    ``enabled`` is whether a topic may be the queue of share groups.
    """

    groups: Mapping[str, str | None] = field(default_factory=dict)
    shares: Sequence[str] = ()
    logs: Mapping[str, list[Log]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    unlisted: KafkaError | None = None
    enabled: str = "false"
    brokers_are_away: bool = False

    @property
    def client(self) -> KafkaAdminClient:
        return cast("KafkaAdminClient", self)

    def describe_configs(self, resources: Sequence[Any], *, config_filter: str) -> dict[str, dict[str, Any]]:
        assert config_filter == "all"
        answer: dict[str, dict[str, Any]] = {}
        for one in resources:
            if self.brokers_are_away and one.resource_type is ConfigResourceType.BROKER:
                raise KafkaConnectionError
            settings = self._settings(one.resource_type, one.name)
            answer.setdefault(one.resource_type.name.lower(), {})[one.name] = {
                name: {"value": settings[name]} for name in one.configs if name in settings
            }
        return answer

    def _settings(self, kind: ConfigResourceType, name: str) -> dict[str, str]:
        queue = self.groups.get(name, "")
        if kind.name in self.refused or queue is None:
            return {}
        if kind is not ConfigResourceType.GROUP:
            return {**SETTINGS, "errors.deadletterqueue.group.enable": self.enabled}
        own = {"consumer.session.timeout.ms": "45000"}
        return own if queue == TOO_OLD else {**own, DLQ: queue}

    def list_config_resources(self, _types: object) -> dict[str, list[str]]:
        if self.unlisted is not None:
            raise self.unlisted
        return {"group": list(self.groups)} if self.groups else {}

    def list_groups(self, *, types_filter: Sequence[str]) -> list[dict[str, str]]:
        assert types_filter == ["share"]
        return [{"group_id": group, "group_type": "share"} for group in self.shares]

    def list_partition_offsets(
        self, specs: Mapping[TopicPartition, int], _isolation: object
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return {one: _offset(self.logs[one.topic][one.partition], spec) for one, spec in specs.items()}

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1, "is_fenced": False}]}

    def describe_features(self) -> dict[str, Any]:
        return {"share.version": {"supported": (0, 2), "finalized": (2, 2)}}

    def describe_topics(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        return [{"name": name, "error_code": TopicAuthorizationFailedError.errno} for name in topics]


def _offset(log: Log, spec: int) -> OffsetAndTimestamp:
    first, end, time_ms = log
    if spec == OffsetSpec.EARLIEST:
        return OffsetAndTimestamp(first, -1, None)
    if spec == OffsetSpec.LATEST:
        return OffsetAndTimestamp(end, -1, None)
    return OffsetAndTimestamp(first, time_ms, 0) if end > first else OffsetAndTimestamp(-1, -1, None)
