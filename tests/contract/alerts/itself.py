"""Configurations that would lose records, and Deadwatch itself."""

from tests.contract.alerts.case import (
    ON_CLUSTER,
    OTHER_STORE,
    OTHER_TARGET,
    OURS,
    Case,
    Firing,
    counter,
    gauge,
)

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
DOWN = Firing({}, "Deadwatch is not scraped")
UNREADABLE = Firing(OURS, "Deadwatch cannot read its store")
STREAMING_DOWN = Firing(OURS, "Deadwatch counts nothing: its streaming is down")
SOURCE_DOWN = Firing({**OURS, "source": "log:/a", "kind": "log"}, "Deadwatch does not see log:/a")
WORKER_DOWN = Firing({**OURS, "source": "redrive:w", "kind": "redrive"}, "Deadwatch does not see redrive:w")
LAGGING = Firing(OURS, "Deadwatch is {} behind")

CASES: dict[str, list[Case]] = {
    "DeadwatchBatchFailing": [
        *counter(BATCHES, Firing({**OURS, "cause": "kafka"}, "Batches of Deadwatch failed 5 times (kafka)")),
        Case("bears one", {BATCHES: "_x9 1x60"}, "11m"),
    ],
    "DeadwatchInputPutAside": counter(
        ASIDE,
        Firing(
            {**OURS, "source": "log:/a", "reason": "broken"}, "5 entries of log:/a could not be read (broken)"
        ),
    ),
    "DeadwatchRecordsMissed": counter(
        MISSED,
        Firing(
            {**ON_CLUSTER, "topic": "t", "reason": "deleted_unread"},
            "5 records of t were gone before they were read",
        ),
    ),
    "DeadwatchCollectorLosesDeadLetters": counter(
        OWN_LOST,
        Firing({**ON_CLUSTER, "collector": "k"}, "Collector k gave up 5 dead letters of its own"),
    ),
    "DeadwatchRecordsWillBeLost": [
        *gauge(
            LOSES,
            Firing(
                {**ON_CLUSTER, "kind": "connect_silent_loss", "subject": "connector:n"},
                "connector:n: dead letters will be lost (connect_silent_loss)",
            ),
        ),
        Case("leaves milder findings alone", {STRANDS: "1x60"}, "30m"),
    ],
    "DeadwatchFinding": [
        *gauge(
            STRANDS,
            Firing(
                {**ON_CLUSTER, "kind": "dlq_not_read", "subject": "topic:t"},
                "topic:t: records are at risk (dlq_not_read)",
            ),
        ),
        Case("leaves losses to the other", {LOSES: "1x60"}, "30m"),
    ],
    "DeadwatchDown": [
        DOWN.case("fires when nothing is scraped", {}, "6m", "1", store="_x60"),
        Case("is silent while it is scraped", {}, "6m"),
        Case("resolves", {}, "20m", store="_x9 1x60"),
        Case("is silent over a restart", {}, "12m", store="1x9 _x3 1x60"),
        DOWN.case(
            "fires when one of two is gone, and says which",
            {OTHER_STORE: "1x9 _x900"},
            "5h",
            "1",
            store="1x900",
            job="deadwatch",
            namespace="other",
        ),
        DOWN.case("fires once when both are gone", {OTHER_STORE: "1x9 _x60"}, "20m", "1", store="1x9 _x60"),
        Case(
            "forgets one that was taken away",
            {OTHER_STORE: "1x9 _x900", OTHER_TARGET: "1x9 stale"},
            "7h",
            store="1x900",
        ),
        DOWN.case(
            "goes on for one that does not answer",
            {OTHER_STORE: "1x9 _x900", OTHER_TARGET: "1x9 0x900"},
            "7h",
            "1",
            store="1x900",
            job="deadwatch",
            namespace="other",
        ),
        Case("leaves what is no api alone", {OTHER_TARGET: "0x900"}, "7h", store="1x900"),
        Case("is silent over a restart of one", {OTHER_STORE: "1x9 _x3 1x60"}, "12m"),
    ],
    "DeadwatchStoreUnreadable": [
        UNREADABLE.case("fires when the store cannot be read", {}, "13m", "0", store="1x9 0x60"),
        Case("is silent while it can", {}, "13m"),
        UNREADABLE.case(
            "fires for one of two that have one name",
            {OTHER_STORE: "1x9 0x60"},
            "13m",
            "0",
            namespace="other",
        ),
        Case("resolves", {}, "20m", store="1x3 0x9 1x60"),
    ],
    "DeadwatchStreamingDown": [
        STREAMING_DOWN.case("fires when streaming is down", {STREAMING: "1x9 0x20 1x60"}, "16m", "0"),
        Case("resolves when it is back", {STREAMING: "1x9 0x20 1x60"}, "31m"),
        Case("is silent while it is up", {STREAMING: "1x60"}, "30m"),
        STREAMING_DOWN.case("fires where streaming has never started", {}, "6m", "1"),
        Case("resolves once it has started", {STREAMING: "_x9 1x60"}, "12m"),
        Case("is silent over a restart", {STREAMING: "1x9 0x3 1x60"}, "12m"),
        STREAMING_DOWN.case(
            "fires for one of two that have one name",
            {STREAMING: "1x60", OTHER_STORE: "1x60"},
            "6m",
            "1",
            namespace="other",
        ),
        Case("leaves other sources alone", {STREAMING: "1x60", SOURCE: "0x60"}, "30m"),
        Case("leaves a store that cannot be read to the other", {}, "30m", store="0x60"),
        Case("leaves an api that is away to the other", {}, "30m", store="_x60"),
    ],
    "DeadwatchSourceDown": [
        *gauge(SOURCE, SOURCE_DOWN, "0", well="1", beside={STREAMING: "1x90"}),
        SOURCE_DOWN.case(
            "fires for each of two that have one name",
            {
                STREAMING: "1x90",
                SOURCE: "1x90",
                OTHER_STORE: "1x90",
                OTHER_STREAMING: "1x90",
                OTHER_SOURCE: "1x9 0x60",
            },
            "20m",
            "0",
            namespace="other",
        ),
        WORKER_DOWN.case(
            "fires for a worker, which the store hears without streaming",
            {STREAMING: "0x60", SOURCE: "0x60", WORKER: "0x60"},
            "30m",
            "0",
        ),
        Case("leaves all to the other while streaming is down", {STREAMING: "0x60", SOURCE: "0x60"}, "30m"),
        Case("leaves all to the other where streaming never started", {SOURCE: "0x60"}, "30m"),
    ],
    "DeadwatchPipelineLagging": [
        LAGGING.case(
            "fires when streaming does not keep up",
            {LAG: "0x9 120x60", BEHIND: "0x9 5000x60"},
            "16m",
            "2m 0s",
        ),
        Case(
            "is silent when the last batch was late and all is read", {LAG: "120x60", BEHIND: "0x60"}, "16m"
        ),
        Case("resolves", {LAG: "120x20 0x60", BEHIND: "9x20 0x60"}, "30m"),
        Case("is silent without series", {}, "16m"),
    ],
    "DeadwatchWatchdog": [Case("always fires", {}, "1m", {}, "1", "Alerts arrive", store="_x60")],
}
