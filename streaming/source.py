"""Spark's Kafka source: which topics the query reads, and how."""

import json
import re
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from collector.contract.topics import PARKED_SUFFIX, is_dead_letter_topic
from streaming.settings import StreamingSettings

Offsets = Mapping[tuple[str, int], int]
"""By topic and partition."""

EARLIEST = "earliest"

EVENT_FETCHES: Mapping[str, str] = {
    "kafka.receive.buffer.bytes": "1048576",
    "kafka.max.poll.records": "5000",
}
"""1 MiB of a partition, as Kafka has it: what fits a processor's cache is read twice as fast as 16 MiB."""

LETTER_FETCHES: Mapping[str, str] = {
    "kafka.max.partition.fetch.bytes": "262144",
    "kafka.max.poll.records": "500",
}
"""Hundreds of partitions, and what was fetched of each stays in memory until a batch asks for it."""


def is_read(topic: str, settings: StreamingSettings) -> bool:
    """Whether the query reads ``topic``, for events or for dead letters."""
    return topic == settings.events_topic or is_dead_letter_topic(
        topic, settings.dlq_topics, settings.dlq_topics_deny
    )


def events_pattern(settings: StreamingSettings) -> str:
    """The topic of events as a Java regular expression; Spark looks for one anywhere in a name."""
    return f"^{re.escape(settings.events_topic)}$"


def letters_pattern(settings: StreamingSettings) -> str:
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

    ``group`` tells whose consumers read them: those of one name go on where they were, those of another are
    made anew, and stay in memory with what they fetched for minutes.
    """
    frames = [
        spark.read.format("kafka")
        .options(**settings.kafka.spark(), **_reading(settings), **fetches)
        .options(**{"assign": json.dumps(_partitions(places)), "kafka.group.id": group})
        .options(startingOffsets=_json(places), endingOffsets=_json({place: end[place] for place in places}))
        .load()
        for places, fetches in zip(_apart(begin, settings), (EVENT_FETCHES, LETTER_FETCHES), strict=True)
        if places
    ]
    return reduce(DataFrame.unionAll, frames)


def records(spark: SparkSession, settings: StreamingSettings, begin: Offsets | None) -> DataFrame:
    """The stream of committed records with their headers, from ``begin``; None: from the beginning.

    Events and dead letters have a source each, so that a flood of the latter leaves room for the former. A
    core reads its share of the partitions one after the other: there may be hundreds of topics, and to begin
    a task costs as much as a thousand events.
    """
    cores = spark.sparkContext.defaultParallelism
    events, letters = _apart(begin or {}, settings)
    sources = (
        (events_pattern(settings), settings.max_offsets_per_trigger, EVENT_FETCHES, events),
        (letters_pattern(settings), settings.max_dead_letters_per_trigger, LETTER_FETCHES, letters),
    )
    frames = [
        spark.readStream.format("kafka")
        .options(**settings.kafka.spark(), **_reading(settings), **fetches)
        .options(subscribePattern=pattern, maxOffsetsPerTrigger=str(most))
        .option("startingOffsets", _json(places) if places else EARLIEST)
        .load()
        .coalesce(cores)
        for pattern, most, fetches, places in sources
    ]
    return reduce(DataFrame.unionAll, frames)


def _apart(offsets: Offsets, settings: StreamingSettings) -> tuple[Offsets, Offsets]:
    """Those of events and those of dead letters."""
    events = {place: offset for place, offset in offsets.items() if place[0] == settings.events_topic}
    return events, {place: offset for place, offset in offsets.items() if place not in events}


def _reading(settings: StreamingSettings) -> dict[str, str]:
    """A silent broker is noticed within two attempts; what is not there any more is not waited for."""
    return {
        "includeHeaders": "true",
        "failOnDataLoss": "false",
        "fetchOffset.numRetries": "1",
        "fetchOffset.retryIntervalMs": "200",
        "kafkaConsumer.pollTimeoutMs": str(settings.default_api_timeout_ms),
        "kafka.fetch.max.wait.ms": "10",  # a batch ends with a transaction's marker: nothing comes after it
        "kafka.isolation.level": "read_committed",
        "kafka.allow.auto.create.topics": "false",
        "kafka.request.timeout.ms": str(settings.request_timeout_ms),
        "kafka.default.api.timeout.ms": str(settings.default_api_timeout_ms),
    }


def _json(offsets: Offsets) -> str:
    """Offsets as Spark takes them."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics)


def _partitions(offsets: Offsets) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(offsets):
        topics.setdefault(topic, []).append(partition)
    return topics
