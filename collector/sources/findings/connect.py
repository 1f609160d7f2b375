"""What will go wrong with the dead letters of connectors (KIP-298): one finding for each setting to change.

A value that a config provider fills in (``${…}``) is not known here: only what is written out is judged.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from collector.sources.findings.configuration import DLQ, ClusterConfiguration, Connector, Problem, report
from deadwatch.contract.events import Finding
from deadwatch.contract.events.findings import FindingKind
from deadwatch.contract.topics import is_internal

TOLERANCE: Final = "errors.tolerance"
HEADERS: Final = "errors.deadletterqueue.context.headers.enable"
REPLICATION: Final = "errors.deadletterqueue.topic.replication.factor"
DEFAULT_REPLICATION: Final = "3"
ENOUGH_REPLICAS: Final = 3
SOURCE: Final = "source"
_SINK: Final = "sink"


def of_connectors(
    cluster: str, connectors: Mapping[str, Connector] | None, configuration: ClusterConfiguration
) -> tuple[Finding, ...] | None:
    """Of one Connect cluster; None when it could not be asked now."""
    if connectors is None:
        return None
    suffix = f"@{cluster}" if len(configuration.connectors) > 1 else ""
    return tuple(
        found
        for name, connector in connectors.items()
        for found in report(f"connector:{name}{suffix}", _problems(name, connector, configuration))
    )


def _problems(name: str, connector: Connector, configuration: ClusterConfiguration) -> Iterator[Problem]:
    queue, tolerates_all = connector.setting(DLQ), connector.setting(TOLERANCE).lower() == "all"
    if connector.idle:
        yield (
            FindingKind.CONNECT_NO_TASKS,
            f"{name} is RUNNING and has no task: it moves nothing",
            "what it selects (topics, tables, files), so that there is something to do; else pause it",
        )
    if connector.kind == _SINK and queue:
        yield from _of_its_errors(name, connector)
        yield from _of_its_topic(queue, connector, configuration)
    elif connector.kind == _SINK and tolerates_all:
        yield (
            FindingKind.CONNECT_SILENT_LOSS,
            f"errors.tolerance=all skips the records that {name} cannot convert, and it has no dead letter "
            "queue: they are lost",
            f"{DLQ}=dlq.{name} and {HEADERS}=true",
        )
    elif connector.kind == SOURCE and tolerates_all and queue:
        yield (
            FindingKind.CONNECT_SOURCE_DLQ_IGNORED,
            f"{name} is a source: Connect ignores its dead letter queue {queue}, and errors.tolerance=all "
            "skips the records that fail; they are lost",
            f"{TOLERANCE}=none and no {DLQ}, or errors.log.enable=true to have them at least in the log",
        )
    elif connector.kind == SOURCE and tolerates_all:
        yield (
            FindingKind.CONNECT_SILENT_LOSS,
            f"errors.tolerance=all skips the records of source {name} that fail; no source has a dead "
            "letter queue, so they are lost",
            f"{TOLERANCE}=none",
        )


def _of_its_errors(name: str, connector: Connector) -> Iterator[Problem]:
    if connector.setting(TOLERANCE, "none").lower() == "none":
        yield (
            FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
            f"the first record that {name} cannot convert fails its task, dead letter queue or not: "
            "everything behind it waits",
            f"{TOLERANCE}=all",
        )
    if connector.setting(HEADERS, "false").lower() == "false":
        yield (
            FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
            f"the dead letters of {name} do not say where they come from: none can be put back to its origin",
            f"{HEADERS}=true",
        )


def _of_its_topic(queue: str, connector: Connector, configuration: ClusterConfiguration) -> Iterator[Problem]:
    if is_internal(queue):
        yield (
            FindingKind.DLQ_NOT_READ,
            f"its dead letter queue {queue} begins with __ as Kafka's own topics do: nobody reads it",
            f"{DLQ}={queue.lstrip('_')}",
        )
    configured = connector.setting(REPLICATION, DEFAULT_REPLICATION)
    if queue not in configuration.missing or not re.fullmatch("[0-9]{1,5}", configured):
        return
    change = f"{REPLICATION}={min(ENOUGH_REPLICAS, configuration.cluster_size)}"
    if int(configured) > configuration.cluster_size:
        yield (
            FindingKind.CONNECT_DLQ_NOT_CREATABLE,
            f"its dead letter queue {queue} does not exist and cannot be created with {configured} replicas "
            f"on {configuration.cluster_size} broker(s): its tasks fail when they start",
            change,
        )
    elif int(configured) == 1 < configuration.cluster_size:
        yield (
            FindingKind.DLQ_REPLICATION,
            f"its dead letter queue {queue} will be created with one replica: its dead letters are lost with "
            "that broker",
            change,
        )
