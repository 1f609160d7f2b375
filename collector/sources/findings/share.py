"""What will go wrong with the dead letters of share groups (KIP-1191).

A broker that cannot write a dead letter archives the record all the same: each of these loses records. Of
one group only the finding that has to be fixed first is reported.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from collector.sources.findings.configuration import DLQ, ClusterConfiguration, Problem, Topic, listed, report
from deadwatch.contract.events import Finding
from deadwatch.contract.events.findings import FindingKind
from deadwatch.contract.topics import is_internal

GROUP_ENABLE: Final = "errors.deadletterqueue.group.enable"
_DLQ_VERSION: Final = 2
_LOST: Final = "every record that it rejects or gives up is archived without a dead letter"


def of_cluster(configuration: ClusterConfiguration) -> tuple[Finding, ...] | None:
    """Of the whole cluster; None when that cannot be judged now."""
    if configuration.share_version is None or configuration.queues is None:
        return None
    users = sorted(group for group, queue in configuration.queues.items() if queue)
    if configuration.share_version >= _DLQ_VERSION or not users:
        return ()
    problem = (
        FindingKind.SHARE_VERSION,
        f"share.version is {configuration.share_version}: brokers write no dead letters for share "
        f"groups, although {listed(users)} should have them; what is rejected is lost",
        f"{configuration.tool('features')} upgrade --feature share.version={_DLQ_VERSION}",
    )
    return report(f"cluster:{configuration.settings.kafka_cluster}", [problem])


def of_group(
    group: str, queue: str | None, configuration: ClusterConfiguration
) -> tuple[Finding, ...] | None:
    """Of one group; None when that cannot be judged now."""
    if queue == "":
        return ()
    topic = None if queue is None else configuration.topics.get(queue)
    if queue is None or not configuration.brokers or None in configuration.brokers.values():
        return None
    if topic is None and queue not in configuration.missing and not is_internal(queue):
        return None
    if topic is not None and topic.settings is None:
        return None
    return report(f"sharegroup:{group}", islice(_problems(group, queue, topic, configuration), 1))


def _problems(
    group: str, queue: str, topic: Topic | None, cluster: ClusterConfiguration
) -> Iterator[Problem]:
    brokers = [broker for broker in cluster.brokers.values() if broker is not None]
    prefix = next((broker.prefix for broker in brokers if not queue.startswith(broker.prefix)), "")
    if is_internal(queue):
        yield (
            FindingKind.SHARE_DLQ_INTERNAL,
            f"the name of its dead letter queue {queue} begins with __, which brokers refuse: {_LOST}",
            cluster.configure("groups", group, f"{DLQ}={prefix}{queue.lstrip('_')}"),
        )
    if prefix:
        yield (
            FindingKind.SHARE_DLQ_PREFIX,
            f"the name of its dead letter queue {queue} does not begin with {prefix}, as "
            f"errors.deadletterqueue.topic.name.prefix demands: {_LOST}",
            cluster.configure("groups", group, f"{DLQ}={prefix}{queue}"),
        )
    if topic is None and not all(broker.creates_topics for broker in brokers):
        yield (
            FindingKind.SHARE_DLQ_MISSING,
            f"its dead letter queue {queue} does not exist, and brokers do not create it "
            f"(errors.deadletterqueue.auto.create.topics.enable): {_LOST}",
            f"{cluster.tool('topics')} --create --topic {shlex.quote(queue)} --config {GROUP_ENABLE}=true",
        )
    if topic is not None and (topic.settings or {}).get(GROUP_ENABLE) != "true":
        yield (
            FindingKind.SHARE_DLQ_NOT_ENABLED,
            f"its dead letter queue {queue} is not enabled for share groups ({GROUP_ENABLE}): {_LOST}",
            cluster.configure("topics", queue, f"{GROUP_ENABLE}=true"),
        )


def suspects(before: Iterable[str], queues: Mapping[str, str | None] | None, *, grew: bool) -> frozenset[str]:
    """Who may be rejecting without a queue: whoever had none when rejections grew, and has none yet."""
    if queues is None:
        return frozenset(before)
    without = {group for group, queue in queues.items() if not queue}
    new = {group for group in without if grew and queues[group] == ""}
    return frozenset(without & new.union(before))


def of_rejections(configuration: ClusterConfiguration) -> tuple[Finding, ...] | None:
    """Of the groups without queue when somebody rejects; None when that cannot be judged now."""
    if configuration.queues is None:
        return None
    found = sorted(configuration.suspects)
    if not found:
        return ()
    alone = len(found) == 1
    group = found[0] if alone else "GROUP"
    problem = (
        FindingKind.SHARE_REJECTS_WITHOUT_DLQ,
        "share groups have rejected records for which no dead letter was written (Kafka counts them by "
        "broker, not by group); without a dead letter queue what is rejected is lost; without one: "
        f"{listed(found)}",
        configuration.configure("groups", group, f"{DLQ}=dlq.{group}"),
    )
    subject = f"sharegroup:{group}" if alone else f"cluster:{configuration.settings.kafka_cluster}"
    return report(subject, [problem])
