"""Headers of dead letters that are read in several places, which have to agree: hostile ones among them."""

from hypothesis import strategies as st

from collector.contract import headers as names
from streaming.dialects import DIALECTS, Dialect, Reading

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
)
READINGS = [
    Reading(),
    Reading(first_counts=True),
    Reading((*DIALECTS, *OWN)),
    Reading((*DIALECTS, *OWN), first_counts=True),
]
NAMES = [
    *(
        name
        for one in DIALECTS
        for name in (one.source_topic, one.source_partition, one.source_offset, one.message)
    ),
    names.CONNECT_EXCEPTION,
    names.CONNECT_CONNECTOR,
    names.SHARE_GROUP,
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
