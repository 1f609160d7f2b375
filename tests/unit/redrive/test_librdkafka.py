"""A dead letter whose cause is remembered reads as one that is decoded by itself."""

from hypothesis import given
from hypothesis import strategies as st

from deadwatch.deadletter.dialects import DIALECTS
from deadwatch.deadletter.record import parse_record
from redrive.librdkafka import DeadLetterDecoder
from tests.unit.redrive.move.fakes import DLQ, record

PLACE = ("source_offset", "source_topic", "source_partition")
NAMES = [name for one in DIALECTS for field in PLACE for name in one.names(field)]
VALUES = st.sampled_from(
    [b"1", b"2", b"17", b"x", b"", b"-3", b" 4", b"9" * 30, (5).to_bytes(8, "big"), None]
)
HEADERS = st.lists(st.tuples(st.sampled_from([*NAMES, "own"]), VALUES), max_size=5)


@given(st.lists(HEADERS, min_size=2, max_size=12))
def test_a_remembered_cause_gives_what_decoding_gives(records: list[list[tuple[str, bytes | None]]]) -> None:
    decoder = DeadLetterDecoder()
    for number, headers in enumerate(records * 2):
        key, value = b"k%d" % number, b"v%d" % number
        message = record(number % 3, number, number * 10, key=key, value=value, headers=headers)
        decoded = parse_record(DLQ, number % 3, number, number * 10, key, value, headers)
        assert decoder.decode(message) == decoded
