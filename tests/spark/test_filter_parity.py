"""One filter, one answer: as browsing reads Kafka, as a redrive reads it, and in Spark's executors."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from api.browsing.windows import letter
from collector.contract import headers as names
from streaming.filter import Filter
from streaming.letter import letter_of
from streaming.redrive.letters import Letters

pytestmark = pytest.mark.spark

Pairs = list[tuple[str, bytes | None]]


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
VALUES: list[bytes | None] = [
    None,
    b"",
    b'{"currency":"EUR"}',
    "ü\ud7ff".encode(),
    b"\xff\xfe",
    b"x" * 70_000,
]
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


class Message:
    """A record as librdkafka hands it over."""

    def __init__(self, number: int) -> None:
        self._number = number

    def topic(self) -> str:
        return "dlq.t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._number

    def timestamp(self) -> tuple[int, int]:
        return 1, self._number

    def key(self) -> bytes | None:
        return b"k%d" % (self._number % 5)

    def value(self) -> bytes | None:
        return VALUES[self._number % len(VALUES)]

    def headers(self) -> Pairs | None:
        return HEADERS[self._number % len(HEADERS)]

    def error(self) -> None:
        return None


@pytest.mark.parametrize("text", FILTERS)
def test_it_selects_the_same_records(kafka: Callable[..., DataFrame], text: str) -> None:
    matches, messages, letters = Filter(text), [Message(number) for number in range(48)], Letters()
    browsed = {one.offset() for one in messages if matches(letter(one))}
    moved = {one.offset() for one in messages if matches(letters.letter(one))}
    rows = [
        {
            "topic": "dlq.t",
            "offset": one.offset(),
            "key": one.key(),
            "value": one.value(),
            "headers": one.headers(),
        }
        for one in messages
    ]

    def holds(row: Any) -> bool:  # noqa: ANN401 -- a row of Spark
        told = [(one["key"], one["value"] and bytes(one["value"])) for one in row["headers"] or ()]
        read = letter_of("dlq.t", 0, row["offset"], row["offset"], row["key"], row["value"], told)
        return matches(read)

    frame = kafka(rows).select("offset", "key", "value", "headers")
    selected = {row["offset"] for row in frame.rdd.filter(holds).collect()}
    assert browsed == moved == selected
    assert text == "true" or len(browsed) < len(messages)
