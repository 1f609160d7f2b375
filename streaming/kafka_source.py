"""Spark's Kafka source: the streams of events and of dead letters, and the records of a backfill."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.store.batch import Offsets, Place
from deadwatch.store.write.progress import DEAD_LETTERS, EVENTS
from streaming.kernel.causes import MAX_KEY_BYTES, MAX_VALUE_BYTES
from streaming.settings import StreamingSettings

EVENT_FETCHES: Mapping[str, str] = {"kafka.receive.buffer.bytes": "1048576", "kafka.max.poll.records": "5000"}
"""1 MiB of a partition, Kafka's default: it fits a processor's cache and is read twice as fast as 16 MiB."""
SMALL_FETCHES: Mapping[str, str] = {
    "kafka.max.partition.fetch.bytes": "262144",
    "kafka.max.poll.records": "500",
}
"""Of dead letters: there may be hundreds of partitions, and what is fetched of each stays in memory."""

SOURCE: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "headers array<struct<key:string, value:binary>>"
)
"""The columns of Spark's Kafka source that are read."""
SMALL_EVENTS: Final = 20_000
SMALL_DEAD_LETTERS: Final = 5_000
"""Records up to which a batch is read in the driver.

The executors' Python takes seconds to start, for the first of their batches and after each minute without
one. Started, it is quicker from some 10 000 dead letters on; for 48 000 events it was not yet, on two cores.
"""
SMALL_BYTES: Final = 1 << 14
"""Most bytes of an event, and of the headers of a dead letter, in a batch that is read in the driver."""
HEADER_BYTES: Final = " + ".join(
    f"octet_length(array_join(CAST(headers.{part} AS array<string>), ''))" for part in ("key", "value")
)
"""Spark compiles this; a lambda over the headers, which it interprets, takes five times as long."""

NO_HEADERS: Final = "CAST(array() AS array<struct<key: string, value: binary>>)"
"""Never null: after each row of a batch for Python, Spark asks Arrow for the size of all, and a list vector
goes through all rows since its last list that is not null. Of 50 000 nulls a row took 40 us.
"""

_RECORD: Final = (
    "topic",
    "partition",
    "offset",
    "unix_millis(timestamp) AS timestamp_ms",
    "coalesce(octet_length(key), -1) AS key_bytes",
    "coalesce(octet_length(value), -1) AS value_bytes",
)
EVENT: Final = (
    *_RECORD,
    "CAST(NULL AS binary) AS key",
    "value",
    f"{NO_HEADERS} AS headers",
    "key AS event_key",
    f"coalesce(octet_length(value) > {SMALL_BYTES}, false) AS is_too_large",
)
DEAD_LETTER: Final = (
    *_RECORD,
    f"substring(key, 1, {MAX_KEY_BYTES}) AS key",
    f"substring(value, 1, {MAX_VALUE_BYTES}) AS value",
    f"coalesce(headers, {NO_HEADERS}) AS headers",
    "CAST(NULL AS binary) AS event_key",
    f"coalesce({HEADER_BYTES} > {SMALL_BYTES}, false) AS is_too_large",
)
"""The same columns in the same order."""

UNTIMELY: Final = re.compile(
    r"Record at topic (?P<topic>\S+) partition (?P<partition>\d+) offset (?P<offset>\d+) has timestamp value"
)
"""What Spark's source says of a time beyond 2^63 microseconds (``KAFKA_MALFORMED_RECORD_TIMESTAMP``)."""


def untimely_record(failure: str) -> tuple[Place, int] | None:
    """The partition and offset of the record that has failed a query because Spark cannot hold its time.

    A producer that gives nanoseconds writes such records; Connect gives their dead letters the same time.
    """
    found = UNTIMELY.search(failure)
    return ((found["topic"], int(found["partition"])), int(found["offset"])) if found else None


def events_pattern(settings: StreamingSettings) -> str:
    """The topic of events as a Java regular expression; Spark looks for one anywhere in a name."""
    return f"^{re.escape(settings.events_topic)}$"


def dead_letters_pattern(settings: StreamingSettings) -> str:
    """The dead letter topics as a Java regular expression; Spark looks for one anywhere in a name."""
    parked = f"(?!.*{re.escape(PARKED_SUFFIX)}$)"
    others = (settings.events_topic, *settings.dlq_topics_deny)
    denied = "".join(f"(?!{re.escape(topic)}$)" for topic in others)
    patterns = "|".join(f"(?:{pattern})" for pattern in settings.dlq_topics)
    return f"^(?!__){parked}{denied}(?:{patterns})$"


def records_between(
    spark: SparkSession, settings: StreamingSettings, begin: Offsets, end: Offsets, group: str
) -> DataFrame:
    """The committed records of the partitions in ``begin``, up to ``end``, which is excluded.

    ``group`` names the consumers that read them: Spark goes on with those of the same name, and keeps those
    of other names in memory for minutes, with what they fetched.
    """

    def part(offsets: Offsets, fetches: Mapping[str, str]) -> DataFrame:
        ends = {place: end[place] for place in offsets}
        return (
            spark.read.format("kafka")
            .options(**_options(settings), **fetches)
            .options(**{"assign": _json(offsets, list), "kafka.group.id": group})
            .options(startingOffsets=_json(offsets), endingOffsets=_json(ends))
            .load()
        )

    events, dead_letters = _split(begin, settings)
    frames = [as_events(part(events, EVENT_FETCHES))] if events else []
    frames += [as_dead_letters(part(dead_letters, SMALL_FETCHES))] if dead_letters else []
    return reduce(DataFrame.unionAll, frames)


def as_events(source: DataFrame) -> DataFrame:
    """Events with the columns of ``kernel.partial.RECORDS``, of those of ``SOURCE``.

    ``event_key`` is the key of an event, and ``is_too_large`` whether a record is too large to be read in the
    driver. This belongs into the plan of a stream: with these expressions in each batch's own, Spark takes
    longer to analyse and to plan a small batch than to read it.
    """
    return source.selectExpr(*EVENT)


def as_dead_letters(source: DataFrame) -> DataFrame:
    """Dead letters with the columns of ``as_events``; key and value are cut to what a sample keeps."""
    return source.selectExpr(*DEAD_LETTER)


class Stream(NamedTuple):
    """Records that are read apart from all others; of a batch up to ``small`` are read in the driver."""

    records: DataFrame
    small: int


def streams(spark: SparkSession, settings: StreamingSettings, begin: Offsets | None) -> dict[str, Stream]:
    """Two streams of committed records with their headers, by name, from ``begin``; None: from the beginning.

    Events and dead letters are read apart, so that a flood of one does not delay the other, and each leaves a
    core of Spark to the other. A core reads its share of the partitions one after the other: to begin a task
    costs as much as a thousand events.
    """
    cores = max(1, spark.sparkContext.defaultParallelism - 1)
    events, dead_letters = _split(begin or {}, settings)

    def source(pattern: str, most: int, offsets: Offsets, fetches: Mapping[str, str]) -> DataFrame:
        return (
            spark.readStream.format("kafka")
            .options(**_options(settings), **fetches)
            .options(subscribePattern=pattern, maxOffsetsPerTrigger=str(most))
            .option("startingOffsets", _json(offsets) if offsets else "earliest")
            .load()
        )

    most, most_dead_letters = settings.max_offsets_per_trigger, settings.max_dead_letters_per_trigger
    of_events = source(events_pattern(settings), most, events, EVENT_FETCHES)
    of_dead_letters = source(dead_letters_pattern(settings), most_dead_letters, dead_letters, SMALL_FETCHES)
    return {
        EVENTS: Stream(as_events(of_events).coalesce(cores), SMALL_EVENTS),
        DEAD_LETTERS: Stream(as_dead_letters(of_dead_letters).coalesce(cores), SMALL_DEAD_LETTERS),
    }


def _split(offsets: Offsets, settings: StreamingSettings) -> tuple[Offsets, Offsets]:
    """The offsets of events and those of dead letters."""
    events = {place: offset for place, offset in offsets.items() if place[0] == settings.events_topic}
    return events, {place: offset for place, offset in offsets.items() if place not in events}


def _options(settings: StreamingSettings) -> dict[str, str]:
    """A silent broker is noticed within two attempts; records that were deleted are not waited for.

    A broker answers a connection's requests in their order. When Spark has read a partition, its consumer has
    asked for more already, and Spark asks for offsets: that waited for records which nobody had written yet.
    Metrics of consumers are neither sent to the broker (KIP-714) nor shown by JMX: there is a consumer for
    each partition, and that held 150 MB for 2 000.
    """
    return {
        **settings.kafka.spark(),
        "includeHeaders": "true",
        "failOnDataLoss": "false",
        "fetchOffset.numRetries": "1",
        "fetchOffset.retryIntervalMs": "200",
        "kafkaConsumer.pollTimeoutMs": str(settings.default_api_timeout_ms),
        "kafka.fetch.max.wait.ms": "0",
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "kafka.enable.metrics.push": "false",
        "kafka.metric.reporters": "",
        "kafka.request.timeout.ms": str(settings.request_timeout_ms),
        "kafka.default.api.timeout.ms": str(settings.default_api_timeout_ms),
    }


def _json(offsets: Offsets, shape: Callable[[dict[int, int]], object] = dict) -> str:
    """Offsets in the JSON that Spark reads; with the shape ``list`` the partitions alone."""
    topics: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (topic, partition), offset in sorted(offsets.items()):
        topics[topic][partition] = offset
    return json.dumps({topic: shape(partitions) for topic, partitions in topics.items()})
