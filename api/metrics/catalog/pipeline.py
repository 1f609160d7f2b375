"""Metrics of this service's own work: collectors, redrives, streaming, the store and the api."""

from typing import Final

from api.metrics import Metric, declared, kept
from deadwatch.store import series

COLLECTOR_DEAD_LETTERS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_records_total",
    "Dead letters that a collector has written to our own queue: input it could not read, events no broker "
    "took. 0: none was due. More: see why in their header __dlq.errors.message, topic dlq.deadwatch.",
    ("kafka_cluster", "collector"),
)
COLLECTOR_DEAD_LETTER_REQUESTS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_produce_requests_total",
    "Attempts of a collector to write dead letters of its own. 0: none was due. More: one attempt may hold "
    "several letters; compare with the failed ones.",
    ("kafka_cluster", "collector"),
)
COLLECTOR_DEAD_LETTER_FAILED_REQUESTS: Final = Metric(
    "deadwatch_collector_dead_letter_queue_failed_produce_requests_total",
    "Attempts of a collector to write dead letters that failed. 0: all went well. More: it tries again for "
    "a while; see the lost ones, and whether the queue exists and may be written.",
    ("kafka_cluster", "collector"),
)
COLLECTOR_DEAD_LETTERS_LOST: Final = Metric(
    "deadwatch_collector_dead_letters_lost_total",
    "Dead letters of its own that a collector has given up. 0: none. More: deadwatch_quarantined_total still "
    "counts them, what they held is only in the collector's log; fix what that names.",
    ("kafka_cluster", "collector"),
)
COLLECTOR_ABANDONED_TASKS: Final = Metric(
    "deadwatch_collector_abandoned_tasks",
    "Instances of a collector's source that were abandoned and still run. 0 or no sample: none. More: the "
    "thread is blocked in a read; a restart of the collector ends it, what it reads from is at fault.",
    ("kafka_cluster", "collector", "task"),
)
COLLECTOR_ABANDONED_TASKS_TOTAL: Final = Metric(
    "deadwatch_collector_abandoned_tasks_total",
    "Instances of a collector's source that did not stop in time, ended or not. No sample or 0: none. More: "
    "see what the source reads from, then connector_shutdown_graceful_timeout_ms.",
    ("kafka_cluster", "collector", "task"),
)
COLLECTOR_ABANDONED_CONNECTORS: Final = Metric(
    "deadwatch_collector_abandoned_connectors",
    "As deadwatch_collector_abandoned_tasks, of sources that start others, such as a pattern of log files. 0 "
    "or no sample: none. More: looking for files is blocked; see the file system.",
    ("kafka_cluster", "collector", "connector"),
)
COLLECTOR_ABANDONED_CONNECTORS_TOTAL: Final = Metric(
    "deadwatch_collector_abandoned_connectors_total",
    "As deadwatch_collector_abandoned_tasks_total, of sources that start others. No sample or 0: none. More: "
    "see the file system, then connector_shutdown_graceful_timeout_ms.",
    ("kafka_cluster", "collector", "connector"),
)
REDRIVE_RECORDS: Final = kept(
    "deadwatch_redrive_records_total",
    "Records that redrives have dealt with, by outcome: sent, parked, skipped, failed, bounced. 0: none was. "
    "More: bounced ones came back, so fix the cause first; /api/v1/redrives tells the reasons.",
    series.REDRIVE_RECORDS,
)
REDRIVE_JOBS: Final = Metric(
    "deadwatch_redrive_jobs",
    "Redrive orders by state, dry runs not among them. PAUSED above 0: one waits for somebody; its "
    "status_reason in /api/v1/redrives says for what. CANCELLING that stays: no worker runs.",
    ("status",),
)
REDRIVE_STUCK: Final = Metric(
    "deadwatch_redrive_stuck_jobs",
    "Redrive orders that move nothing, by state. 0: none. PAUSED: all, they wait for somebody. CANCELLING: "
    "all, they wait for a worker. RUNNING: those without an outcome for 15 minutes, unless their records "
    "wait for a backoff or are moved by Spark, or the worker is at other orders first. No worker takes them, "
    "or their target is away.",
    ("status",),
)
PARKED_BACKLOG: Final = Metric(
    "deadwatch_redrive_parked_backlog_records",
    "Records that redrives have parked and not moved on since, by the dead letter topic they were on; no "
    "more than the offsets of its .parked topic. 0: none waits. More: their attempts are used up and nobody "
    "tries again; look at them by hand.",
    ("kafka_cluster", "dlq_topic"),
)
EVENTS: Final = kept(
    "deadwatch_events_total",
    "Events counted, by the source that saw them and their kind. 0: the source was never heard. No growth "
    "while deadwatch_source_up is 1: nothing happens there.",
    series.EVENTS,
)
QUARANTINED: Final = kept(
    "deadwatch_quarantined_total",
    "Input that could not be read and was put aside. 0: everything was understood. More: it is in no other "
    "metric; where it stood and why it was refused are in headers on the topic dlq.deadwatch.",
    series.QUARANTINED,
)
RECORDS_READ: Final = kept(
    "deadwatch_records_read_total",
    "Events and dead letters that streaming has read and counted. 0: nothing was on its topics. No growth: "
    "nothing happens, or nothing arrives; deadwatch_source_up tells which.",
    series.RECORDS_READ,
)
RECORDS_MISSED: Final = kept(
    "deadwatch_records_missed_total",
    "Records that Kafka deleted before streaming read them, markers of transactions among them. 0: none. "
    "More: retention is too short or streaming was away (deleted_unread), or the topic was deleted.",
    series.RECORDS_MISSED,
)
CARDINALITY_LIMITED: Final = kept(
    "deadwatch_cardinality_limited_total",
    "Counts that went to the label value 'other' because a series had too many label values. 0: every "
    "label is exact. More: sums stay right, but some names are missing; look for names that keep changing.",
    series.CARDINALITY_LIMITED,
)
BUCKETS_SHARED: Final = kept(
    "deadwatch_buckets_shared_total",
    "Counts of a series that has more label values than time buckets: charts show the rest as 'other'. 0: "
    "every line is its own. More: totals keep all labels; raise max_bucketed_series if lines are missed.",
    series.BUCKETS_SHARED,
)
SOURCE_UP: Final = Metric(
    "deadwatch_source_up",
    "1: the source works and was heard lately. 0: it failed or is silent, and what happens there is not "
    "seen now; /api/v1/overview says why. All at 0: Kafka, the collector or streaming is away.",
    ("source", "kind"),
)
PIPELINE_LAG: Final = Metric(
    "deadwatch_pipeline_lag_seconds",
    "How far what is counted lies behind what came, of events or of dead letters, whichever is further. "
    "Near 0: figures are as good as live, or nothing comes. Growing: streaming does not keep up, or hangs; "
    "give it more cores or bigger fetches, or start it anew.",
)
BATCH_DURATION: Final = Metric(
    "deadwatch_batch_duration_seconds",
    "How long streaming read its last batch; neither the wait for another batch nor the store is in it. "
    "Near 0: idle or fast. Above a few seconds: look at the size of the batches and at its cores.",
)
BATCH_PHASE_DURATION: Final = Metric(
    "deadwatch_batch_phase_duration_seconds",
    "How long the phases of a recent batch with records took, by Spark's names. addBatch reads, counts and "
    "writes the store, where a large batch waits only for the one before it; latestOffset is Kafka; "
    "walCommit and commitOffsets are the disk of the checkpoint.",
    ("phase",),
)
BATCH_FAILURES: Final = kept(
    "deadwatch_batch_failures_total",
    "Times the query failed and began again where it was, by cause: kafka or query. 0: never. More: nothing "
    "is lost or counted twice, but figures were late; streaming's log has a line for each.",
    series.BATCH_FAILURES,
)
STREAM_BEHIND: Final = Metric(
    "deadwatch_stream_behind_records",
    "Offsets of a topic that streaming had still to read at its last look. 0: all is counted. Growing: it "
    "does not keep up; give it more cores, or see whether it is up at all.",
    ("topic",),
)
STREAM_RATE: Final = Metric(
    "deadwatch_stream_records_per_second",
    "How fast a recent batch with records was worked through. It says little while batches are small; on a "
    "backlog, deadwatch_stream_behind_records by this is the time it takes.",
)
STORE_UP: Final = Metric(
    "deadwatch_store_up",
    "1: this scrape read the whole store. 0: it could not, and what it could not complete has no samples; "
    "/readyz or the log says why. A metric without samples while this is 1: there is nothing to count.",
)
BUILD_INFO: Final = Metric(
    "deadwatch_build_info", "Always 1; the labels say which version answers.", ("version",)
)

PIPELINE_METRICS: Final = declared(vars())
