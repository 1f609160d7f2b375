"""A letter that is remembered reads as one that is decoded."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from streaming.dialects import DIALECTS
from streaming.letter import letter_of
from streaming.redrive.letters import Letters

Pairs = list[tuple[str, bytes | None]]

NAMES = [name for one in DIALECTS for name in (one.source_offset, one.source_topic, one.source_partition)]
VALUES = st.sampled_from(
    [b"1", b"2", b"17", b"x", b"", b"-3", b" 4", b"9" * 30, (5).to_bytes(8, "big"), None]
)
HEADERS = st.lists(st.tuples(st.sampled_from([*NAMES, "own"]), VALUES), max_size=5)


@dataclass(frozen=True)
class Message:
    number: int
    pairs: Pairs

    def topic(self) -> str:
        return "dlq"

    def partition(self) -> int:
        return self.number % 3

    def offset(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, self.number * 10

    def key(self) -> bytes:
        return b"k%d" % self.number

    def value(self) -> bytes:
        return b"v%d" % self.number

    def headers(self) -> Pairs:
        return self.pairs

    def error(self) -> None:
        return None


@given(st.lists(HEADERS, min_size=2, max_size=12))
def test_a_remembered_letter_is_the_one_that_decoding_gives(
    records: list[list[tuple[str, bytes | None]]],
) -> None:
    letters = Letters()
    for number, pairs in enumerate(records * 2):
        message = Message(number, pairs)
        decoded = letter_of(
            "dlq", number % 3, number, number * 10, message.key(), message.value(), message.pairs
        )
        assert letters.letter(message) == decoded
