"""A dead letter decoded in Python, in every dialect."""

from dataclasses import dataclass, field

import pytest

from collector.contract import headers as names
from collector.contract.fingerprint import fingerprint
from streaming.letter import Letter, letter_of

Pairs = list[tuple[str, bytes | None]]

CONNECT: Pairs = [
    ("trace", b"1"),
    (names.CONNECT_TOPIC, b"payments"),
    (names.CONNECT_PARTITION, b"3"),
    (names.CONNECT_OFFSET, b"42"),
    (names.CONNECT_CONNECTOR, b"sink"),
    (names.CONNECT_EXCEPTION, b"org.apache.kafka.connect.errors.DataException"),
    (names.CONNECT_MESSAGE, None),
]
SHARE: Pairs = [
    (names.SHARE_TOPIC, b"orders"),
    (names.SHARE_PARTITION, b"0"),
    (names.SHARE_OFFSET, b"7"),
    (names.SHARE_GROUP, b"g1"),
    (names.SHARE_DELIVERY_COUNT, b"5"),
    (names.SHARE_MESSAGE, b"Offset rejected by client."),
]
STREAMS: Pairs = [
    (names.STREAMS_EXCEPTION, b"java.lang.IllegalStateException"),
    (names.STREAMS_MESSAGE, b"no 12"),
    (names.STREAMS_TOPIC, b"words"),
    (names.STREAMS_PARTITION, b"1"),
    (names.STREAMS_OFFSET, b"9"),
]
SPRING: Pairs = [
    ("kafka_dlt-original-topic", b"bills"),
    ("kafka_dlt-original-partition", (2).to_bytes(4, "big")),
    ("kafka_dlt-original-offset", (1 << 40).to_bytes(8, "big")),
    ("kafka_dlt-original-consumer-group", b"billing"),
    ("kafka_dlt-exception-fqcn", b"a.b.Failed"),
    ("kafka_dlt-exception-message", b"it failed"),
]


def decoded(headers: Pairs | None) -> Letter:
    return letter_of("dlq.t", 0, 5, 1_000, b"k", None, headers)


@dataclass(frozen=True)
class Case:
    name: str
    headers: Pairs | None
    dialect: str = "unknown"
    origin: tuple[str, int | None, int | None] = ("", None, None)
    who: tuple[str, str] = ("", "")
    why: tuple[str, str] = ("", "")
    broken: bool = False
    more: Pairs = field(default_factory=list)


CASES = [
    Case("no headers at all", None),
    Case("nobody's headers", [("a", b"b"), ("a", None)]),
    Case(
        "Connect, with a null message",
        CONNECT,
        "connect",
        ("payments", 3, 42),
        ("", "sink"),
        ("org.apache.kafka.connect.errors.DataException", ""),
    ),
    Case(
        "a share group tells causes by message",
        SHARE,
        "share_group",
        ("orders", 0, 7),
        ("g1", ""),
        ("rejected", "Offset rejected by client."),
    ),
    Case("Streams", STREAMS, "streams", ("words", 1, 9), why=("java.lang.IllegalStateException", "no 12")),
    Case(
        "Spring writes numbers as bytes",
        SPRING,
        "spring",
        ("bills", 2, 1 << 40),
        ("billing", ""),
        ("a.b.Failed", "it failed"),
    ),
    Case(
        "Spring's retry topics",
        [
            ("kafka_original-topic", b"bills"),
            ("kafka_original-partition", (2).to_bytes(4, "big")),
            ("kafka_original-offset", (-1).to_bytes(8, "big", signed=True)),
            ("kafka_exception-fqcn", b"a.b.Failed"),
        ],
        "spring",
        ("bills", 2, -1),
        why=("a.b.Failed", ""),
    ),
    Case(
        "Spring's numbers of another length",
        [("kafka_dlt-original-topic", b"bills"), ("kafka_dlt-original-partition", b"2")],
        "spring",
        ("bills", None, None),
        broken=True,
    ),
    Case(
        "the last header's dialect decides",
        [*CONNECT, *STREAMS],
        "streams",
        ("words", 1, 9),
        why=("java.lang.IllegalStateException", "no 12"),
    ),
    Case(
        "the last of one name counts",
        [*STREAMS, (names.STREAMS_TOPIC, b"later"), (names.STREAMS_MESSAGE, None)],
        "streams",
        ("later", 1, 9),
        why=("java.lang.IllegalStateException", ""),
    ),
    Case(
        "a number that is none",
        [(names.STREAMS_TOPIC, b"t"), (names.STREAMS_PARTITION, b"x"), (names.STREAMS_OFFSET, b"1e3")],
        "streams",
        ("t", None, None),
        broken=True,
    ),
    Case(
        "numbers that do not fit",
        [(names.STREAMS_PARTITION, b"2147483648"), (names.STREAMS_OFFSET, b"9" * 100_000)],
        "streams",
        broken=True,
    ),
    Case(
        "blanks and a sign around a number",
        [(names.STREAMS_PARTITION, b" +7\n"), (names.STREAMS_OFFSET, b"0000000000000000000000009")],
        "streams",
        ("", 7, 9),
    ),
    Case(
        "text that is not UTF-8",
        [(names.STREAMS_TOPIC, b"a\xffb\x00")],
        "streams",
        ("a\ufffdb\ufffd", None, None),
        broken=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_headers_tell_where_a_record_failed_and_why(case: Case) -> None:
    letter = decoded(case.headers)
    assert letter.dialect == case.dialect
    assert (letter.source_topic, letter.source_partition, letter.source_offset) == case.origin
    assert (letter.consumergroup, letter.connector) == case.who
    assert (letter.error_class, letter.message) == case.why
    assert letter.broken is case.broken
    assert letter.headers == tuple(case.headers or ())


def test_the_fingerprint_is_the_one_of_the_contract() -> None:
    expected = fingerprint("share_group", "orders", "g1", "rejected", "Offset rejected by client.")
    assert decoded(SHARE).fingerprint == expected


def test_a_record_that_was_moved_before_tells_how_often_and_by_which_order() -> None:
    own: Pairs = [
        (names.REDRIVE_ID, b"o1"),
        (names.REDRIVE_ATTEMPTS, b"3"),
        (names.REDRIVE_NOT_BEFORE_MS, b"17"),
        (names.REDRIVE_ORIGIN, b"payments/3/42"),
    ]
    letter = decoded([*own, *CONNECT])
    assert (letter.cause.order, letter.attempts, letter.cause.not_before_ms, letter.cause.origin) == (
        "o1",
        3,
        17,
        "payments/3/42",
    )
    assert letter.dialect == "connect"


@pytest.mark.parametrize("attempts", [b"", b"x", b"-4", None, b"9" * 50])
def test_attempts_that_cannot_be_read_are_none(attempts: bytes | None) -> None:
    assert decoded([(names.REDRIVE_ATTEMPTS, attempts)]).attempts == 0


def test_a_letter_shows_no_payload() -> None:
    shown = repr(letter_of("dlq.t", 0, 5, 1_000, b"secret", b"secret", [("a", b"secret")]))
    assert "secret" not in shown
