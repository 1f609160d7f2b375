"""Configurations of a cluster where nothing is wrong, but for what a test changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from collector.settings import CollectorSettings
from collector.sources.findings.configuration import Broker, ClusterConfiguration, Connector, Topic

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000
GOOD = {
    "retention.ms": str(7 * DAY_MS),
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "errors.deadletterqueue.group.enable": "true",
}
BROKERS = {1: Broker("dlq.", creates_topics=False)}
SINK = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dlq.a",
    "errors.deadletterqueue.context.headers.enable": "true",
    "errors.deadletterqueue.topic.replication.factor": "3",
}
CLEAN = ClusterConfiguration(
    now_ms=NOW_MS,
    settings=CollectorSettings(dlq_expiry_warning_ms=DAY_MS),
    brokers=BROKERS,
    topics={"dlq.a": Topic(settings=GOOD)},
)


def group(queue: str | None, **changes: Any) -> ClusterConfiguration:  # noqa: ANN401 -- any field of a configuration
    return replace(CLEAN, queues={"g1": queue}, **changes)


def connector(
    kind: str, config: Mapping[str, str], *, missing: bool = False, brokers: int = 1
) -> ClusterConfiguration:
    return replace(
        CLEAN,
        connectors={"connect:c": {"x": Connector(kind, config)}},
        broker_ids=tuple(range(brokers)),
        topics={} if missing else {"dlq.a": Topic(((0, 1),), settings=GOOD)},
        missing=frozenset({"dlq.a"}) if missing else frozenset(),
    )


def sink(changed: Mapping[str, str], *, missing: bool = False, brokers: int = 1) -> ClusterConfiguration:
    return connector("sink", {**SINK, **changed}, missing=missing, brokers=brokers)


def topic(
    changed: Mapping[str, str], *, age_ms: int = 0, replicas: int = 3, brokers: int = 1
) -> ClusterConfiguration:
    oldest_at_ms = NOW_MS - age_ms if age_ms else 0
    held = Topic((tuple(range(replicas)),), oldest_at_ms, {**GOOD, **changed})
    return replace(CLEAN, topics={"dlq.a": held}, broker_ids=tuple(range(brokers)))
