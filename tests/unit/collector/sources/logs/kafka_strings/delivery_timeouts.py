"""What clients say of records that expire (KIP-91), other timeouts, and their backoff (KIP-580).

This module is a table: its length is the number of strings.
"""

from functools import partial
from typing import Final

from tests.unit.collector.sources.logs.kafka_strings.string import AT, String

_delivery = partial(String, "delivery timeouts")
_backoff = partial(String, "backoff")

NEWER: Final = " The request has not been sent, or no server response has been received yet."
REFUSED: Final = "the client does not start: its application says so at once"


DELIVERY_TIMEOUTS: Final = (
    _delivery(
        "an expiry up to 4.2",
        f"{AT} ERROR it failed\no.TimeoutException: Expiring 3 record(s) for topic-0:120004 ms has passed"
        " since batch creation",
        ({"kind": "delivery_timeout", "client": "java", "topic": "topic", "partition": 0, "records": 3},),
    ),
    _delivery(
        "an expiry from 4.3 on",
        f"{AT} ERROR it failed\no.TimeoutException: Expiring 3 record(s) for topic-0:120004 ms has passed"
        f" since batch creation.{NEWER}",
        ({"kind": "delivery_timeout", "client": "java", "records": 3, "elapsed_ms": 120004},),
    ),
    _delivery(
        "an expiry of kafka-python",
        "kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Expiring 3 record(s) for"
        " TopicPartition(topic='t', partition=1): 3000 ms has passed since batch creation",
        ({"kind": "delivery_timeout", "client": "kafka-python", "topic": "t", "partition": 1, "records": 3},),
    ),
    _delivery(
        "what the accumulator says",
        f"{AT} TRACE [Producer clientId=p] Expired 2 batches in accumulator",
        because="each of the batches is told by its own exception, with topic and size",
    ),
    _delivery(
        "limits that contradict each other",
        "o.ConfigException: delivery.timeout.ms should be equal to or larger than linger.ms +"
        " request.timeout.ms",
        because=REFUSED,
    ),
    _delivery(
        "limits that contradict each other, of kafka-python",
        "KafkaConfigurationError: Must set delivery_timeout_ms higher than linger_ms + request_timeout_ms",
        because=REFUSED,
    ),
    _delivery(
        "a setting that kafka-python does not know",
        "ValueError: Unrecognized configs: {'retry_backoff_max_ms': 5}",
        because=REFUSED,
    ),
    _delivery(
        "a default that contradicts a setting",
        f"{AT} WARN [Producer clientId=p] delivery.timeout.ms should be equal to or larger than linger.ms +"
        " request.timeout.ms. Setting it to 150000.",
        because="the producer has mended it itself",
    ),
    _delivery(
        "no metadata",
        f"{AT} ERROR it failed\no.TimeoutException: Topic orders not present in metadata after 60000 ms.",
        ({"kind": "client_timeout", "timeout": "metadata", "client": "java"},),
    ),
    _delivery(
        "no metadata of a partition",
        f"{AT} ERROR it failed\no.TimeoutException: Partition 7 of topic orders with partition count 3 is"
        " not present in metadata after 60000 ms.",
        ({"kind": "client_timeout", "timeout": "metadata"},),
    ),
    _delivery(
        "a full buffer",
        f"{AT} ERROR it failed\no.BufferExhaustedException: Failed to allocate 16384 bytes within the"
        " configured max blocking time 2000 ms. Total memory: 33554432 bytes.",
        ({"kind": "client_timeout", "timeout": "buffer"},),
    ),
    _delivery(
        "a retry",
        f"{AT} WARN [Producer clientId=p] Got error produce response with correlation id 5 on"
        " topic-partition t-0, retrying (2147483646 attempts left). Error: NOT_LEADER_OR_FOLLOWER",
        because="nothing is late yet: what the retries come to is an expiry, or nothing",
    ),
    _delivery(
        "a retry of kafka-python",
        "2026-11-21 12:35:23,893 WARNING kafka.producer.sender <Sender>: Got error produce response"
        " on topic-partition"
        " TopicPartition(topic='t', partition=0), retrying (4 attempts left): NotLeaderForPartitionError",
        because="nothing is late yet: what the retries come to is an expiry, or nothing",
    ),
    _delivery(
        "a batch that is split",
        f"{AT} WARN [Producer clientId=p] Got error produce response in correlation id 5 on topic-partition"
        " t-0, splitting and retrying (2147483647 attempts left). Error: MESSAGE_TOO_LARGE",
        because="it is no timeout: the batch goes out in two",
    ),
    _delivery(
        "a request that is not answered",
        f"{AT} INFO [Producer clientId=p-1] Disconnecting from node 1 due to request timeout. (x:921)",
        ({"kind": "client_timeout", "timeout": "request", "client_id": "p-1"},),
    ),
    _delivery(
        "a commit that is not answered",
        f"{AT} ERROR it failed\no.TimeoutException: Timeout of 2000ms expired before successfully"
        " committing offsets"
        " {in-0=OffsetAndMetadata{offset=191}}",
        ({"kind": "client_timeout", "timeout": "commit"},),
    ),
    _delivery(
        "no metadata in kafka-python",
        "2026-11-21 12:35:23,893 ERROR root failed\nkafka.errors.KafkaTimeoutError: KafkaTimeoutError:"
        " Failed to update metadata after 2.0 secs.",
        ({"kind": "client_timeout", "timeout": "metadata", "client": "kafka-python"},),
    ),
    _delivery(
        "requests of librdkafka that are not answered",
        "%4|1795264523.893|REQTMOUT|orders#producer-1| [thrd:b:1/1]: b:1/1: Timed out 1 in-flight, 0"
        " retry-queued, 0 out-queue, 0 partially-sent requests",
        ({"kind": "client_timeout", "timeout": "request", "client": "librdkafka", "client_id": "orders"},),
    ),
    _delivery(
        "a single request of librdkafka that is not answered",
        "%4|1795264523.893|REQTMOUT|orders#producer-1| [thrd:b:1/1]: b:1/1: Timed out ApiVersionRequest in"
        " flight (after 1004ms, timeout #0)",
        because="the line for all requests of the broker follows, and counts",
    ),
    _delivery(
        "a consumer of librdkafka that does not poll",
        "%4|1795264523.893|MAXPOLL|billing#consumer-2| [thrd:main]: Application maximum poll"
        " interval (2000ms) exceeded"
        " by 120ms (adjust max.poll.interval.ms for long-running message processing): leaving group",
        ({"kind": "client_timeout", "timeout": "poll", "client_id": "billing"},),
    ),
    _delivery(
        "an expiry of librdkafka",
        "%7|1795264523.893|TIMEOUT|rdkafka#producer-3| [thrd:b:1/1]: b:1/1: t-x [4]: timed out 2+3 message(s)"
        " (MsgId 1..5): message.timeout.ms exceeded",
        ({"kind": "delivery_timeout", "client": "librdkafka", "topic": "t-x", "partition": 4, "records": 5},),
    ),
)

BACKOFF: Final = (
    _backoff(
        "an initial backoff above the maximum",
        f"{AT} WARN Configuration 'retry.backoff.ms' with value '2000' is greater than configuration"
        " 'retry.backoff.max.ms' with value '1000'. A static backoff with value '1000' will be"
        " applied. (o.C:1)",
        ({"kind": "retry_backoff_misconfigured", "client_id": ""},),
    ),
    _backoff(
        "one of the clients of a Connect task: it is not said which",
        f"{AT} WARN [silent|task-0] Configuration 'retry.backoff.ms' with value '2000' is greater than"
        " configuration 'retry.backoff.max.ms' with value '1000'. A static backoff with value '1000' will be"
        " applied. (org.apache.kafka.clients.CommonClientConfigs:281)",
        ({"kind": "retry_backoff_misconfigured", "client_id": "silent-0"},),
    ),
)
