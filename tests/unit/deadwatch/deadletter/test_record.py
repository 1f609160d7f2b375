"""A dead letter record parsed in Python, in every dialect."""

from dataclasses import dataclass

import pytest

from deadwatch.contract import headers as names
from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.contract.fingerprint import fingerprint
from deadwatch.deadletter.dialects import DIALECTS, Reading
from deadwatch.deadletter.record import OURS, DeadLetter, describes_failure, is_utf8, number_of, parse_record
from tests.dialect_headers import (
    ARROYO,
    CONNECT,
    LISTENER_FAILED,
    SHARE,
    SMALLRYE,
    SMALLRYE_RETRIES,
    SPRING,
    SPRING_CLOUD_STREAM,
    SPRING_DESERIALIZATION,
    SPRING_KEY,
    SPRING_ORIGINAL,
    SPRING_RETRIES,
    STREAMS,
    replaced,
)
from tests.hostile_headers import reading_as
from tests.kafka_records import Headers


def parsed(headers: Headers | None) -> DeadLetter:
    return parse_record("dlq.t", 0, 5, 1_000, b"k", None, headers)


@dataclass(frozen=True)
class Case:
    name: str
    headers: Headers | None
    dialect: str = "unknown"
    source: tuple[str, int | None, int | None] = ("", None, None)
    consumer: tuple[str, str] = ("", "")
    error: tuple[str, str] = ("", "")
    broken: bool = False
    wrapper: str = ""


PLACE = ("orders", 2, 256)
ACCOUNT = ("org.example.AccountException", "no account 7:\n at line 1")
NO_ACCOUNT = ("org.example.AccountException", "no account")
DESERIALIZATION = "org.springframework.kafka.support.serializer.DeserializationException"
UNREADABLE = ("org.apache.kafka.common.errors.SerializationException", "Size of data received is not 4")
REJECTED = ("rejected", "Offset rejected by client.")
FAILED = ("org.example.StreamsException", "")
LISTENER = ("org.example.ListenerException", "no account")
BAD_VALUE = ("org.example.DataException", "bad value at 77")
PROCESSING = "io.smallrye.reactive.messaging.providers.ProcessingException"
HANDLING = "org.springframework.messaging.MessageHandlingException"
OFFSET, PARTITION = names.STREAMS_OFFSET, names.STREAMS_PARTITION


def spring(name: str, headers: Headers, error: tuple[str, str], wrapper: str = "") -> Case:
    """A record of ``PLACE`` on which the group ``billing`` failed."""
    return Case(name, headers, "spring", PLACE, ("billing", ""), error, wrapper=wrapper)


def smallrye(name: str, headers: Headers, error: tuple[str, str] = NO_ACCOUNT, wrapper: str = "") -> Case:
    return Case(name, headers, "smallrye", PLACE, error=error, wrapper=wrapper)


CASES = [
    Case("no headers at all", None),
    Case("nobody's headers", [("a", b"b"), ("a", None)]),
    Case("Connect", [("trace", b"1"), *CONNECT], "connect", ("orders", 2, 77), ("", "sink"), BAD_VALUE),
    Case("share group: causes by message", SHARE, "share_group", ("orders", 1, 5), ("g1", ""), REJECTED),
    Case("Streams, with a null message", STREAMS, "streams", ("orders", 3, 9), error=FAILED),
    spring("Spring: numbers as bytes", SPRING, LISTENER),
    Case("Spring's other family", SPRING_ORIGINAL, "spring", PLACE, error=LISTENER),
    spring(
        "Spring's retry topics have the group from the other family", SPRING_RETRIES, ACCOUNT, LISTENER_FAILED
    ),
    spring(
        "Spring: the family that wrote last goes before the one that wrote first",
        [*SPRING_RETRIES, *SPRING],
        LISTENER,
    ),
    spring(
        "Spring: what was written on the way of retries goes before what was there",
        [*replaced(SPRING, "topic", b"bills"), *SPRING_RETRIES],
        ACCOUNT,
        LISTENER_FAILED,
    ),
    spring(
        "Spring: a cause that is a wrapper itself is looked up in the stack trace",
        SPRING_DESERIALIZATION,
        UNREADABLE,
        DESERIALIZATION,
    ),
    spring("Spring: the exception of a key", SPRING_KEY, UNREADABLE, DESERIALIZATION),
    Case(
        "Spring: a wrapper stays where nothing says what it holds",
        [("kafka_dlt-exception-fqcn", LISTENER_FAILED.encode()), ("kafka_dlt-exception-message", b"failed")],
        "spring",
        error=(LISTENER_FAILED, "failed"),
    ),
    Case(
        "Spring Cloud Stream: the cause is in the stack trace",
        SPRING_CLOUD_STREAM,
        "spring_cloud_stream",
        PLACE,
        error=NO_ACCOUNT,
        wrapper=HANDLING,
    ),
    smallrye("SmallRye: numbers as text", SMALLRYE),
    smallrye(
        "SmallRye: the newest headers are the first",
        [*SMALLRYE, *replaced(replaced(SMALLRYE, "reason", b"old"), "offset", b"1")],
    ),
    smallrye(
        "SmallRye: the exception that the library puts around that of the application",
        replaced(SMALLRYE, "exception-class-name", PROCESSING.encode()),
        ("java.sql.SQLException", "no row"),
        PROCESSING,
    ),
    smallrye(
        "SmallRye with retries: the oldest place is the origin",
        [*replaced(SMALLRYE_RETRIES, "topic", b"orders_retry_10000"), *SMALLRYE_RETRIES],
    ),
    Case("Arroyo: a place without its topic", ARROYO, "arroyo", ("", 2, 256)),
    Case(
        "Spring's numbers of another length",
        [("kafka_dlt-original-topic", b"bills"), ("kafka_dlt-original-partition", b"2")],
        "spring",
        ("bills", None, None),
        broken=True,
    ),
    Case("the last header decides", [*CONNECT, *STREAMS], "streams", ("orders", 3, 9), error=FAILED),
    Case(
        "the last of one name counts",
        [*STREAMS, (names.STREAMS_TOPIC, b"later"), (names.STREAMS_MESSAGE, b"x")],
        "streams",
        ("later", 3, 9),
        error=(FAILED[0], "x"),
    ),
    Case("no number: offset", [(PARTITION, b"1"), (OFFSET, b"1e3")], "streams", ("", 1, None), broken=True),
    Case("no number: partition", [(PARTITION, b"x"), (OFFSET, b"8")], "streams", ("", None, 8), broken=True),
    Case(
        "text that is not UTF-8",
        [(names.STREAMS_TOPIC, b"a\xffb\x00")],
        "streams",
        ("a\ufffdb\ufffd", None, None),
        broken=True,
    ),
]


def test_every_dialect_has_a_case() -> None:
    assert {dialect.name for dialect in DIALECTS} < {case.dialect for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_headers_tell_where_a_record_failed_and_why(case: Case) -> None:
    record = parsed(case.headers)
    assert record.dialect == case.dialect
    assert (record.source_topic, record.source_partition, record.source_offset) == case.source
    assert (record.consumergroup, record.connector) == case.consumer
    assert (record.error_class, record.message) == case.error
    assert record.broken is case.broken
    assert record.wrapper == case.wrapper
    assert record.headers == tuple(case.headers or ())
    assert record.fingerprint == fingerprint(
        case.dialect, case.source[0], "".join(case.consumer), *case.error
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (CONNECT, "9d75b02f4409b3f3"),
        (SHARE, "34f0d98d4a0c564b"),
        (STREAMS, "6fbe83342fcc944c"),
        (SPRING, "98b44a8f343d96bc"),
        (SPRING_ORIGINAL, "ece57a79437d90f8"),
    ],
)
def test_a_cause_keeps_the_fingerprint_that_stores_in_use_have(headers: Headers, expected: str) -> None:
    assert parsed(headers).fingerprint == expected


@pytest.mark.parametrize(
    ("raw", "width", "is_binary", "number"),
    [
        (None, 4, False, None),
        (b" +7\n", 4, False, 7),
        (b"0000000000000000000000009", 4, False, 9),
        (b"2147483647", 4, False, 2_147_483_647),
        (b"2147483648", 4, False, None),
        (b"-2147483648", 4, False, -2_147_483_648),
        (b"-2147483649", 4, False, None),
        (b"2147483648", 8, False, 2_147_483_648),
        (b"9" * 100_000, 8, False, None),
        (b" " + b"0" * 5_000 + b"1", 4, False, 1),
        (b"-" + b"0" * 5_000 + b"1", 4, False, -1),
        (b"0" * 5_000, 8, False, 0),
        (b"+0", 8, False, 0),
        (b"", 8, False, None),
        (b"\xff\xff\xff\xfe", 4, True, -2),
        (b"\x01\x00\x00\x00", 8, True, None),
    ],
)
def test_numbers_are_read_where_they_fit(
    raw: bytes | None, width: int, is_binary: bool, number: int | None
) -> None:
    assert number_of(raw, width, is_binary=is_binary) == number


def test_the_fingerprint_is_of_more_of_a_message_than_is_kept() -> None:
    values = [b"Cannot read '" + b"x" * length + b"' as a date" for length in (1, MAX_TEXT_CHARS, 2_000)]
    assert len({parsed(replaced(STREAMS, "message", value)).fingerprint for value in values}) == 1
    other = replaced(STREAMS, "message", values[-1].replace(b"date", b"time"))
    assert parsed(other).fingerprint != parsed(replaced(STREAMS, "message", values[-1])).fingerprint


def test_text_is_cut_and_is_never_null() -> None:
    long = replaced(STREAMS, "message", b"x" * (MAX_TEXT_CHARS + 1))
    assert parsed(long).message == "x" * MAX_TEXT_CHARS
    assert (is_utf8(b"\xff"), is_utf8(b"x"), is_utf8(None)) == (False, True, True)


def test_the_first_header_of_a_name_counts_where_that_is_set_but_of_ours_the_last() -> None:
    with reading_as(Reading(first_counts=True)):
        record = parsed(
            [*STREAMS, (names.STREAMS_TOPIC, b"x"), *((names.REDRIVE_ID, i) for i in (b"1", b"2"))]
        )
    assert (record.source_topic, record.cause.order) == ("orders", "2")


def test_a_record_that_was_moved_before_tells_how_often_and_by_which_order() -> None:
    own: Headers = [
        (names.REDRIVE_ID, b"o1"),
        (names.REDRIVE_ATTEMPTS, b"3"),
        (names.REDRIVE_ORIGIN, b"payments/3/42"),
    ]
    cause = parsed([*own, *CONNECT]).cause
    assert (cause.order, cause.attempts, cause.origin) == ("o1", 3, "payments/3/42")
    assert (cause.dialect, cause.marked) == ("connect", True)
    assert all(parsed([(name, None)]).cause.marked for name in OURS)
    assert not parsed(CONNECT).cause.marked


@pytest.mark.parametrize("attempts", [b"", b"x", b"-4", None, b"9" * 50])
def test_attempts_that_cannot_be_read_are_none(attempts: bytes | None) -> None:
    assert parsed([(names.REDRIVE_ATTEMPTS, attempts)]).attempts == 0


def test_a_record_shows_no_payload_and_knows_its_size() -> None:
    record = parse_record("dlq.t", 0, 5, 1_000, b"secret", b"top secret", [("a", b"secret")])
    assert "secret" not in repr(record)
    assert (record.size, parsed(None).size) == (16, 1)


def test_a_header_of_a_dialect_and_one_of_ours_describe_the_failure() -> None:
    headers = ("tenant", names.STREAMS_MESSAGE, names.REDRIVE_ATTEMPTS, "dead-letter-reason")
    assert [header for header in headers if not describes_failure(header)] == ["tenant"]
