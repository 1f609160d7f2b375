"""What brokers say of share groups whose dead letters they cannot write (KIP-1191).

This module is a table: its length is the number of strings.
"""

from functools import partial
from typing import Final

from tests.unit.collector.sources.logs.kafka_strings.string import AT, String

_string = partial(String, "share groups")

HANDLER: Final = (
    "ProduceRequestHandler(param: ShareGroupDLQRecordParameter[groupId=g1, topicIdPartition=x:orders-0,"
    " firstOffset=3, lastOffset=3, deliveryCount=Optional[1], cause=Optional[java.lang.Exception: Offset"
    " rejected by client.]]\ndlqTopicData: TopicPartitionData[topicName=dlq.g1]\n)"
)
LOST: Final = f"{AT} ERROR Failed to write to DLQ, proceeding to ARCHIVED regardless. (k.SharePartition:3400)"
OF_LOST: Final = "the line that it was archived all the same follows; this one lends it the group"
TOLD_BY_BEANS: Final = "it is a metric of the broker, read through Jolokia"


def _lost(name: str, exception: str, group: str = "g1") -> String:
    return _string(
        name, f"{LOST}\n{exception}", ({"kind": "share_dead_letter_lost", "consumergroup": group},)
    )


def _unwritten(name: str, text: str) -> tuple[String, String]:
    """A line that tells of records that could not be written: alone, and before the line of their loss."""
    alone = _string(name, f"{AT} ERROR {text}", because=OF_LOST)
    loss = f"{alone.text}\n{LOST}\njava.lang.Exception: no group in here."
    lost = ({"kind": "share_dead_letter_lost", "consumergroup": "g1"},)
    return alone, _string(f"{name}, then the loss", loss, lost)


SHARE_GROUPS: Final = (
    _lost("nothing is known of the group", "java.lang.RuntimeException: no reason", ""),
    _lost("the name is empty", "o.ConfigException: Configured DLQ topic name in share group: g1 is empty."),
    _lost(
        "the name begins with underscores",
        "o.ConfigException: Configured DLQ topic name in share group: g1 cannot start with __, topic: __d.",
    ),
    _lost(
        "the topic is not enabled",
        "o.ConfigException: DLQ is not enabled on configured DLQ topic for share group: g1, topic: dlq.g1.",
    ),
    _lost(
        "the topic does not exist",
        "o.ConfigException: DLQ topic does not exist and auto create is disabled on cluster for share group:"
        " g1, topic: dlq.g1.",
    ),
    _lost(
        "the name is against the prefix",
        "o.ConfigException: Configured DLQ topic name does not comply with the DLQ topic prefix in share"
        " group: g1, topic: d, prefix: dlq..",
    ),
    _lost("no topic is configured", "o.ConfigException: DLQ topic is not configured for share group g1."),
    *_unwritten(
        "retries to produce used up", f"Exhausted max retries to produce {HANDLER} to  DLQ topic node n1."
    ),
    *_unwritten(
        "a produce that is refused",
        f"Unable to produce {HANDLER} to DLQ topic node n1 - NOT_ENOUGH_REPLICAS.",
    ),
    *_unwritten(
        "retries to create used up",
        f"Exhausted max retries to create DLQ topic for {HANDLER} using DLQ topic dlq.g1 without success.",
    ),
    *_unwritten(
        "a topic that is refused",
        f"Unable to create DLQ topic for {HANDLER} using DLQ topic dlq.g1: POLICY_VIOLATION.",
    ),
    _string(
        "the original could not be read",
        f"{AT} WARN Unable to fetch original record data for handler {HANDLER} for the round starting at"
        " offset 3. DLQ records will be produced with headers only for this round.",
        because="the dead letter is written; that it has no payload is seen on the record itself",
    ),
    _string(
        "a cause of a dead letter",
        "Offset delivery count exceeded the threshold.",
        because="it is a header of the dead letter, read there",
    ),
    _string(
        "a meter",
        "kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueRecordCount,group=g1",
        because=TOLD_BY_BEANS,
    ),
)
