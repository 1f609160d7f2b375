"""The findings of a collector, which report what will go wrong before it does.

Asks for the configuration, judges it area by area, and publishes what changes. An area is judged as a whole:
a share group, a Connect cluster, a topic … An area that exists and cannot be judged now keeps its earlier
findings; an area that is gone has none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from collector.settings import CollectorSettings
from collector.sources.brokers import kafka_admin
from collector.sources.brokers.kafka_admin import Extent, Names
from collector.sources.brokers.share_groups import Rejections
from collector.sources.findings import connect as findings_connect
from collector.sources.findings import share as findings_share
from collector.sources.findings import topics as findings_topics
from collector.sources.findings.configuration import Broker, ClusterConfiguration, Topic
from collector.sources.findings.share import suspects
from collector.sources.source import Publishing, Snapshots, State
from deadwatch.contract.events import MAX_TEXT_CHARS, Finding, FindingsSnapshot
from deadwatch.contract.events.findings import MAX_FINDINGS
from deadwatch.runtime.kafka_topics import Layout

SHARE_GROUP: Final = "sharegroup:"

FindingsByArea = Mapping[str, tuple[Finding, ...]]
"""The findings of each area, such as ``sharegroup:NAME``."""


class FindingsWatch:
    """Judges what the source of dead letter topics has asked for, and asks for the rest."""

    def __init__(self, settings: CollectorSettings, before: State, publishing: Publishing) -> None:
        state = before.get("findings", {})
        self._settings = settings
        self._clock = publishing.clock
        self._snapshots = Snapshots(f"findings:{settings.name}", replace(publishing, saved=lambda _: state))
        self._rejections = Rejections(settings.brokers)
        self._suspects = frozenset[str](state.get("suspects", ()))
        self._findings: FindingsByArea = restored(state.get("told", {}))

    def judge(
        self,
        admin: KafkaAdminClient,
        names: Names,
        queues: frozenset[str],
        layouts: Mapping[str, Layout],
        extents: Mapping[str, Extent],
    ) -> Iterator[str]:
        """Judge anew; yields what may not be read, whose earlier findings stay. Raises ``KafkaError``."""
        settings = kafka_admin.of_topics(admin, sorted(queues & layouts.keys()))
        absent = queues - layouts.keys()
        hidden = kafka_admin.hidden_topics(admin, sorted(absent))
        configuration = replace(
            self._asked(admin, names),
            topics={
                name: Topic(
                    layouts[name].replicas, extents[name].oldest_at_ms if name in extents else None, values
                )
                for name, values in settings.items()
            },
            named=queues & names.topics() - frozenset(self._settings.dlq_topics_deny),
            missing=absent - hidden,
        )
        self._suspects, self._findings = configuration.suspects, findings(configuration, self._findings)
        counted = filter(configuration.is_read, queues & layouts.keys())
        if closed := sorted(name for name in counted if not layouts[name].readable):
            yield f"dead letters of {closed[0]} may not be read: allow us Read on it, or deny it"
        if None in configuration.brokers.values():
            yield "a broker does not show its settings: check it, and allow us DescribeConfigs on the cluster"
        if unread := sorted({*hidden, *(name for name, values in settings.items() if values is None)}):
            yield f"settings of {unread[0]} may not be read: allow us Describe and DescribeConfigs on it"

    def _asked(self, admin: KafkaAdminClient, names: Names) -> ClusterConfiguration:
        """The configuration without its topics."""
        ids, brokers = _brokers(admin)
        return ClusterConfiguration(
            now_ms=self._clock(),
            settings=self._settings,
            share_version=kafka_admin.share_version(admin),
            brokers=brokers,
            broker_ids=ids,
            queues=names.queues,
            connectors=names.connectors,
            suspects=suspects(self._suspects, names.queues, grew=self._rejections.grew()),
        )

    def due(self) -> tuple[list[str], tuple[FindingsSnapshot, ...]]:
        """What is left out, and the snapshot if it is due."""
        kept, left_out = bounded(self._findings)
        troubles = [f"there are {left_out} findings more than one event holds"] if left_out else []
        return troubles, self._snapshots.due(FindingsSnapshot, findings=kept)

    def state(self) -> dict[str, object]:
        """The state to save with the snapshot: what was found, and the suspected groups."""
        areas, suspected = saved(self._findings), sorted(self._suspects)
        return {"findings": {**self._snapshots.state(), "told": areas, "suspects": suspected}}

    def close(self) -> None:
        """Close all connections that are open."""
        self._rejections.close()


def _brokers(admin: KafkaAdminClient) -> tuple[tuple[int, ...], dict[int, Broker | None]]:
    """The ids of all brokers, and the settings of those that are up, None for one that cannot be asked."""
    brokers = admin.describe_cluster()["brokers"]
    up = [broker["broker_id"] for broker in brokers if not broker.get("is_fenced")]
    try:
        settings = kafka_admin.of_brokers(admin, up)
    except KafkaError:
        settings = dict.fromkeys(up)
    return tuple(sorted(broker["broker_id"] for broker in brokers)), settings


def findings(configuration: ClusterConfiguration, before: FindingsByArea) -> FindingsByArea:
    """All findings now; ``before`` are the earlier ones."""
    judged = dict(_judged(configuration))
    if configuration.queues is None:
        groups = [area for area in before if area.startswith(SHARE_GROUP)]
        judged |= dict.fromkeys(groups)
    return {
        area: before.get(area, ()) if found is None else tuple(map(_clipped, found))
        for area, found in judged.items()
    }


def _judged(configuration: ClusterConfiguration) -> Iterator[tuple[str, tuple[Finding, ...] | None]]:
    yield "cluster", findings_share.of_cluster(configuration)
    yield "rejections", findings_share.of_rejections(configuration)
    for group, queue in (configuration.queues or {}).items():
        yield f"{SHARE_GROUP}{group}", findings_share.of_group(group, queue, configuration)
    for cluster, connectors in configuration.connectors.items():
        yield cluster, findings_connect.of_connectors(cluster, connectors, configuration)
    for name in configuration.named:
        yield f"reading:{name}", findings_topics.of_reading(name, configuration)
    for name, topic in configuration.topics.items():
        yield f"topic:{name}", findings_topics.of_topic(name, topic, configuration)


def bounded(by_area: FindingsByArea) -> tuple[tuple[Finding, ...], int]:
    """The findings of one event, ordered, each (kind, subject) once; and how many were left out."""
    by_key = {(finding.kind, finding.subject): finding for found in by_area.values() for finding in found}
    every = [by_key[key] for key in sorted(by_key)]
    kept = Snapshots.fitting(every, MAX_FINDINGS)
    return kept, len(every) - len(kept)


def _clipped(finding: Finding) -> Finding:
    return Finding(**{name: text[:MAX_TEXT_CHARS] for name, text in asdict(finding).items()})


def saved(by_area: FindingsByArea) -> dict[str, list[dict[str, str]]]:
    """The findings as JSON, of the first areas: at most as many as one event holds."""
    kept: dict[str, list[dict[str, str]]] = {}
    room = MAX_FINDINGS
    for area, found in by_area.items():
        room -= len(found)
        if found and room >= 0:
            kept[area] = [asdict(finding) for finding in found]
    return kept


def restored(state: Mapping[str, Iterable[Mapping[str, str]]]) -> FindingsByArea:
    """The findings that ``saved`` has turned into JSON."""
    return {area: tuple(Finding(**finding) for finding in found) for area, found in state.items()}
