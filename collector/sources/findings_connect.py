"""What will go wrong with the dead letters of connectors (KIP-298): one finding for each setting to change.

A value that a config provider fills in (``${…}``) is not known here: only what is written out is judged.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from collector.contract.events import Finding
from collector.contract.findings import FindingKind
from collector.contract.topics import is_internal
from collector.sources.findings_picture import DLQ, Connector, Picture, finding

TOLERANCE: Final = "errors.tolerance"
HEADERS: Final = "errors.deadletterqueue.context.headers.enable"
REPLICATION: Final = "errors.deadletterqueue.topic.replication.factor"
DEFAULT_REPLICATION: Final = "3"
ENOUGH_REPLICAS: Final = 3
SOURCE: Final = "source"
_SINK: Final = "sink"


def of_connectors(
    cluster: str, connectors: Mapping[str, Connector] | None, picture: Picture
) -> tuple[Finding, ...] | None:
    """Of one Connect cluster; None when it could not be asked now."""
    if connectors is None:
        return None
    suffix = f"@{cluster}" if len(picture.connectors) > 1 else ""
    rules = {_SINK: _of_sink, SOURCE: _of_source}
    return tuple(
        found
        for name, connector in connectors.items()
        if connector.kind in rules
        for found in rules[connector.kind](f"connector:{name}{suffix}", name, connector, picture)
    )


def _of_source(subject: str, name: str, connector: Connector, _picture: Picture) -> Iterator[Finding]:
    if not _tolerates_all(connector):
        return
    if queue := connector.says(DLQ):
        yield finding(
            FindingKind.CONNECT_SOURCE_DLQ_IGNORED,
            subject,
            f"{name} is a source: Connect ignores its dead letter queue {queue}, and errors.tolerance=all "
            "skips the records that fail; they are lost",
            f"{TOLERANCE}=none and no {DLQ}, or errors.log.enable=true to have them at least in the log",
        )
    else:
        yield finding(
            FindingKind.CONNECT_SILENT_LOSS,
            subject,
            f"errors.tolerance=all skips the records of source {name} that fail; no source has a dead "
            "letter queue, so they are lost",
            f"{TOLERANCE}=none",
        )


def _of_sink(subject: str, name: str, connector: Connector, picture: Picture) -> Iterator[Finding]:
    if queue := connector.says(DLQ):
        yield from _of_its_errors(subject, name, connector)
        yield from _of_its_topic(subject, queue, connector, picture)
    elif _tolerates_all(connector):
        yield finding(
            FindingKind.CONNECT_SILENT_LOSS,
            subject,
            f"errors.tolerance=all skips the records that {name} cannot convert, and it has no dead letter "
            "queue: they are lost",
            f"{DLQ}=dlq.{name} and {HEADERS}=true",
        )


def _of_its_errors(subject: str, name: str, connector: Connector) -> Iterator[Finding]:
    if connector.says(TOLERANCE, "none").lower() == "none":
        yield finding(
            FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
            subject,
            f"the first record that {name} cannot convert fails its task, dead letter queue or not: "
            "everything behind it waits",
            f"{TOLERANCE}=all",
        )
    if connector.says(HEADERS, "false").lower() == "false":
        yield finding(
            FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
            subject,
            f"the dead letters of {name} do not say where they come from: none can be put back to its origin",
            f"{HEADERS}=true",
        )


def _of_its_topic(subject: str, queue: str, connector: Connector, picture: Picture) -> Iterator[Finding]:
    if is_internal(queue):
        yield finding(
            FindingKind.DLQ_NOT_READ,
            subject,
            f"its dead letter queue {queue} begins with __ as Kafka's own topics do: nobody reads it",
            f"{DLQ}={queue.lstrip('_')}",
        )
    configured = connector.says(REPLICATION, DEFAULT_REPLICATION)
    if queue not in picture.missing or not re.fullmatch("[0-9]{1,5}", configured):
        return
    if int(configured) > picture.cluster_size:
        yield finding(
            FindingKind.CONNECT_DLQ_NOT_CREATABLE,
            subject,
            f"its dead letter queue {queue} does not exist and cannot be created with {configured} replicas "
            f"on {picture.cluster_size} broker(s): its tasks fail when they start",
            f"{REPLICATION}={min(ENOUGH_REPLICAS, picture.cluster_size)}",
        )
    elif int(configured) == 1 < picture.cluster_size:
        yield finding(
            FindingKind.DLQ_REPLICATION,
            subject,
            f"its dead letter queue {queue} will be created with one replica: its dead letters are lost with "
            "that broker",
            f"{REPLICATION}={min(ENOUGH_REPLICAS, picture.cluster_size)}",
        )


def _tolerates_all(connector: Connector) -> bool:
    return connector.says(TOLERANCE).lower() == "all"
