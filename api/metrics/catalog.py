"""Every metric of the house, declared once: users' dashboards, alerts and scripts hold on to these names.

The list is closed: what is not here cannot be exported, and what is here is always named in a scrape, with or
without samples. A counter stands on one series of the store, with the same labels. ``seeds_name`` are
the names under which Kafka's proposals know the figure.

This module is a table: its length is the number of metrics.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from streaming.store import series
from streaming.store.series import Series


class Kind(StrEnum):
    """The types of metrics, as OpenMetrics spells them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Metric:
    """A name that is promised to users; ``series`` is where the store keeps it."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    series: Series | None = None
    seeds_name: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The name without the suffix that OpenMetrics gives its type."""
        return self.name.removesuffix({Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(self.kind, ""))


DEAD_LETTERS: Final = Metric(
    "deadwatch_dead_letter_queue_records_total",
    Kind.COUNTER,
    "Records seen on dead letter topics. 0: nothing was given up since the topic is watched. More: each is a "
    "record that a consumer did not process; find the cause in /api/v1/dead-letters/groups.",
    ("kafka_cluster", "dlq_topic", "source_topic", "dialect", "consumergroup", "connector", "error_class"),
    series.DEAD_LETTERS,
    ("DeadLetterQueueRecordCount",),
)
DEAD_LETTER_BACKLOG: Final = Metric(
    "deadwatch_dead_letter_queue_backlog_records",
    Kind.GAUGE,
    "Records that are on a dead letter topic now, read by somebody or not. 0: it is empty. More: they wait "
    "for somebody, and retention deletes them unseen; find their causes in /api/v1/dead-letters/groups.",
    ("kafka_cluster", "dlq_topic"),
)
DEAD_LETTER_OLDEST: Final = Metric(
    "deadwatch_dead_letter_queue_oldest_record_timestamp_seconds",
    Kind.GAUGE,
    "Time of the first record that is on a dead letter topic; an empty one has no sample. time() minus this "
    "is how long it waits: handle it before the topic's retention.ms is over, then it is lost.",
    ("kafka_cluster", "dlq_topic"),
)
SHARE_RECORDS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_record_count",
    Kind.GAUGE,
    "Dead letters that a broker says it has written for a share group, added up over its restarts. 0: none. "
    "More than deadwatch_dead_letter_queue_records_total has for the group: a topic is not read or was cut.",
    ("kafka_cluster", "consumergroup", "broker"),
    seeds_name=("kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueRecordCount",),
)
SHARE_REQUESTS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_produce_requests_total",
    Kind.COUNTER,
    "Attempts of a broker to write dead letters of a share group. 0: none was due. More: one attempt may "
    "hold several records; compare with the failed ones.",
    ("kafka_cluster", "consumergroup", "broker"),
    seeds_name=("kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueTotalProduceRequestsPerSec",),
)
SHARE_FAILED_REQUESTS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_failed_produce_requests_total",
    Kind.COUNTER,
    "Attempts of a broker to write dead letters of a share group that failed. 0: none that it counts; a "
    "topic that is missing or not enabled is only in its log. More: records may be lost; read that log.",
    ("kafka_cluster", "consumergroup", "broker"),
    seeds_name=("kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueFailedProduceRequestsPerSec",),
)
SHARE_DEAD_LETTERS_LOST: Final = Metric(
    "deadwatch_share_group_dead_letters_lost_total",
    Kind.COUNTER,
    "Times a broker archived share-group records although their dead letters could not be written. 0: none "
    "is known to be lost. More: these records are on no topic; read the broker's log for the exception.",
    ("kafka_cluster", "consumergroup"),
    series.SHARE_DEAD_LETTERS_LOST,
    ("Failed to write to DLQ, proceeding to ARCHIVED regardless.",),
)
ABANDONED_TASKS: Final = Metric(
    "deadwatch_connect_abandoned_tasks",
    Kind.GAUGE,
    "Instances of a task that its Connect worker has let go of and that still run. 0: all have ended. More: "
    "they hold threads, connections and locks; find what blocks them, or restart the worker.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=(
        "kafka.connect:type=connect-worker-metrics abandoned-tasks-current",
        "kafka.connect:type=abandoned-task-metrics current",
    ),
)
ABANDONED_TASKS_TOTAL: Final = Metric(
    "deadwatch_connect_abandoned_tasks_total",
    Kind.COUNTER,
    "Instances of a task that its Connect worker had to abandon, ended or not. 0: every stop was graceful. "
    "More: the task did not stop in time; look at what its connector does while it stops.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=(
        "kafka.connect:type=connect-worker-metrics abandoned-tasks-total",
        "kafka.connect:type=abandoned-task-metrics total",
    ),
)
ABANDONED_CONNECTORS: Final = Metric(
    "deadwatch_connect_abandoned_connectors",
    Kind.GAUGE,
    "Instances of a connector that its Connect worker has let go of and that still run. 0: all have ended. "
    "More: they hold resources of the worker; correct or remove the connector, then restart the worker.",
    ("kafka_cluster", "worker", "connector"),
    seeds_name=(
        "kafka.connect:type=connect-worker-metrics abandoned-connectors-current",
        "kafka.connect:type=abandoned-connector-metrics current",
    ),
)
ABANDONED_CONNECTORS_TOTAL: Final = Metric(
    "deadwatch_connect_abandoned_connectors_total",
    Kind.COUNTER,
    "Instances of a connector that its Connect worker had to abandon, ended or not. 0: every stop was "
    "graceful. More: the connector did not stop in time; look at what it does while it starts and stops.",
    ("kafka_cluster", "worker", "connector"),
    seeds_name=(
        "kafka.connect:type=connect-worker-metrics abandoned-connectors-total",
        "kafka.connect:type=abandoned-connector-metrics total",
    ),
)
ABANDONED_DISAGREEMENT: Final = Metric(
    "deadwatch_connect_abandoned_disagreement",
    Kind.GAUGE,
    "Abandoned instances by a worker's threads minus those by its log; figure is current or total, task is "
    "empty for a connector. 0: they agree. More, for long: the log is not read whole. Less: it does not tell "
    "of an end (trust the threads), or an instance ended between two looks (trust the log).",
    ("kafka_cluster", "worker", "connector", "task", "figure"),
)
CONNECT_TASK_STATE: Final = Metric(
    "deadwatch_connect_task_state",
    Kind.GAUGE,
    "1 for the state that Connect's REST API tells of a task now; any other state has no sample. With "
    "state FAILED: read the task's trace, mend the cause, restart the task.",
    ("kafka_cluster", "worker", "connector", "task", "state"),
)
CONNECT_TASK_STALLED: Final = Metric(
    "deadwatch_connect_task_stalled",
    Kind.GAUGE,
    "1: REST calls the task RUNNING, records wait for it and nothing moves. 0: it gets on, is idle or does "
    "not run. /api/v1/connect/tasks says since when and by what sign; look at what it waits for, restart it.",
    ("kafka_cluster", "connector", "task"),
)
CONNECT_RECORD_FAILURES: Final = Metric(
    "deadwatch_connect_task_record_failures_total",
    Kind.COUNTER,
    "Operations on records that failed in a Connect task, retried ones included. 0: none failed. More: read "
    "the worker's log, with errors.log.enable it names each; look at converter, transformations and target.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics total-record-failures",),
)
CONNECT_RECORD_ERRORS: Final = Metric(
    "deadwatch_connect_task_record_errors_total",
    Kind.COUNTER,
    "Operations on records that a Connect task could not do, retries included. 0: all succeeded in the end. "
    "More: each record was skipped or failed the task; mend the cause, then re-drive its dead letters.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics total-record-errors",),
)
CONNECT_RECORDS_SKIPPED: Final = Metric(
    "deadwatch_connect_task_records_skipped_total",
    Kind.COUNTER,
    "Records that a Connect task passed over because of errors. 0: none. More than it sent to its dead "
    "letter queue: the rest is lost without a trace; set errors.deadletterqueue.topic.name on a sink.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics total-records-skipped",),
)
CONNECT_RETRIES: Final = Metric(
    "deadwatch_connect_task_retries_total",
    Kind.COUNTER,
    "Operations that a Connect task tried again. 0: none had to be. More: what it depends on fails at times; "
    "look there, then at errors.retry.timeout.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics total-retries",),
)
CONNECT_ERRORS_LOGGED: Final = Metric(
    "deadwatch_connect_task_errors_logged_total",
    Kind.COUNTER,
    "Errors that a Connect task wrote to its worker's log. 0: none, or errors.log.enable is off. More: the "
    "log says of each which record and stage it was.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics total-errors-logged",),
)
CONNECT_DLQ_REQUESTS: Final = Metric(
    "deadwatch_connect_task_deadletterqueue_produce_requests_total",
    Kind.COUNTER,
    "Records that a Connect sink tried to write to its dead letter queue. 0: none was due. More: find their "
    "causes in /api/v1/dead-letters/groups.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics deadletterqueue-produce-requests",),
)
CONNECT_DLQ_FAILURES: Final = Metric(
    "deadwatch_connect_task_deadletterqueue_produce_failures_total",
    Kind.COUNTER,
    "Dead letters of a Connect sink that could not be written. 0: none. More: these records are on no topic; "
    "look at the queue's existence, its leaders and the worker's permission to Write.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics deadletterqueue-produce-failures",),
)
CONNECT_LAST_ERROR: Final = Metric(
    "deadwatch_connect_task_last_error_timestamp_seconds",
    Kind.GAUGE,
    "Time of the last error of a Connect task by its bean; one without any has no sample. time() minus this "
    "is how long it has gone well; near 0: it fails now.",
    ("kafka_cluster", "worker", "connector", "task"),
    seeds_name=("kafka.connect:type=task-error-metrics last-error-timestamp",),
)
TASK_TIMEOUTS: Final = Metric(
    "deadwatch_task_timeouts_total",
    Kind.COUNTER,
    "Times a Kafka Streams task made no progress within task.timeout.ms. 0: no task ran out of patience. "
    "More: each ends a stream thread; look at the brokers the task depends on, then at task.timeout.ms.",
    ("kafka_cluster", "application", "task"),
    series.TASK_TIMEOUTS,
    ("task.timeout.ms",),
)
TASK_TIMERS: Final = Metric(
    "deadwatch_task_timers",
    Kind.GAUGE,
    "Kafka Streams tasks whose timer of task.timeout.ms runs: a call timed out and no progress was seen "
    "since. 0: all move. More: in time it ends in a timeout; /api/v1/tasks names the calls that wait.",
    ("kafka_cluster", "application"),
    seeds_name=("task.timeout.ms",),
)
TASKS_CORRUPTED: Final = Metric(
    "deadwatch_tasks_corrupted_total",
    Kind.COUNTER,
    "Times a Kafka Streams task was closed as dirty to be restored from scratch: under exactly-once, what a "
    "stall is. 0: none. More: work is repeated; look for timeouts of its producer and at its brokers.",
    ("kafka_cluster", "application", "task"),
    series.TASKS_CORRUPTED,
    ("states of tasks are corrupted",),
)
STREAM_THREAD_DEATHS: Final = Metric(
    "deadwatch_stream_thread_deaths_total",
    Kind.COUNTER,
    "Kafka Streams threads that an exception ended, by what the handler decided. 0: none. More: "
    "REPLACE_THREAD goes on with a new one, SHUTDOWN_CLIENT and SHUTDOWN_APPLICATION need a restart.",
    ("kafka_cluster", "application", "decision"),
    series.STREAM_THREAD_DEATHS,
)
DELIVERY_TIMEOUT_BATCHES: Final = Metric(
    "deadwatch_delivery_timeout_batches_total",
    Kind.COUNTER,
    "Batches that a producer gave up after delivery.timeout.ms. 0: every batch had an outcome in time. More: "
    "their records were refused to the application; look at the topic's leaders and the producer's load.",
    ("kafka_cluster", "topic", "client_id", "client"),
    series.DELIVERY_TIMEOUT_BATCHES,
    ("delivery.timeout.ms",),
)
DELIVERY_TIMEOUT_RECORDS: Final = Metric(
    "deadwatch_delivery_timeout_records_total",
    Kind.COUNTER,
    "Records in batches that a producer gave up after delivery.timeout.ms. 0: none. More: the application "
    "must send each again or lose it; look at the topic's leaders and the producer's load.",
    ("kafka_cluster", "topic", "client_id", "client"),
    series.DELIVERY_TIMEOUT_RECORDS,
    ("delivery.timeout.ms",),
)
CLIENT_TIMEOUTS: Final = Metric(
    "deadwatch_client_timeouts_total",
    Kind.COUNTER,
    "Other timeouts of Kafka clients, by kind: metadata, buffer, commit, request, poll. 0: none was logged. "
    "More: metadata points to a missing topic or broker, buffer to a producer faster than its brokers.",
    ("kafka_cluster", "client_id", "kind"),
    series.CLIENT_TIMEOUTS,
)
RETRY_BACKOFF_MISCONFIGURED: Final = Metric(
    "deadwatch_retry_backoff_misconfigured_total",
    Kind.COUNTER,
    "Warnings of a client that its initial backoff is above the maximum. 0: none. More: it waits the same "
    "time after every failure; set retry.backoff.ms below retry.backoff.max.ms.",
    ("kafka_cluster", "client_id"),
    series.RETRY_BACKOFF_MISCONFIGURED,
    ("retry.backoff.ms", "retry.backoff.max.ms"),
)
FINDINGS: Final = Metric(
    "deadwatch_findings",
    Kind.GAUGE,
    "1 while a configuration would lose or strand records. No sample: nothing is known to be wrong, or it "
    "was mended. 1: read in /api/v1/findings what would be lost, and change exactly what it says.",
    ("kafka_cluster", "kind", "subject"),
)
COLLECTOR_DEAD_LETTERS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_records_total",
    Kind.COUNTER,
    "Dead letters that a collector has written to our own queue: input it could not read, events no broker "
    "took. 0: none was due. More: see why in their header __dlq.errors.message, topic dlq.deadwatch.",
    ("kafka_cluster", "collector"),
    seeds_name=("DeadLetterQueueRecordCount",),
)
COLLECTOR_DEAD_LETTER_REQUESTS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_produce_requests_total",
    Kind.COUNTER,
    "Attempts of a collector to write dead letters of its own. 0: none was due. More: one attempt may hold "
    "several letters; compare with the failed ones.",
    ("kafka_cluster", "collector"),
    seeds_name=("DeadLetterQueueTotalProduceRequestsPerSec",),
)
COLLECTOR_DEAD_LETTER_FAILED_REQUESTS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_failed_produce_requests_total",
    Kind.COUNTER,
    "Attempts of a collector to write dead letters that failed. 0: all went well. More: it tries again for "
    "a while; see the lost ones, and whether the queue exists and may be written.",
    ("kafka_cluster", "collector"),
    seeds_name=("DeadLetterQueueFailedProduceRequestsPerSec",),
)
COLLECTOR_DEAD_LETTERS_LOST: Final = Metric(
    "deadwatch_collector_dead_letters_lost_total",
    Kind.COUNTER,
    "Dead letters of its own that a collector has given up. 0: none. More: deadwatch_quarantined_total still "
    "counts them, what they held is only in the collector's log; mend what that names.",
    ("kafka_cluster", "collector"),
)
COLLECTOR_ABANDONED_TASKS: Final = Metric(
    "deadwatch_collector_abandoned_tasks",
    Kind.GAUGE,
    "Instances of a collector's source that were abandoned and still run. 0 or no sample: none. More: the "
    "thread is blocked in a read; a restart of the collector ends it, what it reads from is at fault.",
    ("kafka_cluster", "collector", "task"),
    seeds_name=("abandoned-tasks-current",),
)
COLLECTOR_ABANDONED_TASKS_TOTAL: Final = Metric(
    "deadwatch_collector_abandoned_tasks_total",
    Kind.COUNTER,
    "Instances of a collector's source that did not stop in time, ended or not. No sample or 0: none. More: "
    "see what the source reads from, then connector_shutdown_graceful_timeout_ms.",
    ("kafka_cluster", "collector", "task"),
    seeds_name=("abandoned-tasks-total",),
)
COLLECTOR_ABANDONED_CONNECTORS: Final = Metric(
    "deadwatch_collector_abandoned_connectors",
    Kind.GAUGE,
    "As deadwatch_collector_abandoned_tasks, of sources that start others, such as a pattern of log files. 0 "
    "or no sample: none. More: looking for files is blocked; see the file system.",
    ("kafka_cluster", "collector", "connector"),
    seeds_name=("abandoned-connectors-current",),
)
COLLECTOR_ABANDONED_CONNECTORS_TOTAL: Final = Metric(
    "deadwatch_collector_abandoned_connectors_total",
    Kind.COUNTER,
    "As deadwatch_collector_abandoned_tasks_total, of sources that start others. No sample or 0: none. More: "
    "see the file system, then connector_shutdown_graceful_timeout_ms.",
    ("kafka_cluster", "collector", "connector"),
    seeds_name=("abandoned-connectors-total",),
)
REDRIVE_RECORDS: Final = Metric(
    "deadwatch_redrive_records_total",
    Kind.COUNTER,
    "Records that redrives have dealt with, by outcome: sent, parked, skipped, failed, bounced. 0: none was. "
    "More: bounced ones came back, so mend the cause first; /api/v1/redrives tells the reasons.",
    ("kafka_cluster", "dlq_topic", "target_topic", "outcome"),
    series.REDRIVE_RECORDS,
)
REDRIVE_JOBS: Final = Metric(
    "deadwatch_redrive_jobs",
    Kind.GAUGE,
    "Redrive orders by state, dry runs not among them. PAUSED above 0: one waits for somebody; its "
    "status_reason in /api/v1/redrives says for what. CANCELLING that stays: no worker runs.",
    ("status",),
)
PARKED_BACKLOG: Final = Metric(
    "deadwatch_redrive_parked_backlog_records",
    Kind.GAUGE,
    "Records that redrives have parked and not moved on since, by the dead letter topic they were on; no "
    "more than the offsets of its .parked topic. 0: none waits. More: their attempts are used up and nobody "
    "tries again; look at them by hand.",
    ("kafka_cluster", "dlq_topic"),
)
EVENTS: Final = Metric(
    "deadwatch_events_total",
    Kind.COUNTER,
    "Events counted, by the source that saw them and their kind. 0: the source was never heard. No growth "
    "while deadwatch_source_up is 1: nothing happens there.",
    ("source", "kind"),
    series.EVENTS,
)
QUARANTINED: Final = Metric(
    "deadwatch_quarantined_total",
    Kind.COUNTER,
    "Input that could not be read and was put aside. 0: everything was understood. More: it is in no other "
    "metric; where it stood and why it was refused are in headers on the topic dlq.deadwatch.",
    ("source", "reason"),
    series.QUARANTINED,
)
RECORDS_READ: Final = Metric(
    "deadwatch_records_read_total",
    Kind.COUNTER,
    "Events and dead letters that streaming has read and counted. 0: nothing was on its topics. No growth: "
    "nothing happens, or nothing arrives; deadwatch_source_up tells which.",
    (),
    series.RECORDS_READ,
)
RECORDS_MISSED: Final = Metric(
    "deadwatch_records_missed_total",
    Kind.COUNTER,
    "Records that Kafka deleted before streaming read them, markers of transactions among them. 0: none. "
    "More: retention is too short or streaming was away (deleted_unread), or the topic was deleted.",
    ("kafka_cluster", "topic", "reason"),
    series.RECORDS_MISSED,
)
CARDINALITY_LIMITED: Final = Metric(
    "deadwatch_cardinality_limited_total",
    Kind.COUNTER,
    "Counts that went to the label value 'other' because a series had too many label values. 0: every "
    "label is exact. More: sums stay right, but some names are missing; look for names that keep changing.",
    ("series",),
    series.CARDINALITY_LIMITED,
)
BUCKETS_SHARED: Final = Metric(
    "deadwatch_buckets_shared_total",
    Kind.COUNTER,
    "Counts of a series that has more label values than time buckets: charts show the rest as 'other'. 0: "
    "every line is its own. More: totals keep all labels; raise max_bucketed_series if lines are missed.",
    ("series",),
    series.BUCKETS_SHARED,
)
SOURCE_UP: Final = Metric(
    "deadwatch_source_up",
    Kind.GAUGE,
    "1: the source works and was heard lately. 0: it failed or is silent, and what happens there is not "
    "seen now; /api/v1/overview says why. All at 0: Kafka, the collector or streaming is away.",
    ("source", "kind"),
)
PIPELINE_LAG: Final = Metric(
    "deadwatch_pipeline_lag_seconds",
    Kind.GAUGE,
    "Age of the newest event of the last batch when it was committed. Near 0: figures are as good as live. "
    "Growing: streaming does not keep up; give it more cores or bigger fetches.",
)
BATCH_DURATION: Final = Metric(
    "deadwatch_batch_duration_seconds",
    Kind.GAUGE,
    "How long streaming worked on its last batch. Near 0: idle or fast. Above a few seconds: look at "
    "the size of the batches and at the disk of the store.",
)
BATCH_PHASE_DURATION: Final = Metric(
    "deadwatch_batch_phase_duration_seconds",
    Kind.GAUGE,
    "How long the phases of a recent batch with records took, by Spark's names. addBatch reads, counts and "
    "writes the store; latestOffset is Kafka; walCommit and commitOffsets are the disk of the checkpoint.",
    ("phase",),
)
BATCH_FAILURES: Final = Metric(
    "deadwatch_batch_failures_total",
    Kind.COUNTER,
    "Times the query failed and began again where it was, by cause: kafka or query. 0: never. More: nothing "
    "is lost or counted twice, but figures were late; streaming's log has a line for each.",
    ("cause",),
    series.BATCH_FAILURES,
)
STREAM_BEHIND: Final = Metric(
    "deadwatch_stream_behind_records",
    Kind.GAUGE,
    "Offsets of a topic that streaming had still to read at its last look. 0: all is counted. Growing: it "
    "does not keep up; give it more cores, or see whether it is up at all.",
    ("topic",),
)
STREAM_RATE: Final = Metric(
    "deadwatch_stream_records_per_second",
    Kind.GAUGE,
    "How fast a recent batch with records was worked through. It says little while batches are small; on a "
    "backlog, deadwatch_stream_behind_records by this is the time it takes.",
)
STORE_UP: Final = Metric(
    "deadwatch_store_up",
    Kind.GAUGE,
    "1: this scrape read the whole store. 0: it could not, and what it could not complete has no samples; "
    "/readyz or the log says why. A metric without samples while this is 1: there is nothing to count.",
)
BUILD_INFO: Final = Metric(
    "deadwatch_build_info",
    Kind.INFO,
    "Always 1; the labels say which version answers.",
    ("version",),
)

ALL: Final = (
    DEAD_LETTERS,
    DEAD_LETTER_BACKLOG,
    DEAD_LETTER_OLDEST,
    SHARE_RECORDS,
    SHARE_REQUESTS,
    SHARE_FAILED_REQUESTS,
    SHARE_DEAD_LETTERS_LOST,
    ABANDONED_TASKS,
    ABANDONED_TASKS_TOTAL,
    ABANDONED_CONNECTORS,
    ABANDONED_CONNECTORS_TOTAL,
    ABANDONED_DISAGREEMENT,
    CONNECT_TASK_STATE,
    CONNECT_TASK_STALLED,
    CONNECT_RECORD_FAILURES,
    CONNECT_RECORD_ERRORS,
    CONNECT_RECORDS_SKIPPED,
    CONNECT_RETRIES,
    CONNECT_ERRORS_LOGGED,
    CONNECT_DLQ_REQUESTS,
    CONNECT_DLQ_FAILURES,
    CONNECT_LAST_ERROR,
    TASK_TIMEOUTS,
    TASK_TIMERS,
    TASKS_CORRUPTED,
    STREAM_THREAD_DEATHS,
    DELIVERY_TIMEOUT_BATCHES,
    DELIVERY_TIMEOUT_RECORDS,
    CLIENT_TIMEOUTS,
    RETRY_BACKOFF_MISCONFIGURED,
    FINDINGS,
    COLLECTOR_DEAD_LETTERS,
    COLLECTOR_DEAD_LETTER_REQUESTS,
    COLLECTOR_DEAD_LETTER_FAILED_REQUESTS,
    COLLECTOR_DEAD_LETTERS_LOST,
    COLLECTOR_ABANDONED_TASKS,
    COLLECTOR_ABANDONED_TASKS_TOTAL,
    COLLECTOR_ABANDONED_CONNECTORS,
    COLLECTOR_ABANDONED_CONNECTORS_TOTAL,
    REDRIVE_RECORDS,
    REDRIVE_JOBS,
    PARKED_BACKLOG,
    EVENTS,
    QUARANTINED,
    RECORDS_READ,
    RECORDS_MISSED,
    CARDINALITY_LIMITED,
    BUCKETS_SHARED,
    SOURCE_UP,
    PIPELINE_LAG,
    BATCH_DURATION,
    BATCH_PHASE_DURATION,
    BATCH_FAILURES,
    STREAM_BEHIND,
    STREAM_RATE,
    STORE_UP,
    BUILD_INFO,
)
