"""What Kafka Streams says of records that it skips (4.3.1, and the words of 3.x where they differ).

This module is a table: its length is the number of strings.
"""

from functools import partial
from typing import Final

from tests.unit.collector.sources.logs.kafka_strings.string import AT, String

_string = partial(String, "dropped records")

APP: Final = "words-7f99e2d8-5383-481a-8dd1-773528d54f71-StreamThread-1"
THREAD: Final = f"[{APP}]"
TASK: Final = f"stream-thread [{APP}] task [0_1]"
PLACE: Final = "topic=[in] partition=[0] offset=[7]"
UNKNOWN: Final = "Topic, partition, and offset not known."


def _drops(reason: str, message: str, *, name: str = "", prefix: str = THREAD, task: str = "") -> String:
    return _string(
        name or reason,
        f"{AT} WARN {prefix} {message} (o.a.k.s.X:1)",
        ({"kind": "stream_record_dropped", "application": "words", "task": task, "reason": reason},),
    )


STREAM_DROPS: Final = (
    _string(
        "a record that cannot be read: the handler's line and Streams' own",
        f"{AT} WARN {THREAD} Exception caught during Deserialization, taskId: 0_1, topic: in, partition: 0,"
        f" offset: 7 (o.LogAndContinueExceptionHandler:56)\no.SerializationException: Size of data\n"
        f"{AT} WARN {TASK} Skipping record due to deserialization error. {PLACE} (o.RecordDeserializer:140)\n"
        "o.SerializationException: Size of data",
        (
            {
                "kind": "stream_record_dropped",
                "application": "words",
                "task": "0_1",
                "reason": "deserialization_error",
                "message": f"Skipping record due to deserialization error. {PLACE}",
            },
        ),
    ),
    _drops(
        "negative_timestamp",
        f"Skipping record due to negative extracted timestamp. {PLACE} extractedTimestamp=[-1] extractor=[E]",
        prefix=TASK,
        task="0_1",
    ),
    _drops("null_key", f"Skipping record due to null key. {PLACE}"),
    _drops("null_key", f"Skipping record due to null key. {UNKNOWN}", name="a key, without place"),
    _string(
        "a key, in the words of 3.x: the value is not told",
        f"{AT} WARN {THREAD} Skipping record due to null key. value=[secret] {PLACE} (o.X:1)",
        ({"kind": "stream_record_dropped", "message": "Skipping record due to null key."},),
    ),
    _drops("null_key_or_value", f"Skipping record due to null key or value. {PLACE}"),
    _drops("null_join_key_or_value", f"Skipping record due to null join key or value. {PLACE}"),
    _drops("null_foreign_key", f"Skipping record due to null foreign key. {PLACE}"),
    _drops(
        "expired_window",
        f"Skipping record for expired window. {PLACE} timestamp=[1000] window=[0,1000) expiration=[5]"
        " streamTime=[9]",
    ),
    _drops("expired_segment", "Skipping record for expired segment."),
    _drops("expired_version", "Skipping record for expired put."),
    _drops("expired_version", "Skipping record for expired delete.", name="an expired delete"),
    _drops(
        "out_of_order",
        "Skipping out-of-order record from versioned table while performing table-table join."
        " topic=[in] partition=[0] offset=[7] timestamp=[1] latestTimestamp=[2]",
    ),
    _drops(
        "no_partition",
        "Skipping record as partitioner returned empty partitions. topic=[out]",
        prefix=TASK,
        task="0_1",
    ),
    _drops(
        "serialization_error",
        "Unable to serialize record, continue processing. ProducerRecord(topic=[out], partition=[null],"
        " timestamp=[1])",
        prefix=TASK,
        task="0_1",
    ),
    _string(
        "production_error",
        f"{AT} ERROR stream-thread [{APP}] stream-task [0_1] Error encountered sending record to topic o for"
        " task 0_1 due to:\no.RecordTooLargeException: The message is 2000088 bytes\n"
        "Exception handler choose to CONTINUE processing in spite of this error but written offsets would not"
        " be recorded. (o.RecordCollectorImpl:516)\no.RecordTooLargeException: The message is 2000088 bytes",
        (
            {
                "kind": "stream_record_dropped",
                "application": "words",
                "task": "0_1",
                "reason": "production_error",
            },
        ),
    ),
    _drops(
        "processing_error",
        "Exception caught during message processing, processor node: KSTREAM-MAPVALUES-0000000001, taskId:"
        " 0_1, source topic: in, source partition: 0, source offset: 7",
        task="0_1",
    ),
    _string(
        "a processing exception that ends the thread",
        f"{AT} ERROR {THREAD} Exception caught during message processing, processor node: M, taskId: 0_1,"
        " source topic: in, source partition: 0, source offset: 7 (o.LogAndFailProcessingExceptionHandler:4)",
        because="the record is read again: it is not dropped",
    ),
    _string(
        "a line of somebody else",
        f"{AT} WARN {THREAD} Skipping record due to null key: its row has no id",
        because="it is not one of Streams'",
    ),
)
