"""Records that Kafka Streams skipped: the application goes on, and nobody processes them again."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRecordDropped(Event):
    """Streams logged that it skips a record; ``task`` is "" where the line does not name it."""

    kind: ClassVar[str] = "stream_record_dropped"
    application: str
    task: str
    reason: str
    message: str


STREAM_RECORDS_DROPPED: Final = Signal(
    series="stream_records_dropped",
    metric="deadwatch_stream_records_dropped_total",
    event=StreamRecordDropped,
    labels=("application", "task", "reason"),
    help="Records that Kafka Streams skipped, by reason. 0: none. More: they are lost to this application, "
    "unless its handler wrote them to a dead letter topic; the log has topic, partition and offset of each.",
    board="deadwatch-task-timeouts",
    title="Records dropped",
    text="Records that Streams skipped in the chosen time; only its handlers can make dead letters of them.",
    page="/api/v1/tasks",
    alert=Alert(
        "DeadwatchStreamRecordsDropped",
        Severity.WARNING,
        ("application", "reason"),
        "{application} dropped {count} records: {reason}",
        "Streams skipped them on cluster {kafka_cluster} and went on. Unless a handler of the application "
        "wrote them to a dead letter topic, nothing but its log knows of them.",
        runbook=(
            "Streams met records that it skips instead of failing: unreadable, without key, too late, or "
            "given up by an exception handler. It counts them as dropped-records-total.",
            "Whoever reads what the application writes: the results lack these records.",
            "Find topic, partition and offset in the application's log. Fix what the reason names: the "
            "writer (deserialization_error, null_key), the grace period (expired_window) or the code "
            "(processing_error). With errors.dead.letter.queue.topic.name (4.2 and newer) the handlers keep "
            "what they skip; a record that is expired or has no key is never kept.",
        ),
    ),
)
