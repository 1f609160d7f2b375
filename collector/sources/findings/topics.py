"""What will go wrong on a dead letter topic: dead letters that nobody reads, or that Kafka deletes.

Kafka deletes a whole segment once the newest record in it is older than ``retention.ms``: a dead letter may
go from its own time plus ``retention.ms`` on, and not before. A connector's dead letters keep the time of the
record that failed, those of a share group have the time they were written.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from collector.sources.findings.configuration import ClusterConfiguration, Problem, Topic, report
from collector.sources.findings.connect import ENOUGH_REPLICAS
from deadwatch.contract.events import Finding
from deadwatch.contract.events.findings import FindingKind

POLICY: Final = "cleanup.policy"
RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"
_REASSIGNMENT_CHARS: Final = 500
_PARTITION_CHARS: Final = 60
_MONTH_MS: Final = 30 * 86_400_000
_LAST_MS: Final = 253_402_300_799_000
"""The last second of the year 9999: a later time cannot be formatted."""


def of_reading(name: str, configuration: ClusterConfiguration) -> tuple[Finding, ...]:
    """Of a topic that a configuration names."""
    if configuration.is_read(name):
        return ()
    problem = (
        FindingKind.DLQ_NOT_READ,
        "a configuration sends dead letters here, and no pattern of dlq_topics matches the name: they "
        "are not read, grouped or put back",
        f"add '{re.escape(name)}' to dlq_topics, at the top level of the settings file",
    )
    return report(f"topic:{name}", [problem])


def of_topic(name: str, topic: Topic, configuration: ClusterConfiguration) -> tuple[Finding, ...] | None:
    """Of a topic that exists; None when it was not measured or we may not read its settings."""
    if topic.settings is None or topic.oldest_at_ms is None:
        return None
    cleanup = _of_cleanup(name, topic.oldest_at_ms, topic.settings, configuration)
    return report(f"topic:{name}", (*_of_replicas(name, topic, configuration), *cleanup))


def _of_replicas(name: str, topic: Topic, configuration: ClusterConfiguration) -> Iterator[Problem]:
    alone = [number for number, nodes in enumerate(topic.replicas) if len(nodes) == 1]
    if alone and configuration.cluster_size > 1:
        yield (
            FindingKind.DLQ_REPLICATION,
            f"it has partitions with one replica on a cluster of {configuration.cluster_size} brokers: dead "
            "letters are lost with that broker, and cannot be written while it is down",
            f"{configuration.tool('reassign-partitions')} --execute --reassignment-json-file FILE, "
            f"with this in FILE: {_reassignment(name, topic, alone, configuration)}",
        )


def _reassignment(name: str, topic: Topic, alone: Sequence[int], configuration: ClusterConfiguration) -> str:
    """As many of the partitions that lack replicas as can be shown, each with as many as are enough."""
    shown = alone[: max(1, _REASSIGNMENT_CHARS // (len(name) + _PARTITION_CHARS))]
    partitions = [
        {"topic": name, "partition": number, "replicas": _replicas(number, topic, configuration.broker_ids)}
        for number in shown
    ]
    text = json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))
    more = len(alone) - len(shown)
    return f"{text}, and {more} more partitions likewise" if more else text


def _replicas(number: int, topic: Topic, ids: Sequence[int]) -> list[int]:
    """The broker that has it, and those that follow it in a round."""
    start = (number + 1) % len(ids)
    return list(dict.fromkeys((*topic.replicas[number], *ids[start:], *ids[:start])))[:ENOUGH_REPLICAS]


def _of_cleanup(
    name: str, oldest_at_ms: int, settings: Mapping[str, str], configuration: ClusterConfiguration
) -> Iterator[Problem]:
    policies = {policy.strip() for policy in settings.get(POLICY, "delete").split(",")}
    if "compact" in policies:
        yield (
            FindingKind.DLQ_COMPACTED,
            "it is compacted: of dead letters with the same key only the last one stays, and one without key "
            "cannot be written at all",
            configuration.configure("topics", name, f"{POLICY}=delete"),
        )
    if "delete" not in policies:
        return
    if int(settings.get(RETENTION_BYTES, -1)) >= 0:
        yield (
            FindingKind.DLQ_RETENTION_BYTES,
            f"a partition that exceeds {settings[RETENTION_BYTES]} bytes (retention.bytes) loses its oldest "
            "dead letters, however young they are",
            configuration.configure("topics", name, f"{RETENTION_BYTES}=-1"),
        )
    yield from _of_retention(name, oldest_at_ms, int(settings[RETENTION_MS]), configuration)


def _of_retention(
    name: str, oldest_at_ms: int, retention_ms: int, configuration: ClusterConfiguration
) -> Iterator[Problem]:
    if retention_ms < 0:
        return
    warning_ms = configuration.settings.dlq_expiry_warning_ms
    longer_ms = max(_MONTH_MS, 2 * (retention_ms + warning_ms))
    change = configuration.configure("topics", name, f"{RETENTION_MS}={longer_ms}")
    goes_ms = oldest_at_ms + retention_ms
    if oldest_at_ms and goes_ms - configuration.now_ms < warning_ms:
        yield (
            FindingKind.DLQ_EXPIRING,
            f"its oldest dead letter is of {_time(oldest_at_ms)}: retention.ms={retention_ms} lets "
            f"Kafka delete it from {_time(goes_ms)} on, handled or not",
            f"handle it before, or {change}",
        )
    elif retention_ms < warning_ms:
        yield (
            FindingKind.DLQ_RETENTION_SHORT,
            f"retention.ms={retention_ms} lets Kafka delete a dead letter within the time that "
            f"dlq_expiry_warning_ms={warning_ms} leaves for handling it",
            change,
        )


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(min(time_ms, _LAST_MS) // 1_000, UTC).isoformat().replace("+00:00", "Z")
