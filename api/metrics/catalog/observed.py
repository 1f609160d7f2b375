"""Metrics of what is observed in Kafka: dead letter topics, share groups, Connect, Streams, clients."""

from typing import Final

from api.metrics import Metric, counter, declared, kept
from deadwatch.contract import signals
from deadwatch.store import series

DEAD_LETTERS: Final = kept(
    "deadwatch_dead_letter_queue_records_total",
    "Records seen on dead letter topics. 0: nothing was given up since the topic is watched. More: each is a "
    "record that a consumer did not process; find the cause in /api/v1/dead-letters/groups.",
    series.DEAD_LETTERS,
)
DEAD_LETTER_BACKLOG: Final = Metric(
    "deadwatch_dead_letter_queue_backlog_records",
    "Records that are on a dead letter topic now, read by somebody or not. 0: it is empty. More: they wait "
    "for somebody, and retention deletes them unseen; find their causes in /api/v1/dead-letters/groups.",
    ("kafka_cluster", "dlq_topic"),
)
DEAD_LETTER_OLDEST: Final = Metric(
    "deadwatch_dead_letter_queue_oldest_record_timestamp_seconds",
    "Time of the first record that is on a dead letter topic; an empty one has no sample. time() minus this "
    "is how long it waits: handle it before the topic's retention.ms is over, then it is lost.",
    ("kafka_cluster", "dlq_topic"),
)
DEAD_LETTERS_WAITING: Final = Metric(
    "deadwatch_dead_letter_queue_waiting_records",
    "Dead letters that no redrive has moved or parked and that may still lie on their topic. shelf is "
    "archived for those of archived causes, which call nobody, else active. 0: all are handled or gone. More:"
    " they wait for somebody; find their causes in /api/v1/dead-letters/groups.",
    ("kafka_cluster", "dlq_topic", "shelf"),
)
SHARE_RECORDS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_record_count",
    "Dead letters that a broker says it has written for a share group, added up over its restarts. 0: none. "
    "More than deadwatch_dead_letter_queue_records_total has for the group: a topic is not read or was cut.",
    ("kafka_cluster", "consumergroup", "broker"),
)
SHARE_REQUESTS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_produce_requests_total",
    "Attempts of a broker to write dead letters of a share group. 0: none was due. More: one attempt may "
    "hold several records; compare with the failed ones.",
    ("kafka_cluster", "consumergroup", "broker"),
)
SHARE_FAILED_REQUESTS: Final = Metric(
    "deadwatch_share_group_dead_letter_queue_failed_produce_requests_total",
    "Attempts of a broker to write dead letters of a share group that failed. 0: none that it counts; a "
    "topic that is missing or not enabled is only in its log. More: records may be lost; read that log.",
    ("kafka_cluster", "consumergroup", "broker"),
)
SHARE_DEAD_LETTERS_LOST: Final = counter(signals.SHARE_DEAD_LETTERS_LOST)


_TASK: Final = ("kafka_cluster", "worker", "connector", "task")
"""Labels of most metrics here."""

ABANDONED_TASKS: Final = Metric(
    "deadwatch_connect_abandoned_tasks",
    "Instances of a task that its Connect worker has let go of and that still run. 0: all have ended. More: "
    "they hold threads, connections and locks; find what blocks them, or restart the worker.",
    _TASK,
)
ABANDONED_TASKS_TOTAL: Final = Metric(
    "deadwatch_connect_abandoned_tasks_total",
    "Instances of a task that its Connect worker had to abandon, ended or not. 0: every stop was graceful. "
    "More: the task did not stop in time; look at what its connector does while it stops.",
    _TASK,
)
ABANDONED_CONNECTORS: Final = Metric(
    "deadwatch_connect_abandoned_connectors",
    "Instances of a connector that its Connect worker has let go of and that still run. 0: all have ended. "
    "More: they hold resources of the worker; correct or remove the connector, then restart the worker.",
    ("kafka_cluster", "worker", "connector"),
)
ABANDONED_CONNECTORS_TOTAL: Final = Metric(
    "deadwatch_connect_abandoned_connectors_total",
    "Instances of a connector that its Connect worker had to abandon, ended or not. 0: every stop was "
    "graceful. More: the connector did not stop in time; look at what it does while it starts and stops.",
    ("kafka_cluster", "worker", "connector"),
)
ABANDONED_DISAGREEMENT: Final = Metric(
    "deadwatch_connect_abandoned_disagreement",
    "Abandoned instances by a worker's threads minus those by its log; figure is current or total, task is "
    "empty for a connector. 0: they agree. More, for long: the log is not read whole. Less: it does not tell "
    "of an end (trust the threads), or an instance ended between two looks (trust the log).",
    ("kafka_cluster", "worker", "connector", "task", "figure"),
)
CONNECT_TASK_STATE: Final = Metric(
    "deadwatch_connect_task_state",
    "1 for the state that Connect's REST API tells of a task now; no other state has a sample, nor has a "
    "task whose cluster cannot be asked. With FAILED: read the trace, fix the cause, restart the task. With "
    "RUNNING_WITHOUT_THREAD: REST says RUNNING, no thread of the worker runs it; restart the task.",
    ("kafka_cluster", "worker", "connector", "task", "state"),
)
CONNECT_CONNECTOR_STATE: Final = Metric(
    "deadwatch_connect_connector_state",
    "1 for the state that Connect's REST API tells of a connector itself now; no sample where its cluster "
    "cannot be asked. With state FAILED: its tasks get no new configuration; read the trace, restart it.",
    ("kafka_cluster", "worker", "connector", "state"),
)
CONNECT_TASK_STALLED: Final = Metric(
    "deadwatch_connect_task_stalled",
    "1: REST calls the task RUNNING, records wait for it and nothing moves. 0: it gets on, is idle or does "
    "not run. None: its cluster cannot be asked. /api/v1/connect/tasks says since when and by what sign; "
    "look at what it waits for, restart it.",
    ("kafka_cluster", "connector", "task"),
)
CONNECT_RECORD_FAILURES: Final = Metric(
    "deadwatch_connect_task_record_failures_total",
    "Operations on records that failed in a Connect task, retried ones included. 0: none failed. More: read "
    "the worker's log, with errors.log.enable it names each; look at converter, transformations and target.",
    _TASK,
)
CONNECT_RECORD_ERRORS: Final = Metric(
    "deadwatch_connect_task_record_errors_total",
    "Operations on records that a Connect task could not do, retries included. 0: all succeeded in the end. "
    "More: each record was skipped or failed the task; fix the cause, then re-drive its dead letters.",
    _TASK,
)
CONNECT_RECORDS_SKIPPED: Final = Metric(
    "deadwatch_connect_task_records_skipped_total",
    "Records that a Connect task passed over because of errors. 0: none. More than it sent to its dead "
    "letter queue: the rest is lost without a trace; set errors.deadletterqueue.topic.name on a sink.",
    _TASK,
)
CONNECT_RETRIES: Final = Metric(
    "deadwatch_connect_task_retries_total",
    "Operations that a Connect task tried again. 0: none had to be. More: what it depends on fails at times; "
    "look there, then at errors.retry.timeout.",
    _TASK,
)
CONNECT_ERRORS_LOGGED: Final = Metric(
    "deadwatch_connect_task_errors_logged_total",
    "Errors that a Connect task wrote to its worker's log. 0: none, or errors.log.enable is off. More: the "
    "log says of each which record and stage it was.",
    _TASK,
)
CONNECT_DLQ_REQUESTS: Final = Metric(
    "deadwatch_connect_task_deadletterqueue_produce_requests_total",
    "Records that a Connect sink tried to write to its dead letter queue. 0: none was due. More: find their "
    "causes in /api/v1/dead-letters/groups.",
    _TASK,
)
CONNECT_DLQ_FAILURES: Final = Metric(
    "deadwatch_connect_task_deadletterqueue_produce_failures_total",
    "Dead letters of a Connect sink that could not be written. 0: none. More: these records are on no topic; "
    "look at the queue's existence, its leaders and the worker's permission to Write.",
    _TASK,
)
CONNECT_LAST_ERROR: Final = Metric(
    "deadwatch_connect_task_last_error_timestamp_seconds",
    "Time of the last error of a Connect task by its bean; one without any has no sample. time() minus this "
    "is how long it has gone well; near 0: it fails now.",
    _TASK,
)

TASK_TIMEOUTS: Final = counter(signals.TASK_TIMEOUTS)
TASK_TIMERS: Final = Metric(
    "deadwatch_task_timers",
    "Kafka Streams tasks whose timer of task.timeout.ms runs: a call timed out and no progress was seen "
    "since. 0: all move. More: in time it ends in a timeout; /api/v1/tasks names the calls that wait.",
    ("kafka_cluster", "application"),
)
TASKS_CORRUPTED: Final = counter(signals.TASKS_CORRUPTED)
STREAM_THREAD_DEATHS: Final = counter(signals.STREAM_THREAD_DEATHS)
DELIVERY_TIMEOUT_BATCHES: Final = counter(signals.DELIVERY_TIMEOUT_BATCHES)
DELIVERY_TIMEOUT_RECORDS: Final = counter(signals.DELIVERY_TIMEOUT_RECORDS)
CLIENT_TIMEOUTS: Final = counter(signals.CLIENT_TIMEOUTS)
RETRY_BACKOFF_MISCONFIGURED: Final = counter(signals.RETRY_BACKOFF_MISCONFIGURED)
FINDINGS: Final = Metric(
    "deadwatch_findings",
    "1 while a configuration would lose or strand records. No sample: nothing is known to be wrong, or it "
    "was fixed. 1: read in /api/v1/findings what would be lost, and change exactly what it says.",
    ("kafka_cluster", "kind", "subject"),
)

OBSERVED_METRICS: Final = declared(vars())
