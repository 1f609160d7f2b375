"""Configurations that would lose records, and Deadwatch itself."""

from tests.contract.alerts.case import OTHER_STORE, OTHER_TARGET, Case, counter, gauge

LOSES = 'deadwatch_findings{kafka_cluster="c", kind="connect_silent_loss", subject="connector:n"}'
STRANDS = 'deadwatch_findings{kafka_cluster="c", kind="dlq_not_read", subject="topic:t"}'
SOURCE = 'deadwatch_source_up{source="log:/a", kind="log"}'
WORKER = 'deadwatch_source_up{source="redrive:w", kind="redrive"}'
STREAMING = 'deadwatch_source_up{source="streaming", kind="streaming"}'
OTHER_SOURCE, OTHER_STREAMING = (
    series.replace("}", ', instance="b", namespace="other"}') for series in (SOURCE, STREAMING)
)
LAG = "deadwatch_pipeline_lag_seconds"
BEHIND = 'deadwatch_stream_behind_records{topic="t"}'
BATCHES = 'deadwatch_batch_failures_total{cause="kafka"}'
ASIDE = 'deadwatch_quarantined_total{source="log:/a", reason="broken"}'
MISSED = 'deadwatch_records_missed_total{kafka_cluster="c", topic="t", reason="deleted_unread"}'
OWN_LOST = 'deadwatch_collector_dead_letters_lost_total{kafka_cluster="c", collector="k"}'

CASES: dict[str, list[Case]] = {
    "DeadwatchBatchFailing": [
        *counter(
            BATCHES, {"job": "deadwatch", "cause": "kafka"}, "Batches of Deadwatch failed 5 times (kafka)"
        ),
        Case("bears one", {BATCHES: "_x9 1x60"}, "11m"),
    ],
    "DeadwatchInputPutAside": counter(
        ASIDE,
        {"job": "deadwatch", "source": "log:/a", "reason": "broken"},
        "5 entries of log:/a could not be read (broken)",
    ),
    "DeadwatchRecordsMissed": counter(
        MISSED,
        {"kafka_cluster": "c", "topic": "t", "reason": "deleted_unread"},
        "5 records of t were gone before they were read",
    ),
    "DeadwatchCollectorLosesDeadLetters": counter(
        OWN_LOST, {"kafka_cluster": "c", "collector": "k"}, "Collector k gave up 5 dead letters of its own"
    ),
    "DeadwatchRecordsWillBeLost": [
        *gauge(
            LOSES,
            {"kafka_cluster": "c", "kind": "connect_silent_loss", "subject": "connector:n"},
            "1",
            "connector:n: dead letters will be lost (connect_silent_loss)",
            wait_m=5,
        ),
        Case("leaves milder findings alone", {STRANDS: "1x60"}, "30m"),
    ],
    "DeadwatchFinding": [
        *gauge(
            STRANDS,
            {"kafka_cluster": "c", "kind": "dlq_not_read", "subject": "topic:t"},
            "1",
            "topic:t: records are at risk (dlq_not_read)",
            wait_m=5,
        ),
        Case("leaves losses to the other", {LOSES: "1x60"}, "30m"),
    ],
    "DeadwatchDown": [
        Case("fires when nothing is scraped", {}, "6m", {}, "1", "Deadwatch is not scraped", store="_x60"),
        Case("is silent while it is scraped", {}, "6m"),
        Case("resolves", {}, "20m", store="_x9 1x60"),
        Case("is silent over a restart", {}, "12m", store="1x9 _x3 1x60"),
        Case(
            "fires when one of two is gone, and says which",
            {OTHER_STORE: "1x9 _x900"},
            "5h",
            {"job": "deadwatch", "namespace": "other"},
            "1",
            "Deadwatch is not scraped",
            store="1x900",
        ),
        Case("fires once when both are gone", {OTHER_STORE: "1x9 _x60"}, "20m", {}, "1", store="1x9 _x60"),
        Case(
            "forgets one that was taken away",
            {OTHER_STORE: "1x9 _x900", OTHER_TARGET: "1x9 stale"},
            "7h",
            store="1x900",
        ),
        Case(
            "goes on for one that does not answer",
            {OTHER_STORE: "1x9 _x900", OTHER_TARGET: "1x9 0x900"},
            "7h",
            {"job": "deadwatch", "namespace": "other"},
            "1",
            store="1x900",
        ),
        Case("leaves what is no api alone", {OTHER_TARGET: "0x900"}, "7h", store="1x900"),
        Case("is silent over a restart of one", {OTHER_STORE: "1x9 _x3 1x60"}, "12m"),
    ],
    "DeadwatchStoreUnreadable": [
        Case(
            "fires when the store cannot be read",
            {},
            "13m",
            {"job": "deadwatch"},
            "0",
            "Deadwatch cannot read its store",
            store="1x9 0x60",
        ),
        Case("is silent while it can", {}, "13m"),
        Case(
            "fires for one of two that have one name",
            {OTHER_STORE: "1x9 0x60"},
            "13m",
            {"job": "deadwatch", "namespace": "other"},
            "0",
        ),
        Case("resolves", {}, "20m", store="1x3 0x9 1x60"),
    ],
    "DeadwatchStreamingDown": [
        Case(
            "fires when streaming is down",
            {STREAMING: "1x9 0x20 1x60"},
            "16m",
            {"job": "deadwatch"},
            "0",
            "Deadwatch counts nothing: its streaming is down",
        ),
        Case("resolves when it is back", {STREAMING: "1x9 0x20 1x60"}, "31m"),
        Case("is silent while it is up", {STREAMING: "1x60"}, "30m"),
        Case(
            "fires where streaming has never started",
            {},
            "6m",
            {"job": "deadwatch"},
            "1",
            "Deadwatch counts nothing: its streaming is down",
        ),
        Case("resolves once it has started", {STREAMING: "_x9 1x60"}, "12m"),
        Case("is silent over a restart", {STREAMING: "1x9 0x3 1x60"}, "12m"),
        Case(
            "fires for one of two that have one name",
            {STREAMING: "1x60", OTHER_STORE: "1x60"},
            "6m",
            {"job": "deadwatch", "namespace": "other"},
            "1",
        ),
        Case("leaves other sources alone", {STREAMING: "1x60", SOURCE: "0x60"}, "30m"),
        Case("leaves a store that cannot be read to the other", {}, "30m", store="0x60"),
        Case("leaves an api that is away to the other", {}, "30m", store="_x60"),
    ],
    "DeadwatchSourceDown": [
        *gauge(
            SOURCE,
            {"job": "deadwatch", "source": "log:/a", "kind": "log"},
            "0",
            "Deadwatch does not see log:/a",
            wait_m=5,
            well="1",
            beside={STREAMING: "1x90"},
        ),
        Case(
            "fires for each of two that have one name",
            {
                STREAMING: "1x90",
                SOURCE: "1x90",
                OTHER_STORE: "1x90",
                OTHER_STREAMING: "1x90",
                OTHER_SOURCE: "1x9 0x60",
            },
            "20m",
            {"job": "deadwatch", "namespace": "other", "source": "log:/a", "kind": "log"},
            "0",
        ),
        Case(
            "fires for a worker, which the store hears without streaming",
            {STREAMING: "0x60", SOURCE: "0x60", WORKER: "0x60"},
            "30m",
            {"job": "deadwatch", "source": "redrive:w", "kind": "redrive"},
            "0",
            "Deadwatch does not see redrive:w",
        ),
        Case("leaves all to the other while streaming is down", {STREAMING: "0x60", SOURCE: "0x60"}, "30m"),
        Case("leaves all to the other where streaming never started", {SOURCE: "0x60"}, "30m"),
    ],
    "DeadwatchPipelineLagging": [
        Case(
            "fires when streaming does not keep up",
            {LAG: "0x9 120x60", BEHIND: "0x9 5000x60"},
            "16m",
            {"job": "deadwatch"},
            "2m 0s",
            "Deadwatch is 2m 0s behind",
        ),
        Case(
            "is silent when the last batch was late and all is read", {LAG: "120x60", BEHIND: "0x60"}, "16m"
        ),
        Case("resolves", {LAG: "120x20 0x60", BEHIND: "9x20 0x60"}, "30m"),
        Case("is silent without series", {}, "16m"),
    ],
    "DeadwatchWatchdog": [Case("always fires", {}, "1m", {}, "1", "Alerts arrive", store="_x60")],
}
