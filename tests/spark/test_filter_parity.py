"""One filter, one answer: as browsing reads Kafka, as a redrive reads it, and in Spark's executors."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.sql import DataFrame

from deadwatch.contract import headers as names
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.record import parse_record
from redrive.librdkafka import DeadLetterDecoder, decoded

Pairs = list[tuple[str, str | bytes | None]]


def failed(number: int) -> Pairs:
    return [
        (names.CONNECT_TOPIC, b"orders"),
        (names.CONNECT_PARTITION, b"3"),
        (names.CONNECT_OFFSET, b"%d" % number),
        (names.CONNECT_CONNECTOR, b"sink"),
        (names.CONNECT_EXCEPTION, b"a.b.DataException"),
        (names.CONNECT_MESSAGE, b"failed at %d \xff" % number),
        (names.REDRIVE_ATTEMPTS, b"%d" % (number % 3)),
    ]


HEADERS: list[Pairs] = [[], [("tenant", b"acme"), ("empty", None)], *map(failed, range(6))]
VALUES = [None, b"", b'{"currency":"EUR"}', "ü\ud7ff".encode(), b"\xff\xfe", b"x" * 70_000]
FILTERS = (
    "true",
    'connector == "sink" && source_offset > 2',
    'message.matches("at [0-3] ")',
    'headers.get("tenant") == "acme"',
    'headers["tenant"] == "acme" || attempts == 1',
    'value.contains("EUR") || value_size == -1',
    "size(value) == 65536 && value_size == 70000",
    'has(headers.empty) && headers.empty == ""',
    'timestamp >= timestamp("1970-01-01T00:00:00.007Z") && offset % 2 == 1',
    "1 / attempts == 1",
    'fingerprint != "" && key == "k3"',
)


def message(number: int) -> Any:  # noqa: ANN401 -- a record as librdkafka hands it over
    key, value, headers = b"k%d" % (number % 5), VALUES[number % len(VALUES)], HEADERS[number % len(HEADERS)]
    return Message("dlq.t", 0, number, key, value, headers, timestamp=(1, number))


@pytest.mark.parametrize("text", FILTERS)
def test_it_selects_the_same_records(source: Callable[..., DataFrame], text: str) -> None:
    matches, messages, decoder = Filter(text), [message(number) for number in range(48)], DeadLetterDecoder()
    browsed = {found.offset() for found in messages if matches(decoded(found))}
    moved = {found.offset() for found in messages if matches(decoder.decode(found))}
    names_of = ("topic", "offset", "key", "value", "headers")
    rows = [{name: getattr(found, name)() for name in names_of} for found in messages]

    def holds(row: Any) -> bool:  # noqa: ANN401 -- a row of Spark
        headers = [(pair["key"], pair["value"] and bytes(pair["value"])) for pair in row["headers"] or ()]
        read = parse_record("dlq.t", 0, row["offset"], row["offset"], row["key"], row["value"], headers)
        return matches(read)

    frame = source(rows).select("offset", "key", "value", "headers")
    selected = {row["offset"] for row in frame.rdd.filter(holds).collect()}
    assert browsed == moved == selected
    assert text == "true" or len(browsed) < len(messages)
