"""What Prometheus has to make of the rules: for each alert, series, a moment, and who is told of it."""

from collections.abc import Mapping
from dataclasses import dataclass

Series = Mapping[str, str]
"""Values by series, as promtool notes them; the job is added, and a store that is read whole."""

UP = "1x2000"
STORE = 'deadwatch_store_up{job="deadwatch", instance="a"}'
DLQ = 'kafka_cluster="c", dlq_topic="dlq.a"'
LETTERS = f'deadwatch_dead_letter_queue_records_total{{{DLQ}, error_class="E"}}'
POD_A, POD_B = (LETTERS.replace("}", f', instance="{pod}"}}') for pod in "ab")
BACKLOG = f"deadwatch_dead_letter_queue_backlog_records{{{DLQ}}}"
OLDEST = f"deadwatch_dead_letter_queue_oldest_record_timestamp_seconds{{{DLQ}}}"
SENT = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a", outcome="sent"}}'
BOUNCED = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a", outcome="bounced"}}'
PARKED = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a.parked", outcome="parked"}}'
SHARE_LOST = 'deadwatch_share_group_dead_letters_lost_total{kafka_cluster="c", consumergroup="g"}'
SHARE = 'kafka_cluster="c", consumergroup="g", broker="1"'
SHARE_FAILED = f"deadwatch_share_group_dead_letter_queue_failed_produce_requests_total{{{SHARE}}}"
SHARE_COUNT = f"deadwatch_share_group_dead_letter_queue_record_count{{{SHARE}}}"
SHARE_SEEN = (
    f'deadwatch_dead_letter_queue_records_total{{{DLQ}, dialect="share_group", '
    'consumergroup="g", error_class="E"}'
)
TASK = 'kafka_cluster="c", worker="w", connector="n", task="0"'
CONNECTOR = 'kafka_cluster="c", worker="w", connector="n"'
DLQ_FAILED = f"deadwatch_connect_task_deadletterqueue_produce_failures_total{{{TASK}}}"
DLQ_WRITTEN = f"deadwatch_connect_task_deadletterqueue_produce_requests_total{{{TASK}}}"
SKIPPED = f"deadwatch_connect_task_records_skipped_total{{{TASK}}}"
ABANDONED = f"deadwatch_connect_abandoned_tasks{{{TASK}}}"
ABANDONED_TOTAL = f"deadwatch_connect_abandoned_tasks_total{{{TASK}}}"
CONNECTORS = f"deadwatch_connect_abandoned_connectors{{{CONNECTOR}}}"
CONNECTORS_TOTAL = f"deadwatch_connect_abandoned_connectors_total{{{CONNECTOR}}}"
STALLED = 'deadwatch_connect_task_stalled{kafka_cluster="c", connector="n", task="0"}'
STREAMS = 'kafka_cluster="c", application="words"'
TIMEOUTS = f'deadwatch_task_timeouts_total{{{STREAMS}, task="0_0"}}'
TIMERS = f"deadwatch_task_timers{{{STREAMS}}}"
DEATHS = f'deadwatch_stream_thread_deaths_total{{{STREAMS}, decision="SHUTDOWN_CLIENT"}}'
EXPIRED = (
    'deadwatch_delivery_timeout_records_total{kafka_cluster="c", topic="t", client_id="p", client="java"}'
)
BACKOFF = 'deadwatch_retry_backoff_misconfigured_total{kafka_cluster="c", client_id="p"}'
LOSES = 'deadwatch_findings{kafka_cluster="c", kind="connect_silent_loss", subject="connector:n"}'
STRANDS = 'deadwatch_findings{kafka_cluster="c", kind="dlq_not_read", subject="topic:t"}'
SOURCE = 'deadwatch_source_up{source="log:/a", kind="log"}'
LAG = "deadwatch_pipeline_lag_seconds"
BEHIND = 'deadwatch_stream_behind_records{topic="t"}'
BATCHES = 'deadwatch_batch_failures_total{cause="kafka"}'
ASIDE = 'deadwatch_quarantined_total{source="log:/a", reason="broken"}'
MISSED = 'deadwatch_records_missed_total{kafka_cluster="c", topic="t", reason="deleted_unread"}'
OWN_LOST = 'deadwatch_collector_dead_letters_lost_total{kafka_cluster="c", collector="k"}'
PAUSED = 'deadwatch_redrive_jobs{status="PAUSED"}'
RUNNING = 'deadwatch_redrive_jobs{status="RUNNING"}'

ON_TOPIC = {"kafka_cluster": "c", "dlq_topic": "dlq.a"}
OF_GROUP = {"kafka_cluster": "c", "consumergroup": "g"}
OF_CONNECTOR = {"kafka_cluster": "c", "connector": "n"}
OF_TASK = {"kafka_cluster": "c", "worker": "w", "connector": "n", "task": "0"}
OF_APPLICATION = {"kafka_cluster": "c", "application": "words"}


@dataclass(frozen=True)
class Case:
    """At ``at`` the alert fires with these labels and this summary; with no ``labels`` it is silent."""

    alert: str
    name: str
    series: Series
    at: str
    labels: Mapping[str, str] | None = None
    value: str = ""
    summary: str = ""
    store: str = UP
    window: str = ""


def counter(alert: str, series: str, labels: Mapping[str, str], summary: str) -> list[Case]:
    """What holds for every alert on a counter: a series that first appears counts wholly, an old one not."""
    first, quiet = 5, "80m"
    appears, grows = f"_x9 {first}x300", f"100x9 {100 + first}x300"
    there = f"{first}x300"
    reset = f"{first}x9 0x300"
    return [
        Case(
            alert,
            "fires on a series that first appears",
            {series: appears},
            "11m",
            labels,
            str(first),
            summary,
        ),
        Case(alert, "fires on growth", {series: grows}, "11m", labels, str(first), ""),
        Case(alert, "resolves when nothing more happens", {series: grows}, quiet),
        Case(alert, "is silent while idle", {series: there}, "11m"),
        Case(alert, "is silent on a reset", {series: reset}, "11m"),
        Case(alert, "is silent without series", {}, "11m"),
        Case(
            alert,
            "is silent when a long-lived service is first scraped",
            {series: f"_x9 {first}x300"},
            "11m",
            store="_x9 1x300",
        ),
        Case(
            alert,
            "is silent when Prometheus was away",
            {series: f"{first}x3 _x6 {first}x300"},
            "11m",
            store="1x3 _x6 1x300",
        ),
    ]


def gauge(
    alert: str, series: str, labels: Mapping[str, str], value: str, summary: str, *, wait_m: int
) -> list[Case]:
    """What holds for every alert on a gauge that is 0 when all is well."""
    raised = f"0x9 {value}x20 0x60"
    return [
        Case(alert, "fires after its time", {series: raised}, f"{11 + wait_m}m", labels, value, summary),
        Case(alert, "resolves", {series: raised}, "40m"),
        Case(alert, "is silent at 0", {series: "0x90"}, "30m"),
        Case(alert, "is silent without series", {}, "30m"),
        *(
            [Case(alert, "is silent on a blink", {series: f"0x9 {value}x0 0x60"}, f"{11 + wait_m}m")]
            if wait_m
            else []
        ),
    ]


CASES: list[Case] = [
    *counter("DeadwatchDeadLetters", LETTERS, ON_TOPIC, "5 new dead letters on dlq.a"),
    *counter(
        "DeadwatchShareGroupDeadLettersLost", SHARE_LOST, OF_GROUP, "Dead letters of share group g are lost"
    ),
    *counter(
        "DeadwatchShareGroupWritesFail",
        SHARE_FAILED,
        OF_GROUP,
        "Dead letters of share group g cannot be written",
    ),
    *counter(
        "DeadwatchConnectDeadLetterWritesFail",
        DLQ_FAILED,
        OF_CONNECTOR,
        "Dead letters of connector n are lost",
    ),
    *counter(
        "DeadwatchConnectRecordsSkipped",
        SKIPPED,
        OF_CONNECTOR,
        "Connector n skipped 5 records without a dead letter",
    ),
    Case(
        "DeadwatchConnectRecordsSkipped",
        "is silent when each has its dead letter",
        {SKIPPED: "0x9 5x60", DLQ_WRITTEN: "0x9 5x60"},
        "11m",
    ),
    *counter("DeadwatchTaskTimeouts", TIMEOUTS, OF_APPLICATION, "5 tasks of words timed out"),
    *counter(
        "DeadwatchStreamThreadDied",
        DEATHS,
        {**OF_APPLICATION, "decision": "SHUTDOWN_CLIENT"},
        "5 stream threads of words died: SHUTDOWN_CLIENT",
    ),
    *counter(
        "DeadwatchDeliveryTimeouts",
        EXPIRED,
        {"kafka_cluster": "c", "topic": "t", "client_id": "p"},
        "5 records to t expired at p",
    ),
    *counter(
        "DeadwatchBackoffMisconfigured",
        BACKOFF,
        {"kafka_cluster": "c", "client_id": "p"},
        "Client p backs off by a constant time",
    ),
    *counter(
        "DeadwatchAbandonedGrowing",
        ABANDONED_TOTAL,
        {"kafka_cluster": "c", "worker": "w"},
        "Worker w abandoned 5 instances within the hour",
    ),
    Case(
        "DeadwatchAbandonedGrowing",
        "adds tasks and connectors",
        {ABANDONED_TOTAL: "_x9 2x60", CONNECTORS_TOTAL: "_x9 1x60"},
        "11m",
        {"kafka_cluster": "c", "worker": "w"},
        "3",
        "Worker w abandoned 3 instances within the hour",
    ),
    Case("DeadwatchAbandonedGrowing", "bears two", {ABANDONED_TOTAL: "_x9 2x60"}, "11m"),
    *counter("DeadwatchRecordsParked", PARKED, ON_TOPIC, "5 records of dlq.a were parked"),
    *counter(
        "DeadwatchBatchFailing",
        BATCHES,
        {"job": "deadwatch", "cause": "kafka"},
        "Batches of Deadwatch failed 5 times (kafka)",
    ),
    Case("DeadwatchBatchFailing", "bears one", {BATCHES: "_x9 1x60"}, "11m"),
    *counter(
        "DeadwatchInputPutAside",
        ASIDE,
        {"source": "log:/a", "reason": "broken"},
        "5 entries of log:/a could not be read (broken)",
    ),
    *counter(
        "DeadwatchRecordsMissed",
        MISSED,
        {"kafka_cluster": "c", "topic": "t", "reason": "deleted_unread"},
        "5 records of t were gone before they were read",
    ),
    *counter(
        "DeadwatchCollectorLosesDeadLetters",
        OWN_LOST,
        {"kafka_cluster": "c", "collector": "k"},
        "Collector k gave up 5 dead letters of its own",
    ),
    *gauge(
        "DeadwatchTaskAbandoned",
        ABANDONED,
        OF_TASK,
        "2",
        "Task 0 of connector n was abandoned and still runs",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchConnectorAbandoned",
        CONNECTORS,
        {"kafka_cluster": "c", "worker": "w", "connector": "n"},
        "1",
        "Connector n was abandoned and still runs",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchTaskStalled",
        STALLED,
        {"kafka_cluster": "c", "connector": "n", "task": "0"},
        "1",
        "Task 0 of connector n is RUNNING and does not move",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchTaskTimersRunning",
        TIMERS,
        OF_APPLICATION,
        "3",
        "3 tasks of words wait without progress",
        wait_m=2,
    ),
    *gauge(
        "DeadwatchRecordsWillBeLost",
        LOSES,
        {"kafka_cluster": "c", "kind": "connect_silent_loss", "subject": "connector:n"},
        "1",
        "connector:n: dead letters will be lost (connect_silent_loss)",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchFinding",
        STRANDS,
        {"kafka_cluster": "c", "kind": "dlq_not_read", "subject": "topic:t"},
        "1",
        "topic:t: dead letters are at risk (dlq_not_read)",
        wait_m=5,
    ),
    *gauge(
        "DeadwatchRedriveStuck",
        PAUSED,
        {"job": "deadwatch", "status": "PAUSED"},
        "1",
        "1 redrives are PAUSED and move nothing",
        wait_m=15,
    ),
    Case("DeadwatchRecordsWillBeLost", "leaves milder findings alone", {STRANDS: "1x60"}, "30m"),
    Case("DeadwatchFinding", "leaves losses to the other", {LOSES: "1x60"}, "30m"),
    Case(
        "DeadwatchRedriveStuck",
        "fires when an order runs and moves nothing",
        {RUNNING: "1x60", SENT: "7x60"},
        "40m",
        {"job": "deadwatch", "status": "RUNNING"},
        "1",
        "1 redrives are RUNNING and move nothing",
    ),
    Case("DeadwatchRedriveStuck", "is silent while records move", {RUNNING: "1x60", SENT: "7+1x60"}, "40m"),
    Case(
        "DeadwatchDeadLetters",
        "counts to the record, however scrapes lie",
        {LETTERS: "0x20 7x4 8x40"},
        "27m",
        ON_TOPIC,
        "8",
        "8 new dead letters on dlq.a",
    ),
    Case(
        "DeadwatchDeadLetters",
        "counts what came while one pod followed another",
        {POD_A: "3x9", POD_B: "_x10 5x60"},
        "14m",
        ON_TOPIC,
        "2",
        "2 new dead letters on dlq.a",
        window="10m",
    ),
    Case(
        "DeadwatchDeadLetters",
        "counts nothing when a pod follows another",
        {POD_A: "3x9", POD_B: "_x10 3x60"},
        "14m",
        window="10m",
    ),
    Case(
        "DeadwatchDeadLetters",
        "counts two replicas once",
        {POD_A: "0x9 3x60", POD_B: "0x9 3x60"},
        "14m",
        ON_TOPIC,
        "3",
        "3 new dead letters on dlq.a",
    ),
    Case(
        "DeadwatchNewErrorClass",
        "fires on a class that the topic did not know",
        {LETTERS: "_x9 5x60"},
        "11m",
        {**ON_TOPIC, "error_class": "E"},
        "5",
        "E is new on dlq.a",
    ),
    Case("DeadwatchNewErrorClass", "is silent on more of a known class", {LETTERS: "1x9 6x60"}, "11m"),
    Case(
        "DeadwatchNewErrorClass",
        "is silent on a known class from another topic",
        {LETTERS: "1x60", LETTERS.replace('"E"', '"E", source_topic="x"'): "_x9 5x60"},
        "11m",
    ),
    Case("DeadwatchNewErrorClass", "resolves once it is known", {LETTERS: "_x9 5x60"}, "40m"),
    Case("DeadwatchNewErrorClass", "is silent on a reset", {LETTERS: "5x9 0x60"}, "11m"),
    Case(
        "DeadwatchNewErrorClass",
        "is silent when Prometheus sees the service for the first time",
        {LETTERS: "_x9 5x60"},
        "11m",
        store="_x9 1x60",
    ),
    Case("DeadwatchNewErrorClass", "is silent without series", {}, "11m"),
    Case(
        "DeadwatchDeadLetterTooOld",
        "fires when a record waits for longer than a day",
        {OLDEST: "0x2000", BACKLOG: "5x2000", LETTERS: "5x2000"},
        "25h",
        ON_TOPIC,
        "1d 1h 0m 0s",
        "A dead letter on dlq.a waits for 1d 1h 0m 0s",
    ),
    Case(
        "DeadwatchDeadLetterTooOld",
        "is silent when every record was put back or parked",
        {OLDEST: "0x2000", BACKLOG: "5x2000", LETTERS: "5x2000", SENT: "3x2000", PARKED: "2x2000"},
        "25h",
    ),
    Case(
        "DeadwatchDeadLetterTooOld",
        "resolves when the rest is put back",
        {OLDEST: "0x2000", BACKLOG: "5x2000", LETTERS: "5x2000", SENT: "3x1500 5x500"},
        "26h",
    ),
    Case(
        "DeadwatchDeadLetterTooOld",
        "is silent while it is young",
        {OLDEST: "0x2000", BACKLOG: "5x2000", LETTERS: "5x2000"},
        "23h",
    ),
    Case("DeadwatchDeadLetterTooOld", "is silent on an empty topic", {BACKLOG: "0x2000"}, "25h"),
    Case(
        "DeadwatchDeadLettersNobodyHandles",
        "fires when nothing is put back for hours",
        {BACKLOG: "0x9 5x900", LETTERS: "0x9 5x900", SENT: "0x900"},
        "7h",
        ON_TOPIC,
        "5",
        "Nobody handles the 5 dead letters on dlq.a",
    ),
    Case(
        "DeadwatchDeadLettersNobodyHandles",
        "is silent while some are put back",
        {BACKLOG: "5x900", LETTERS: "5x900", SENT: "0x300 1x600"},
        "7h",
    ),
    Case(
        "DeadwatchDeadLettersNobodyHandles",
        "is silent when all are handled, however long ago",
        {BACKLOG: "5x900", LETTERS: "5x900", SENT: "5x900"},
        "7h",
    ),
    Case(
        "DeadwatchDeadLettersNobodyHandles",
        "resolves when somebody empties the topic",
        {BACKLOG: "5x600 0x300", LETTERS: "5x900"},
        "11h",
    ),
    Case(
        "DeadwatchDeadLettersNobodyHandles",
        "is silent when they are new",
        {BACKLOG: "5x900", LETTERS: "5x900"},
        "5h",
    ),
    Case(
        "DeadwatchShareGroupCountsDisagree",
        "fires when brokers wrote more than arrived",
        {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "10x99 23x300"},
        "2h",
        OF_GROUP,
        "7",
        "7 dead letters of share group g are on no topic",
    ),
    Case(
        "DeadwatchShareGroupCountsDisagree",
        "is silent while they agree",
        {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "4x99 24x300"},
        "2h",
    ),
    Case(
        "DeadwatchShareGroupCountsDisagree",
        "is silent on what differs since before",
        {SHARE_COUNT: "30x300", SHARE_SEEN: "10x300"},
        "2h",
    ),
    Case(
        "DeadwatchShareGroupCountsDisagree",
        "resolves an hour after",
        {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "10x99 23x300"},
        "3h",
    ),
    Case("DeadwatchShareGroupCountsDisagree", "is silent without series", {}, "2h"),
    Case(
        "DeadwatchRedriveBounces",
        "fires when more than a fifth comes back",
        {SENT: "0x9 10x60", BOUNCED: "0x9 4x60"},
        "16m",
        ON_TOPIC,
        "40%",
        "40% of what is put back from dlq.a comes back",
    ),
    Case(
        "DeadwatchRedriveBounces",
        "is silent when little comes back",
        {SENT: "0x9 10x60", BOUNCED: "0x9 1x60"},
        "16m",
    ),
    Case("DeadwatchRedriveBounces", "is silent while idle", {SENT: "10x60", BOUNCED: "4x60"}, "16m"),
    Case("DeadwatchRedriveBounces", "resolves", {SENT: "0x9 10x300", BOUNCED: "0x9 4x300"}, "90m"),
    Case("DeadwatchRedriveBounces", "is silent without series", {}, "16m"),
    Case(
        "DeadwatchDown",
        "fires when nothing is scraped",
        {},
        "6m",
        {},
        "1",
        "Deadwatch is not scraped",
        store="_x60",
    ),
    Case("DeadwatchDown", "is silent while it is scraped", {}, "6m"),
    Case("DeadwatchDown", "resolves", {}, "20m", store="_x9 1x60"),
    Case("DeadwatchDown", "is silent over a restart", {}, "12m", store="1x9 _x3 1x60"),
    Case(
        "DeadwatchStoreUnreadable",
        "fires when the store cannot be read",
        {},
        "13m",
        {"job": "deadwatch"},
        "0",
        "Deadwatch cannot read its store",
        store="1x9 0x60",
    ),
    Case("DeadwatchStoreUnreadable", "is silent while it can", {}, "13m"),
    Case("DeadwatchStoreUnreadable", "resolves", {}, "20m", store="1x3 0x9 1x60"),
    Case(
        "DeadwatchSourceDown",
        "fires when a source is down",
        {SOURCE: "1x9 0x60"},
        "16m",
        {"source": "log:/a", "kind": "log"},
        "0",
        "Deadwatch does not see log:/a",
    ),
    Case("DeadwatchSourceDown", "is silent while it is up", {SOURCE: "1x60"}, "16m"),
    Case("DeadwatchSourceDown", "is silent on a blink", {SOURCE: "1x9 0x1 1x60"}, "16m"),
    Case("DeadwatchSourceDown", "resolves", {SOURCE: "0x20 1x60"}, "30m"),
    Case("DeadwatchSourceDown", "is silent without series", {}, "16m"),
    Case(
        "DeadwatchPipelineLagging",
        "fires when streaming does not keep up",
        {LAG: "0x9 120x60", BEHIND: "0x9 5000x60"},
        "16m",
        {"job": "deadwatch"},
        "2m 0s",
        "Deadwatch is 2m 0s behind",
    ),
    Case(
        "DeadwatchPipelineLagging",
        "is silent when the last batch was late and all is read",
        {LAG: "120x60", BEHIND: "0x60"},
        "16m",
    ),
    Case("DeadwatchPipelineLagging", "resolves", {LAG: "120x20 0x60", BEHIND: "9x20 0x60"}, "30m"),
    Case("DeadwatchPipelineLagging", "is silent without series", {}, "16m"),
    Case("DeadwatchWatchdog", "always fires", {}, "1m", {}, "1", "Alerts arrive", store="_x60"),
]
