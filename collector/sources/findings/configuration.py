"""The configurations that findings are judged by, as they were at one moment.

Empty text and empty lists are known to be empty; None is "could not be asked now".
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from collector.settings import CollectorSettings
from deadwatch.contract.events import Finding
from deadwatch.contract.events.findings import FindingKind
from deadwatch.contract.topics import is_dead_letter_topic

DLQ: Final = "errors.deadletterqueue.topic.name"
"""The setting of a share group (KIP-1191), and also of a connector (KIP-298)."""

MAX_SHOWN: Final = 5

Problem = tuple[FindingKind, str, str]
"""What is wrong with a subject: the kind of finding, its message, and the change that it needs."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A dead letter topic that exists; ``settings`` are the broker's, None where we may not read them.

    ``replicas`` are the brokers of each partition. ``oldest_at_ms`` is the time of its first record, 0 when
    it has none, None when it was not measured.
    """

    replicas: tuple[tuple[int, ...], ...] = ((1,),)
    oldest_at_ms: int | None = 0
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """What a broker does with the dead letters of share groups."""

    prefix: str
    creates_topics: bool


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector; ``kind`` is REST's ``type``: sink or source. ``idle``: it is RUNNING and has no task."""

    kind: str
    config: Mapping[str, str]
    idle: bool = False

    def setting(self, name: str, default: str = "") -> str:
        """A setting's value as Connect reads it."""
        return self.config.get(name, default).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfiguration:
    """The configurations of a Kafka cluster and its Connect clusters.

    ``queues`` has the dead letter queue of every share group ("" for none, None where we may not read it),
    ``connectors`` those of every Connect cluster, by the name of its source. ``topics`` are the dead letter
    topics that exist; ``named`` are the topics of configurations, ``missing`` those of them that Kafka says
    do not exist. ``brokers`` are those that answer, of ``broker_ids``. ``suspects`` are the groups
    without queue while records were rejected without a dead letter.
    """

    now_ms: int
    settings: CollectorSettings
    share_version: int | None = 2
    brokers: Mapping[int, Broker | None] = field(default_factory=dict)
    broker_ids: tuple[int, ...] = (1,)
    queues: Mapping[str, str | None] | None = field(default_factory=dict)
    connectors: Mapping[str, Mapping[str, Connector] | None] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    suspects: frozenset[str] = frozenset()

    @property
    def cluster_size(self) -> int:
        """How many brokers there are, those included that are down."""
        return len(self.broker_ids)

    def is_read(self, topic: str) -> bool:
        """Whether its dead letters are read by streaming."""
        return is_dead_letter_topic(topic, self.settings.dlq_topics, self.settings.dlq_topics_deny)

    def tool(self, name: str) -> str:
        """How the command of one of Kafka's tools begins."""
        return f"kafka-{name}.sh --bootstrap-server {self.settings.kafka.bootstrap_servers}"

    def configure(self, kind: str, name: str, setting: str) -> str:
        """The command that gives a ``kind`` of entity a setting."""
        return (
            f"{self.tool('configs')} --alter --entity-type {kind} "
            f"--entity-name {shlex.quote(name)} --add-config {shlex.quote(setting)}"
        )


def report(subject: str, problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """What is wrong with one subject, as findings."""
    return tuple(
        Finding(kind=kind.value, subject=subject, message=message, change=change)
        for kind, message, change in problems
    )


def listed(names: list[str]) -> str:
    """A list of names as people read it, cut."""
    more = len(names) - MAX_SHOWN
    return ", ".join(names[:MAX_SHOWN] + ([f"{more} more"] if more > 0 else []))
