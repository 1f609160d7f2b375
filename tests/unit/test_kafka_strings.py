"""Every string that Kafka and its clients are known to log about timeouts, dead letters and abandonment.

A row is a string as it stands in a log, with the events it must give, or why it deliberately gives none.

This module is a table: its length is the number of strings.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

import pytest

from collector.contract.events import KINDS, Position
from collector.sources.log_lines import MESSAGES, TRIGGERS
from collector.sources.log_memory import Memory
from collector.sources.log_scan import Scanner

Facts = Mapping[str, object]

AT: Final = "[2026-11-21 12:35:23,893]"
APP: Final = "wordcount-7f99e2d8-5383-481a-8dd1-773528d54f71"
THREAD: Final = f"stream-thread [{APP}-StreamThread-1]"
GLOBAL: Final = f"global-stream-thread [{APP}-GlobalStreamThread]"
CLIENT: Final = f"stream-client [{APP}]"
HANDLER: Final = (
    "ProduceRequestHandler(param: ShareGroupDLQRecordParameter[groupId=g1, topicIdPartition=x:orders-0,"
    " firstOffset=3, lastOffset=3, deliveryCount=Optional[1], cause=Optional[java.lang.Exception:"
    " Offset rejected"
    " by client.]]\ndlqTopicData: TopicPartitionData[topicName=dlq.g1]\n)"
)
LOST: Final = f"{AT} ERROR Failed to write to DLQ, proceeding to ARCHIVED regardless. (k.SharePartition:3400)"
NEWER: Final = " The request has not been sent, or no server response has been received yet."

REFUSED: Final = "the client does not start: its application says so at once"
OF_LOST: Final = "the line that it was archived all the same follows; this one lends it the group"
TOLD_BY_BEANS: Final = "it is a metric of the broker, read through Jolokia"


@dataclass(frozen=True)
class String:
    """``text`` is one or more entries; without ``events`` it says ``because`` of what."""

    section: str
    name: str
    text: str
    events: tuple[Facts, ...] = ()
    because: str = ""


def _lost(name: str, exception: str, group: str = "g1") -> String:
    return String(
        "share groups",
        name,
        f"{LOST}\n{exception}",
        ({"kind": "share_dead_letter_lost", "consumergroup": group},),
    )


def _unwritten(name: str, text: str) -> tuple[String, String]:
    """A line that tells of records that could not be written: alone, and before the line of their loss."""
    alone = String("share groups", name, f"{AT} ERROR {text}", because=OF_LOST)
    loss = f"{alone.text}\n{LOST}\njava.lang.Exception: no group in here."
    told = ({"kind": "share_dead_letter_lost", "consumergroup": "g1"},)
    return alone, String("share groups", f"{name}, then the loss", loss, told)


def _starts(
    name: str, message: str, *tasks: str, call: str, prefix: str = THREAD, level: str = "WARN"
) -> String:
    started = tuple(
        {"kind": "task_timer_started", "application": "wordcount", "task": task, "call": call}
        for task in tasks
    )
    return String("task timeouts", name, f"{AT} {level} {prefix} {message}", started)


def _ends(name: str, message: str, task: str, reason: str, prefix: str = THREAD) -> String:
    ended = {"kind": "task_timer_ended", "application": "wordcount", "task": task, "reason": reason}
    return String("task timeouts", name, f"{AT} INFO {prefix} {message}", (ended,))


def _dies(name: str, message: str, decision: str, *more: Facts) -> String:
    died = {"kind": "stream_thread_died", "application": "wordcount", "decision": decision}
    return String("task timeouts", name, f"{AT} ERROR {CLIENT} {message}", (died, *more))


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
        "o.ConfigException: DLQ topic does not exist and auto create is disabled on cluster for"
        " share group: g1,"
        " topic: dlq.g1.",
    ),
    _lost(
        "the name is against the prefix",
        "o.ConfigException: Configured DLQ topic name does not comply with the DLQ topic prefix in"
        " share group: g1,"
        " topic: d, prefix: dlq..",
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
    String(
        "share groups",
        "the original could not be read",
        f"{AT} WARN Unable to fetch original record data for handler {HANDLER} for the round starting"
        " at offset 3."
        " DLQ records will be produced with headers only for this round.",
        because="the dead letter is written; that it has no payload is seen on the record itself",
    ),
    String(
        "share groups",
        "a cause of a dead letter",
        "Offset delivery count exceeded the threshold.",
        because="it is a header of the dead letter, read there",
    ),
    String(
        "share groups",
        "a meter",
        "kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueRecordCount,group=g1",
        because=TOLD_BY_BEANS,
    ),
)

TASK_TIMEOUTS: Final = (
    String(
        "task timeouts",
        "a task that made no progress",
        f"{AT} ERROR {THREAD} it failed\no.TimeoutException: Task 0_1 did not make progress within 300123 ms."
        " Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "application": "wordcount", "task": "0_1", "elapsed_ms": 300123},),
    ),
    String(
        "task timeouts",
        "a task that may not retry: on its second failure, a few ms later",
        f"{AT} ERROR {THREAD} it failed\no.TimeoutException: Task 0_1 did not make progress within 4 ms."
        " Adjust `task.timeout.ms` if needed.\nCaused by: o.TimeoutException: Task 0_1 did not make"
        " progress within"
        " 4 ms. Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "task": "0_1", "elapsed_ms": 4},),
    ),
    String(
        "task timeouts",
        "the global thread",
        f"{AT} ERROR {GLOBAL} it failed\no.TimeoutException: Global task did not make progress to"
        " restore state"
        " within 310000 ms. Adjust `task.timeout.ms` if needed.",
        ({"kind": "task_timeout", "application": "wordcount", "task": "global", "elapsed_ms": 310000},),
    ),
    String(
        "task timeouts",
        "the global thread that may not retry, told by thread and client",
        f"{AT} ERROR {GLOBAL} Exception caught during initialization of"
        " GlobalStreamThread\no.StreamsException:"
        " Retrying is disabled. You can enable it by setting `task.timeout.ms` to a value larger than zero.\n"
        f"{AT} ERROR {CLIENT} it failed\no.StreamsException: Retrying is disabled. You can enable it"
        " by setting"
        " `task.timeout.ms` to a value larger than zero.\nCaused by: o.TimeoutException: no word of it",
        ({"kind": "task_timeout", "application": "wordcount", "task": "global", "elapsed_ms": 0},),
    ),
    _starts(
        "process",
        "Could not complete processing records for 0_1 due to the following exception; will move to"
        " next task and"
        " retry later (o.TaskExecutor:107)",
        "0_1",
        call="process",
        level="ERROR",
    ),
    _starts(
        "commit", "Committing task(s) 1_1, 0_1, 1_0 failed. (o.T:214)", "1_1", "0_1", "1_0", call="commit"
    ),
    _starts(
        "init",
        "Encountered timeout exception. Reattempting initialization in the next iteration. Error"
        " message was: x",
        "",
        call="init",
        level="INFO",
    ),
    _starts(
        "restore",
        "Could not complete restoration for 0_1 due to the following exception; adding the task back"
        " to the state"
        " updater and will retry",
        "0_1",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "restore, before the state updater",
        "Could not complete restoration for a__0_1 due to the following exception; will retry",
        "a__0_1",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "committed offsets",
        "Encountered org.apache.kafka.common.errors.TimeoutException: Timeout of 2000ms expired before the"
        " last committed offset"
        " for partitions"
        " [a-0] could be determined. Try tuning `default.api.timeout.ms` larger to relax the"
        " threshold. while trying"
        " to fetch committed offsets, will retry initializing the metadata in the next"
        " loop.\nConsider overwriting",
        "0_1",
        call="committed_offsets",
        prefix=f"{THREAD} task [0_1]",
    ),
    _starts(
        "initTransactions",
        "Timeout exception caught trying to initialize transactions. The broker is either slow or in"
        " bad state (like"
        " not having enough replicas) in responding to the request, or the connection to broker was"
        " interrupted"
        " sending the request or receiving the response. Will retry initializing the task in the"
        " next loop. Consider"
        " overwriting max.block.ms to a larger value to avoid timeout errors",
        "",
        call="init_transactions",
    ),
    _starts(
        "partitionsFor",
        "Could not get partitions for topic out, will retry",
        "0_1",
        call="partitions_for",
        prefix=f"{THREAD} stream-task [0_1]",
    ),
    _starts(
        "end offsets of a changelog",
        "Could not fetch all end offsets for [a-0, a-1] due to o.TimeoutException: x, will retry in"
        " the next run loop",
        "",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "committed offsets of a changelog",
        "Could not retrieve the committed offsets for partitions [a-0] due to o.TimeoutException: x,"
        " will retry in the"
        " next run loop",
        "",
        call="restore",
        level="DEBUG",
    ),
    _starts(
        "offset reset",
        "Could not reset offset for [a-0] due to the following exception; will retry.",
        "",
        call="offset_reset",
        level="DEBUG",
    ),
    *(
        _starts(
            f"the global store: {what}",
            f"Failed to get {what}. The broker may be transiently unavailable at the moment.",
            "global",
            call="global",
            prefix=GLOBAL,
        )
        for what in ("offsets for partitions [a-0]", "partitions for topic a", "position for partition a-0")
    ),
    String(
        "task timeouts",
        "a timer that runs",
        f"{AT} DEBUG {THREAD} stream-task [0_1] Task did not make progress. Remaining time to"
        " deadline 2995; retrying.",
        ({"kind": "task_timer_started", "task": "0_1", "call": "", "remaining_ms": 2995},),
    ),
    String(
        "task timeouts",
        "a standby task's timer that runs",
        f"{AT} DEBUG {THREAD} standby-task [0_1] Task did not make progress. Remaining time to"
        " deadline 0; retrying.",
        ({"kind": "task_timer_started", "task": "0_1", "call": "", "remaining_ms": 0},),
    ),
    _ends(
        "a timer that is cleared",
        "Clearing task timeout. (o.X:1)",
        "0_1",
        "progress",
        f"{THREAD} stream-task [0_1]",
    ),
    _ends(
        "a failed commit that is made good",
        "Hit TimeoutException when committing all non-corrupted tasks, these will be closed and revived",
        "",
        "revived",
    ),
    _ends(
        "a thread that runs", "State transition from PARTITIONS_ASSIGNED to RUNNING (o.X:1)", "", "running"
    ),
    _ends("a thread that has ended", "Shutdown complete (o.X:1)", "", "closed"),
    String(
        "task timeouts",
        "the form of a stall under exactly-once",
        f"{AT} WARN {THREAD} Detected the states of tasks [0_1, 1_0] are corrupted. Will close the"
        " task as dirty and"
        " re-create and bootstrap from scratch.\no.TaskCorruptedException: Tasks [0_1, 1_0] are corrupted",
        tuple(
            fact
            for task in ("0_1", "1_0")
            for fact in (
                {"kind": "task_corrupted", "application": "wordcount", "task": task},
                {"kind": "task_timer_ended", "task": task, "reason": "corrupted"},
            )
        ),
    ),
    String(
        "task timeouts",
        "the same up to 2.5, with the changelogs",
        f"{AT} WARN {THREAD} Detected the states of tasks {{0_1=[a-0, a-1], 1_0=[b-0]}} are"
        " corrupted. Will close the"
        " task as dirty and re-create and bootstrap from scratch.",
        tuple(
            {"kind": kind, "task": task}
            for task in ("0_1", "1_0")
            for kind in ("task_corrupted", "task_timer_ended")
        ),
    ),
    _dies(
        "the client shuts down",
        "Encountered the following exception during processing and the registered exception handler opted to"
        " SHUTDOWN_CLIENT. The streams client is going to shut down now.",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the client shuts down, in the words of 3.x",
        "Encountered the following exception during processing and the registered exception handleropted to"
        " SHUTDOWN_CLIENT. The streams client is going to shut down now.",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the global thread cannot be replaced",
        "Encountered the following exception during processing  The streams client is going to shut"
        " down now. ",
        "SHUTDOWN_CLIENT",
        {"kind": "task_timer_ended", "task": "", "reason": "closed"},
    ),
    _dies(
        "the thread is replaced",
        "Replacing thread in the streams uncaught exception handler",
        "REPLACE_THREAD",
    ),
    _dies(
        "the application shuts down",
        "Encountered the following exception during processing and sent shutdown request for the"
        " entire application.",
        "SHUTDOWN_APPLICATION",
    ),
    _dies(
        "the application shuts down for its global thread",
        "Exception in global thread caused the application to attempt to shutdown. This action will"
        " succeed only if"
        " there is at least one StreamThread running on this client. Currently there are no running"
        " threads so will"
        " now close the client.",
        "SHUTDOWN_APPLICATION",
    ),
)

DELIVERY_TIMEOUTS: Final = (
    String(
        "delivery timeouts",
        "an expiry up to 4.2",
        f"{AT} ERROR it failed\no.TimeoutException: Expiring 3 record(s) for topic-0:120004 ms has"
        " passed since batch"
        " creation",
        ({"kind": "delivery_timeout", "client": "java", "topic": "topic", "partition": 0, "records": 3},),
    ),
    String(
        "delivery timeouts",
        "an expiry from 4.3 on",
        f"{AT} ERROR it failed\no.TimeoutException: Expiring 3 record(s) for topic-0:120004 ms has"
        " passed since batch"
        f" creation.{NEWER}",
        ({"kind": "delivery_timeout", "client": "java", "records": 3, "elapsed_ms": 120004},),
    ),
    String(
        "delivery timeouts",
        "an expiry of kafka-python",
        "kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Expiring 3 record(s) for"
        " TopicPartition(topic='t',"
        " partition=1): 3000 ms has passed since batch creation",
        ({"kind": "delivery_timeout", "client": "kafka-python", "topic": "t", "partition": 1, "records": 3},),
    ),
    String(
        "delivery timeouts",
        "what the accumulator says",
        f"{AT} TRACE [Producer clientId=p] Expired 2 batches in accumulator",
        because="each of the batches is told by its own exception, with topic and size",
    ),
    String(
        "delivery timeouts",
        "limits that contradict each other",
        "o.ConfigException: delivery.timeout.ms should be equal to or larger than linger.ms +"
        " request.timeout.ms",
        because=REFUSED,
    ),
    String(
        "delivery timeouts",
        "limits that contradict each other, of kafka-python",
        "KafkaConfigurationError: Must set delivery_timeout_ms higher than linger_ms + request_timeout_ms",
        because=REFUSED,
    ),
    String(
        "delivery timeouts",
        "a setting that kafka-python does not know",
        "ValueError: Unrecognized configs: {'retry_backoff_max_ms': 5}",
        because=REFUSED,
    ),
    String(
        "delivery timeouts",
        "a default that contradicts a setting",
        f"{AT} WARN [Producer clientId=p] delivery.timeout.ms should be equal to or larger than linger.ms +"
        " request.timeout.ms. Setting it to 150000.",
        because="the producer has mended it itself",
    ),
    String(
        "delivery timeouts",
        "no metadata",
        f"{AT} ERROR it failed\no.TimeoutException: Topic orders not present in metadata after 60000 ms.",
        ({"kind": "client_timeout", "timeout": "metadata", "client": "java"},),
    ),
    String(
        "delivery timeouts",
        "no metadata of a partition",
        f"{AT} ERROR it failed\no.TimeoutException: Partition 7 of topic orders with partition count"
        " 3 is not present"
        " in metadata after 60000 ms.",
        ({"kind": "client_timeout", "timeout": "metadata"},),
    ),
    String(
        "delivery timeouts",
        "a full buffer",
        f"{AT} ERROR it failed\no.BufferExhaustedException: Failed to allocate 16384 bytes within the"
        " configured max"
        " blocking time 2000 ms. Total memory: 33554432 bytes.",
        ({"kind": "client_timeout", "timeout": "buffer"},),
    ),
    String(
        "delivery timeouts",
        "a retry",
        f"{AT} WARN [Producer clientId=p] Got error produce response with correlation id 5 on"
        " topic-partition t-0,"
        " retrying (2147483646 attempts left). Error: NOT_LEADER_OR_FOLLOWER",
        because="nothing is late yet: what the retries come to is an expiry, or nothing",
    ),
    String(
        "delivery timeouts",
        "a retry of kafka-python",
        "2026-11-21 12:35:23,893 WARNING kafka.producer.sender <Sender>: Got error produce response"
        " on topic-partition"
        " TopicPartition(topic='t', partition=0), retrying (4 attempts left): NotLeaderForPartitionError",
        because="nothing is late yet: what the retries come to is an expiry, or nothing",
    ),
    String(
        "delivery timeouts",
        "a batch that is split",
        f"{AT} WARN [Producer clientId=p] Got error produce response in correlation id 5 on"
        " topic-partition t-0,"
        " splitting and retrying (2147483647 attempts left). Error: MESSAGE_TOO_LARGE",
        because="it is no timeout: the batch goes out in two",
    ),
    String(
        "delivery timeouts",
        "a request that is not answered",
        f"{AT} INFO [Producer clientId=p-1] Disconnecting from node 1 due to request timeout. (x:921)",
        ({"kind": "client_timeout", "timeout": "request", "client_id": "p-1"},),
    ),
    String(
        "delivery timeouts",
        "a commit that is not answered",
        f"{AT} ERROR it failed\no.TimeoutException: Timeout of 2000ms expired before successfully"
        " committing offsets"
        " {in-0=OffsetAndMetadata{offset=191}}",
        ({"kind": "client_timeout", "timeout": "commit"},),
    ),
    String(
        "delivery timeouts",
        "no metadata in kafka-python",
        "2026-11-21 12:35:23,893 ERROR root failed\nkafka.errors.KafkaTimeoutError:"
        " KafkaTimeoutError: Failed to update"
        " metadata after 2.0 secs.",
        ({"kind": "client_timeout", "timeout": "metadata", "client": "kafka-python"},),
    ),
    String(
        "delivery timeouts",
        "requests of librdkafka that are not answered",
        "%4|1795264523.893|REQTMOUT|orders#producer-1| [thrd:b:1/1]: b:1/1: Timed out 1 in-flight, 0"
        " retry-queued, 0"
        " out-queue, 0 partially-sent requests",
        ({"kind": "client_timeout", "timeout": "request", "client": "librdkafka", "client_id": "orders"},),
    ),
    String(
        "delivery timeouts",
        "a consumer of librdkafka that does not poll",
        "%4|1795264523.893|MAXPOLL|billing#consumer-2| [thrd:main]: Application maximum poll"
        " interval (2000ms) exceeded"
        " by 120ms (adjust max.poll.interval.ms for long-running message processing): leaving group",
        ({"kind": "client_timeout", "timeout": "poll", "client_id": "billing"},),
    ),
    String(
        "delivery timeouts",
        "an expiry of librdkafka",
        "%7|1795264523.893|TIMEOUT|rdkafka#producer-3| [thrd:b:1/1]: b:1/1: t-x [4]: timed out 2+3 message(s)"
        " (MsgId 1..5): message.timeout.ms exceeded",
        ({"kind": "delivery_timeout", "client": "librdkafka", "topic": "t-x", "partition": 4, "records": 5},),
    ),
)

BACKOFF: Final = (
    String(
        "backoff",
        "an initial backoff above the maximum",
        f"{AT} WARN Configuration 'retry.backoff.ms' with value '2000' is greater than configuration"
        " 'retry.backoff.max.ms' with value '1000'. A static backoff with value '1000' will be"
        " applied. (o.C:1)",
        ({"kind": "retry_backoff_misconfigured"},),
    ),
)

_UNRESPONSIVE: Final = (
    "Connector 'my-sink' failed to properly shut down, has become unresponsive, and may be consuming external"
    " resources. Correct the configuration for this connector or remove the connector. After fixing"
    " the connector, it"
    " may be necessary to restart this worker to release any consumed resources."
)
ABANDONED: Final = (
    String(
        "abandoned tasks",
        "a task is told to stop",
        f"{AT} INFO [my-sink|task-0] Stopping task my-sink-0 (o.Worker:1030)",
        because="most stop in time",
    ),
    String(
        "abandoned tasks",
        "a task is abandoned",
        f"{AT} ERROR [my-sink|task-0] Graceful stop of task my-sink-0 failed. (o.Worker:1104)",
        ({"kind": "task_abandoned", "connector": "my-sink", "task": "0"},),
    ),
    String(
        "abandoned tasks",
        "a task has stopped in time",
        f"{AT} DEBUG [my-sink|task-0] Graceful stop of task my-sink-0 succeeded. (o.Worker:1106)",
        because="nothing is abandoned",
    ),
    String(
        "abandoned tasks",
        "a connector is told to stop",
        f"{AT} INFO [my-sink|worker] Stopping connector my-sink (o.Worker:1)\n"
        f"{AT} INFO [my-sink|worker] Scheduled shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        because="most stop in time",
    ),
    String(
        "abandoned tasks",
        "a connector is abandoned",
        f"{AT} ERROR [my-sink|worker] {_UNRESPONSIVE} (o.Worker:1)",
        ({"kind": "connector_abandoned", "connector": "my-sink"},),
    ),
    String(
        "abandoned tasks",
        "a connector has stopped in time",
        f"{AT} INFO [my-sink|worker] Scheduled shutdown for WorkerConnector{{id=my-sink}} (o.W:1)\n"
        f"{AT} INFO [my-sink|worker] Completed shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        because="nothing is abandoned",
    ),
    String(
        "abandoned tasks",
        "an abandoned connector has ended after all",
        f"{AT} ERROR [my-sink|worker] {_UNRESPONSIVE} (o.Worker:1)\n"
        f"{AT} INFO [my-sink|worker] Completed shutdown for WorkerConnector{{id=my-sink}} (o.W:1)",
        (
            {"kind": "connector_abandoned", "connector": "my-sink"},
            {"kind": "abandoned_ended", "connector": "my-sink", "task": ""},
        ),
    ),
    String(
        "abandoned tasks",
        "a connector fails while it stops",
        f"{AT} ERROR [my-sink|worker] WorkerConnector{{id=my-sink}} Error while shutting down"
        " connector (o.W:1)",
        because="it has ended all the same: its worker's threads tell whether it was abandoned",
    ),
    String(
        "abandoned tasks",
        "an abandoned task throws",
        f"{AT} WARN [my-sink|task-0] WorkerSinkTask{{id=my-sink-0}} After being scheduled for"
        " shutdown, the orphan task"
        " threw an uncaught exception. A newer instance of this task might be already running"
        " (o.WorkerTask:1)",
        ({"kind": "abandoned_ended", "connector": "my-sink", "task": "0"},),
    ),
    String(
        "abandoned tasks",
        "a consumer is closed",
        f"{AT} INFO [my-sink|task-0] App info kafka.consumer for connector-consumer-my-sink-0"
        " unregistered (o.A:1)",
        because="a healthy task writes it as well: the threads tell when an abandoned one has ended",
    ),
    String(
        "abandoned tasks",
        "a cancelled task does not commit",
        f"{AT} DEBUG [my-sink|task-0] Skipping final offset commit as task has been cancelled (o.W:1)",
        because="it was abandoned before, and may still run",
    ),
    String(
        "abandoned tasks",
        "a task fails while it stops",
        f"{AT} ERROR [my-sink|task-0] WorkerSinkTask{{id=my-sink-0}} Task threw an uncaught and"
        " unrecoverable exception"
        " during shutdown (o.W:1)",
        because="it has ended: nothing is abandoned",
    ),
    String(
        "abandoned tasks",
        "a worker stops with tasks",
        f"{AT} WARN Shutting down tasks [my-sink-0] uncleanly; herder should have shut down tasks"
        " before the Worker is"
        " stopped (o.Worker:1)",
        because="the process ends, and with it all that it runs",
    ),
    String(
        "abandoned tasks",
        "a worker starts",
        f"{AT} INFO Kafka Connect worker initializing ... (o.C:1)\n"
        f"{AT} INFO Advertised URI: http://10.0.0.7:8083/ (o.RestServer:421)",
        ({"kind": "worker_started", "worker": "10.0.0.7:8083"},),
    ),
)

ALL: Final = (*SHARE_GROUPS, *TASK_TIMEOUTS, *DELIVERY_TIMEOUTS, *BACKOFF, *ABANDONED)

OF_LOGS: Final = set(KINDS) - {
    "worker_snapshot",
    "broker_snapshot",
    "dead_letter_topics_snapshot",
    "findings_snapshot",
    "connect_tasks_snapshot",
    "collector_snapshot",
    "redrive_outcome",
    "redrive_written",
    "source_status",
    "quarantined",
}


def told(log: str) -> list[Facts]:
    """The events of a whole log."""
    memory, found = Memory(), []
    data = log.encode()
    while memory.offset < len(data):
        memory, some = Scanner().scan(memory, data[memory.offset :], final=True)
        found += some
    return [
        {
            "kind": (
                event := one.cause.event(
                    source="s",
                    position=Position(0, one.offset, one.ordinal),
                    happened_at_ms=0,
                    observed_at_ms=0,
                    kafka_cluster="c",
                )
            ).kind,
            **asdict(event),
        }
        for one in found
    ]


def in_json(text: str) -> str:
    """Each entry of the text as an object; of an entry's first line the time is taken away."""
    entries: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith(AT) or not entries:
            entries.append([line.removeprefix(f"{AT} ")])
        else:
            entries[-1].append(line)
    objects = ({"@timestamp": "2026-11-21T12:35:23.893Z", "message": "\n".join(lines)} for lines in entries)
    return "".join(f"{json.dumps(one)}\n" for one in objects)


def expect(events: list[Facts], string: String) -> None:
    assert [event["kind"] for event in events] == [event["kind"] for event in string.events]
    for event, expected in zip(events, string.events, strict=True):
        assert {name: event[name] for name in expected} == expected


@pytest.mark.parametrize("string", ALL, ids=lambda string: f"{string.section}: {string.name}")
def test_a_string_gives_its_events_and_no_others(string: String) -> None:
    assert bool(string.events) != bool(string.because)
    expect(told(f"{string.text}\n"), string)


@pytest.mark.parametrize("string", ALL, ids=lambda string: f"{string.section}: {string.name}")
def test_a_string_gives_the_same_in_json(string: String) -> None:
    if not string.text.startswith("%"):  # librdkafka's own lines are told by their beginning
        expect(told(in_json(string.text)), string)


def test_every_trigger_has_a_string_that_speaks() -> None:
    speaking = "\n".join(string.text for string in ALL if string.events).encode()
    assert [trigger for trigger in TRIGGERS if trigger not in speaking] == []
    assert MESSAGES.search(speaking)


def test_every_kind_of_event_that_logs_can_give_has_a_string() -> None:
    assert {event["kind"] for string in ALL for event in string.events} == OF_LOGS


def test_every_section_has_strings() -> None:
    assert {string.section for string in ALL} == {
        "share groups",
        "task timeouts",
        "delivery timeouts",
        "backoff",
        "abandoned tasks",
    }
