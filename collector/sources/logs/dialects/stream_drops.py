"""What Kafka Streams logs when it skips a record: each line is one more of its ``dropped-records-total``.

The operators log without Streams' own prefix: then only a layout with the thread's name (``%t``) tells whose
record it was, and nothing tells the task. Streams' handlers write a line of their own before the
deserializer's, which is left alone; the one of a processing exception is written by the handler that fails,
too, but at ERROR. Lines of older versions hold the record's key and value: the message ends before them.
"""

import re
from collections.abc import Iterator
from typing import Final

from collector.sources.logs.dialects.cause import Cause, reported
from collector.sources.logs.dialects.streams import application_of, client_of_thread, thread_of
from deadwatch.contract.signals.stream_drops import StreamRecordDropped

TRIGGERS: Final = (
    "Skipping ",
    "Exception handler choose to CONTINUE processing ",
    "Exception caught during message processing, processor node: ",
)

_PLACE = r"(?: topic=\[[^\]]*\] partition=\[[^\]]*\] offset=\[[^\]]*\])?"
_FOLLOWS = r"(?= (?:topic|key|value|change)=\[|\sTopic, partition, and offset not known\.)"
_DROPS: Final = tuple(
    (reason, re.compile(pattern, re.ASCII))
    for reason, pattern in (
        ("null_key_or_value", rf"Skipping record due to null key or value\.{_FOLLOWS}{_PLACE}"),
        ("null_join_key_or_value", rf"Skipping record due to null join key or value\.{_FOLLOWS}{_PLACE}"),
        ("null_foreign_key", rf"Skipping record due to null foreign key\.{_FOLLOWS}{_PLACE}"),
        ("null_key", rf"Skipping record due to null key\.{_FOLLOWS}{_PLACE}"),
        ("deserialization_error", rf"Skipping record due to deserialization error\.{_FOLLOWS}{_PLACE}"),
        ("negative_timestamp", rf"Skipping record due to negative extracted timestamp\.{_FOLLOWS}{_PLACE}"),
        ("expired_window", rf"Skipping record for expired window\.{_FOLLOWS}{_PLACE}"),
        ("expired_segment", r"Skipping record for expired segment\."),
        ("expired_version", r"Skipping record for expired (?:put|delete)\."),
        ("out_of_order", r"Skipping out-of-order record from versioned table while performing table-table "),
        ("no_partition", r"Skipping record as partitioner returned empty partitions\. topic=\[[^\]]*\]"),
        ("serialization_error", r"Unable to serialize record, continue processing\. ProducerRecord\(topic="),
        (
            "production_error",
            r"Exception handler choose to CONTINUE processing in spite of this error but written offsets ",
        ),
        (
            "processing_error",
            r"Exception caught during message processing, processor node: \S+, taskId: (?P<task>\S+), source"
            r" topic: \S+, source partition: \S+, source offset: -?\d+",
        ),
    )
)
_TASK: Final = re.compile(
    r"(?:\] (?:stream-|standby-)?task \[| for task )([\w.-]*\d+_\d+)(?:\]| due to)", re.ASCII
)
_FAILS: Final = re.compile(r"\bERROR\b|\bLogAndFailProcessingExceptionHandler\b")


def read(line: str, header: str) -> Iterator[Cause]:
    """The record that the line says was dropped; ``header`` is the first line of its entry."""
    for reason, pattern in _DROPS:
        match = pattern.search(line)
        if match is None or (reason == "processing_error" and _FAILS.search(header)):
            continue
        named = _TASK.search(header)
        task = match.groupdict().get("task") or (named[1] if named else "")
        yield reported(
            StreamRecordDropped,
            reason,
            application=application_of(client_of_thread(thread_of(header))),
            task=task,
            reason=reason,
            message=match[0].rstrip(),
        )
        return
