"""Dead letters: they arrive, they wait, they are lost."""

from tests.contract.alerts.case import (
    DLQ,
    OF_CONNECTOR,
    ON_CLUSTER,
    ON_TOPIC,
    SENT,
    TASK,
    Case,
    Firing,
    counter,
)

LETTERS = f'deadwatch_dead_letter_queue_records_total{{{DLQ}, error_class="E"}}'
POD_A, POD_B = (LETTERS.replace("}", f', instance="{pod}"}}') for pod in "ab")
NODE_A, NODE_B = (LETTERS.replace("}", f', instance="{pod}", node="{pod}"}}') for pod in "ab")
OLD_POD, NEW_POD = (LETTERS.replace("}", f', instance="a", pod="{pod}"}}') for pod in ("old", "new"))
OLD_STORE, NEW_STORE = (f'deadwatch_store_up{{instance="a", pod="{pod}"}}' for pod in ("old", "new"))
HERE, THERE = (LETTERS.replace("}", f', instance="{where}", namespace="{where}"}}') for where in "ab")
BACKLOG = f"deadwatch_dead_letter_queue_backlog_records{{{DLQ}}}"
WAITING, ARCHIVED = (
    f'deadwatch_dead_letter_queue_waiting_records{{{DLQ}, shelf="{shelf}"}}'
    for shelf in ("active", "archived")
)
OLDEST = f"deadwatch_dead_letter_queue_oldest_record_timestamp_seconds{{{DLQ}}}"
SHARE = 'kafka_cluster="c", consumergroup="g", broker="1"'
SHARE_FAILED = f"deadwatch_share_group_dead_letter_queue_failed_produce_requests_total{{{SHARE}}}"
SHARE_COUNT = f"deadwatch_share_group_dead_letter_queue_record_count{{{SHARE}}}"
SHARE_SEEN = (
    f'deadwatch_dead_letter_queue_records_total{{{DLQ}, dialect="share_group", '
    'consumergroup="g", error_class="E"}'
)
DLQ_FAILED = f"deadwatch_connect_task_deadletterqueue_produce_failures_total{{{TASK}}}"
DLQ_WRITTEN = f"deadwatch_connect_task_deadletterqueue_produce_requests_total{{{TASK}}}"
SKIPPED = f"deadwatch_connect_task_records_skipped_total{{{TASK}}}"
OF_GROUP = {**ON_CLUSTER, "consumergroup": "g"}
NEW = Firing(ON_TOPIC, "{} new dead letters on dlq.a")
NEW_CLASS = Firing({**ON_TOPIC, "error_class": "E"}, "E is new on dlq.a")
TOO_OLD = Firing(ON_TOPIC, "A dead letter on dlq.a waits for too long, up to {}")
UNHANDLED = Firing(ON_TOPIC, "Nobody handles the {} dead letters on dlq.a")
ON_NO_TOPIC = Firing(OF_GROUP, "{} dead letters of share group g are on no topic")

CASES: dict[str, list[Case]] = {
    "DeadwatchDeadLetters": [
        *counter(LETTERS, NEW),
        NEW.case("counts to the record, however scrapes lie", {LETTERS: "0x20 7x4 8x40"}, "27m", "8"),
        NEW.case(
            "counts what came while one pod followed another",
            {POD_A: "3x9", POD_B: "_x10 5x60"},
            "14m",
            "2",
            window="10m",
        ),
        Case(
            "counts nothing when a pod follows another",
            {POD_A: "3x9", POD_B: "_x10 3x60"},
            "14m",
            window="10m",
        ),
        NEW.case(
            "counts two replicas once, whatever else Prometheus knows of them",
            {NODE_A: "0x9 3x60", NODE_B: "0x9 3x60"},
            "14m",
            "3",
        ),
        NEW.case(
            "counts what came after another pod has got the address of the one before",
            {OLD_POD: "3x4", OLD_STORE: "1x4", NEW_POD: "_x5 3x4 5x60", NEW_STORE: "_x5 1x60"},
            "11m",
            "2",
            store="_x60",
        ),
        NEW.case(
            "tells two installations apart", {HERE: "3x60", THERE: "0x9 4x60"}, "14m", "4", namespace="b"
        ),
    ],
    "DeadwatchShareGroupWritesFail": counter(
        SHARE_FAILED, Firing(OF_GROUP, "Dead letters of share group g cannot be written")
    ),
    "DeadwatchConnectDeadLetterWritesFail": counter(
        DLQ_FAILED, Firing(OF_CONNECTOR, "Dead letters of connector n are lost")
    ),
    "DeadwatchConnectRecordsSkipped": [
        *counter(SKIPPED, Firing(OF_CONNECTOR, "Connector n skipped 5 records without a dead letter")),
        Case(
            "is silent when each has its dead letter", {SKIPPED: "0x9 5x60", DLQ_WRITTEN: "0x9 5x60"}, "11m"
        ),
    ],
    "DeadwatchNewErrorClass": [
        NEW_CLASS.case("fires on a class that the topic did not know", {LETTERS: "_x9 5x60"}, "11m", "5"),
        Case("is silent on more of a known class", {LETTERS: "1x9 6x60"}, "11m"),
        Case(
            "is silent on a known class from another topic",
            {LETTERS: "1x60", LETTERS.replace('"E"', '"E", source_topic="x"'): "_x9 5x60"},
            "11m",
        ),
        Case("resolves once it is known", {LETTERS: "_x9 5x60"}, "40m"),
        Case("is silent on a reset", {LETTERS: "5x9 0x60"}, "11m"),
        Case(
            "is silent when Prometheus sees the service for the first time",
            {LETTERS: "_x9 5x60"},
            "11m",
            store="_x9 1x60",
        ),
        Case("is silent without series", {}, "11m"),
    ],
    "DeadwatchDeadLetterTooOld": [
        TOO_OLD.case(
            "fires when a record waits for longer than a day",
            {OLDEST: "0x2000", WAITING: "5x2000", LETTERS: "5x2000"},
            "25h",
            "1d 1h 0m 0s",
        ),
        Case(
            "is silent when every record was put back or parked",
            {OLDEST: "0x2000", WAITING: "0x2000", LETTERS: "5x2000"},
            "25h",
        ),
        Case(
            "resolves when the rest is put back",
            {OLDEST: "0x2000", WAITING: "2x1500 0x500", LETTERS: "5x2000"},
            "26h",
        ),
        Case("is silent while it is young", {OLDEST: "0x2000", WAITING: "5x2000", LETTERS: "5x2000"}, "23h"),
        Case(
            "is silent while only what was put back is old",
            {OLDEST: "0x2000", WAITING: "0x1500 1x500", LETTERS: "5x1500 6x500"},
            "26h",
        ),
        Case(
            "is silent on what is left of young ones of which most were put back",
            {OLDEST: "0x2000", WAITING: "0x1500 1x500", LETTERS: "5x1500 10x500"},
            "26h",
        ),
        Case(
            "is silent on a young one where retention has removed old ones unhandled",
            {OLDEST: "0x2000", WAITING: "0x1500 1x500", LETTERS: "55x1500 56x500", SENT: "5x2000"},
            "26h",
        ),
        Case(
            "is silent when every cause that waits is archived",
            {OLDEST: "0x2000", WAITING: "0x2000", ARCHIVED: "5x2000", BACKLOG: "5x2000", LETTERS: "5x2000"},
            "25h",
        ),
        TOO_OLD.case(
            "fires on an old one beside many young ones of an archived cause",
            {OLDEST: "0x2000", WAITING: "1x2000", ARCHIVED: "_x1400 90x600", LETTERS: "1x1400 91x600"},
            "25h",
            "1d 1h 0m 0s",
        ),
        TOO_OLD.case(
            "fires on what waits beside old ones that were put back",
            {OLDEST: "0x3000", WAITING: "0x1500 1x1500", LETTERS: "5x1500 6x1500"},
            "49h10m",
            "2d 1h 10m 0s",
        ),
        TOO_OLD.case(
            "fires on a topic without counts", {OLDEST: "0x2000", WAITING: "5x2000"}, "25h", "1d 1h 0m 0s"
        ),
        TOO_OLD.case(
            "fires on old ones that are first counted",
            {OLDEST: "0x2000", WAITING: "5x2000", LETTERS: "_x1000 5x1000"},
            "25h",
            "1d 1h 0m 0s",
        ),
        Case("is silent on an empty topic", {WAITING: "0x2000"}, "25h"),
    ],
    "DeadwatchDeadLettersNobodyHandles": [
        UNHANDLED.case(
            "fires when nothing is put back for hours", {WAITING: "0x9 5x900", SENT: "0x900"}, "7h", "5"
        ),
        Case("is silent while some are put back", {WAITING: "5x300 4x600", SENT: "0x300 1x600"}, "7h"),
        Case("is silent when all are handled, however long ago", {WAITING: "0x900", SENT: "5x900"}, "7h"),
        Case(
            "is silent when every cause that waits is archived", {WAITING: "0x900", ARCHIVED: "5x900"}, "7h"
        ),
        Case("resolves when somebody empties the topic", {WAITING: "5x600 0x300"}, "11h"),
        Case("is silent when they are new", {WAITING: "5x900"}, "5h"),
        Case(
            "is silent when they are new beside old ones that were handled",
            {BACKLOG: "5x400 8x500", WAITING: "0x400 3x500", SENT: "5x900"},
            "7h",
        ),
    ],
    "DeadwatchShareGroupCountsDisagree": [
        ON_NO_TOPIC.case(
            "fires when brokers wrote more than arrived",
            {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "10x99 23x300"},
            "2h",
            "7",
        ),
        Case("is silent while they agree", {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "4x99 24x300"}, "2h"),
        Case("is silent on what differs since before", {SHARE_COUNT: "30x300", SHARE_SEEN: "10x300"}, "2h"),
        ON_NO_TOPIC.case("fires on a group's first ones", {SHARE_COUNT: "_x99 7x300"}, "2h", "7"),
        Case(
            "is silent when brokers are asked for the first time",
            {SHARE_COUNT: "_x99 30x300", SHARE_SEEN: "30x400"},
            "2h",
        ),
        Case("resolves an hour after", {SHARE_COUNT: "10x99 30x300", SHARE_SEEN: "10x99 23x300"}, "3h"),
        Case("is silent without series", {}, "2h"),
    ],
}
