"""What will go wrong with the dead letters of share groups (KIP-1191).

A broker that cannot write a dead letter archives the record all the same: each of these loses records. Of
one group only the finding is told that has to be mended first.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from collector.contract.events import Finding
from collector.contract.findings import FindingKind
from collector.contract.topics import is_internal
from collector.sources.findings_picture import DLQ, Broker, Picture, finding, shown

GROUP_ENABLE: Final = "errors.deadletterqueue.group.enable"
_DLQ_VERSION: Final = 2
_LOST: Final = "every record that it rejects or gives up is archived without a dead letter"


def of_cluster(picture: Picture) -> tuple[Finding, ...] | None:
    """Of the whole cluster; None when that cannot be judged now."""
    if picture.share_version is None or picture.queues is None:
        return None
    users = sorted(group for group, queue in picture.queues.items() if queue)
    if picture.share_version >= _DLQ_VERSION or not users:
        return ()
    return (
        finding(
            FindingKind.SHARE_VERSION,
            f"cluster:{picture.kafka_cluster}",
            f"share.version is {picture.share_version}: brokers write no dead letters for share groups, "
            f"although {shown(users)} should have them; what is rejected is lost",
            f"kafka-features.sh --bootstrap-server {picture.bootstrap_servers} upgrade "
            f"--feature share.version={_DLQ_VERSION}",
        ),
    )


def of_group(group: str, queue: str | None, picture: Picture) -> tuple[Finding, ...] | None:
    """Of one group; None when that cannot be judged now."""
    if queue == "":
        return ()
    topic = None if queue is None else picture.topics.get(queue)
    brokers = [broker for broker in picture.brokers.values() if broker is not None]
    if queue is None or not brokers or len(brokers) < len(picture.brokers):
        return None
    if topic is None and queue not in picture.missing and not is_internal(queue):
        return None
    if topic is not None and topic.settings is None:
        return None
    rules = chain(_of_its_name(group, queue, picture, brokers), _of_its_topic(group, queue, picture, brokers))
    first = next(rules, None)
    return () if first is None else (first,)


def _of_its_name(group: str, queue: str, picture: Picture, brokers: Sequence[Broker]) -> Iterator[Finding]:
    subject = f"sharegroup:{group}"
    prefix = next((one.prefix for one in brokers if not queue.startswith(one.prefix)), "")
    if is_internal(queue):
        yield finding(
            FindingKind.SHARE_DLQ_INTERNAL,
            subject,
            f"the name of its dead letter queue {queue} begins with __, which brokers refuse: {_LOST}",
            picture.configure("groups", group, f"{DLQ}={prefix}{queue.lstrip('_')}"),
        )
    if prefix:
        yield finding(
            FindingKind.SHARE_DLQ_PREFIX,
            subject,
            f"the name of its dead letter queue {queue} does not begin with {prefix}, as "
            f"errors.deadletterqueue.topic.name.prefix demands: {_LOST}",
            picture.configure("groups", group, f"{DLQ}={prefix}{queue}"),
        )


def _of_its_topic(group: str, queue: str, picture: Picture, brokers: Sequence[Broker]) -> Iterator[Finding]:
    subject, topic = f"sharegroup:{group}", picture.topics.get(queue)
    if topic is None and not all(one.creates_topics for one in brokers):
        yield finding(
            FindingKind.SHARE_DLQ_MISSING,
            subject,
            f"its dead letter queue {queue} does not exist, and brokers do not create it "
            f"(errors.deadletterqueue.auto.create.topics.enable): {_LOST}",
            f"kafka-topics.sh --bootstrap-server {picture.bootstrap_servers} --create "
            f"--topic {shlex.quote(queue)} --config {GROUP_ENABLE}=true",
        )
    if topic is not None and (topic.settings or {}).get(GROUP_ENABLE) != "true":
        yield finding(
            FindingKind.SHARE_DLQ_NOT_ENABLED,
            subject,
            f"its dead letter queue {queue} is not enabled for share groups ({GROUP_ENABLE}): {_LOST}",
            picture.configure("topics", queue, f"{GROUP_ENABLE}=true"),
        )


def suspects(before: Iterable[str], queues: Mapping[str, str | None] | None, *, grew: bool) -> frozenset[str]:
    """Who may be rejecting without a queue: whoever had none when rejections grew, and has none yet."""
    if queues is None:
        return frozenset(before)
    without = {group for group, queue in queues.items() if not queue}
    new = {group for group in without if grew and queues[group] == ""}
    return frozenset(without & new.union(before))


def of_rejections(picture: Picture) -> tuple[Finding, ...] | None:
    """Of the groups without queue when somebody rejects; None when that cannot be judged now."""
    if picture.queues is None:
        return None
    found = sorted(picture.suspects)
    if not found:
        return ()
    alone = len(found) == 1
    group = found[0] if alone else "GROUP"
    return (
        finding(
            FindingKind.SHARE_REJECTS_WITHOUT_DLQ,
            f"sharegroup:{group}" if alone else f"cluster:{picture.kafka_cluster}",
            "share groups have rejected records for which no dead letter was written (Kafka counts them by "
            "broker, not by group); without a dead letter queue what is rejected is lost; without one: "
            f"{shown(found)}",
            picture.configure("groups", group, f"{DLQ}=dlq.{group}"),
        ),
    )
