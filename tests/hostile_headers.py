"""Headers of dead letters that are read in several places, which have to agree: hostile ones among them."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import strategies as st

from deadwatch.contract import headers as names
from deadwatch.deadletter.dialects import DIALECTS, Dialect, Reading, read_as
from deadwatch.deadletter.dialects.dialect import FromTopic

OWN = (
    Dialect(
        name="orders",
        source_topic="x-topic",
        source_partition="x-partition",
        source_offset="x-offset",
        consumergroup="x-group",
        error_class="x-error",
        message="x-message",
    ),
    Dialect(name="x", source_offset="x-off", message="x", connector="x.y", binary_numbers=True),
    Dialect(
        name="wrapping",
        source_topic=("y-topic", "y-from"),
        error_class=("y-cause", "y-class"),
        message="y-message",
        cause_class="y-thrown",
        cause_message="y-why",
        stacktrace="y-trace",
        others=("y-other",),
        wrappers=("7", "Offset rejected by client."),
        from_topic={
            "source_topic": FromTopic(topic=r"dlq\.(.*)", value=r"\1"),
            "error_class": FromTopic(topic=".*", value="7"),
        },
        newest_first=True,
    ),
)
READINGS = [
    Reading(),
    Reading(first_counts=True),
    Reading((*DIALECTS, *OWN)),
    Reading((*DIALECTS, *OWN), first_counts=True),
]
NAMES = [
    *(header for one in DIALECTS for header in one.headers),
    names.SHARE_DELIVERY_COUNT,
    names.REDRIVE_ATTEMPTS,
    names.REDRIVE_ID,
    "a",
]
OWN_NAMES = [*(header for one in OWN for header in one.headers), "x-of", "x-offset2", "ax", "x.y\n"]
VALUES = [
    None,
    b"",
    b"7",
    b" +7\n",
    b"\x7f-8\x00",
    b"0007",
    b"7.0",
    b"1e3",
    b"0x1",
    b"+",
    b"2147483648",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"Offset rejected by client.",
    "caf\u00e9 \U0001f600 'x 1'".encode(),
    b"a\xff\xfe\x00",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    "\u00a0\u06677".encode(),
    b"x" * 1_001,
    b" " + b"0" * 5_000 + b"1",
    b"0" * 5_000,
    b"-" + b"0" * 5_000 + b"1",
    b"1" * 5_000,
    b"org.springframework.kafka.listener.ListenerExecutionFailedException",
    b"a.B: c\n\tat d\nCaused by: e.F: g\n\tat h\nCaused by: i.J\n\t... 2 more\n",
    (7).to_bytes(4, "big"),
    (-7).to_bytes(4, "big", signed=True),
    (1 << 40).to_bytes(8, "big"),
    (-1).to_bytes(8, "big", signed=True),
]
HEADERS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(NAMES), st.sampled_from(OWN_NAMES)),
        st.one_of(st.sampled_from(VALUES), st.binary(max_size=12)),
    ),
    max_size=8,
)
"""Of one record."""
RECORDS = st.lists(HEADERS, min_size=30, max_size=60)
"""Headers of each."""


@contextmanager
def reading_as(how: Reading) -> Iterator[None]:
    """Headers are read in this way inside."""
    read_as(how)
    try:
        yield
    finally:
        read_as(Reading())
