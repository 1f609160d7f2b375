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
CONNECT_TASK_STATE: Final = Metric(
    "deadwatch_connect_task_state",
    Kind.GAUGE,
    "1 for the state that Connect's REST API tells of a task now; any other state has no sample. With "
    "state FAILED: read the task's trace, mend the cause, restart the task.",
    ("kafka_cluster", "worker", "connector", "task", "state"),
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
    "metric; its excerpt and reason are on the topic dlq.deadwatch.",
    ("source", "reason"),
    series.QUARANTINED,
)
CARDINALITY_LIMITED: Final = Metric(
    "deadwatch_cardinality_limited_total",
    Kind.COUNTER,
    "Counts that went to the label value 'other' because a series had too many label values. 0: every "
    "label is exact. More: sums stay right, but some names are missing; look for names that keep changing.",
    ("series",),
    series.CARDINALITY_LIMITED,
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
    CONNECT_TASK_STATE,
    TASK_TIMEOUTS,
    DELIVERY_TIMEOUT_BATCHES,
    DELIVERY_TIMEOUT_RECORDS,
    CLIENT_TIMEOUTS,
    RETRY_BACKOFF_MISCONFIGURED,
    EVENTS,
    QUARANTINED,
    CARDINALITY_LIMITED,
    SOURCE_UP,
    PIPELINE_LAG,
    BATCH_DURATION,
    STORE_UP,
    BUILD_INFO,
)
