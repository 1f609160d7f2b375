"""A filter says of a group what it says of the group's newest record, whatever its headers hold.

Spark and Python read the same out of the headers (``tests/spark/test_letter_parity.py``); a scan of Kafka, a
redrive and its Spark executors evaluate one and the same ``Filter`` on what Python reads. This is the index.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from api import group_lists
from api.group_filter import CONSUMER, GROUP_FIELDS
from api.group_lists import Asked
from api.waiting import Waiting
from collector.contract import headers as names
from streaming.dialects import DIALECTS, Dialect, Reading, read_as
from streaming.filter import Filter
from streaming.letter import Letter, letter_of
from streaming.store import letters
from streaming.store.batch import GroupDelta
from tests.hostile_headers import HEADERS

TIMES_MS = st.one_of(st.integers(-1, 4_102_444_800_000), st.sampled_from([0, 1 << 53, (1 << 63) - 1]))
NOTHING_HANDLED = Waiting((), {}, {})
TEXTS = [name for name in GROUP_FIELDS if name != "timestamp"]
SHAPES = [
    "{field} == {text}",
    "{field} != {text}",
    "{field}.contains({half})",
    "!{field}.startsWith({half})",
    "{field}.size() > {size}",
    '{field}.matches("^[a-z.]*$")',
    '{field} == "" || timestamp > timestamp("2026-01-01T00:00:00Z")',
    '{field} < {half} && topic == "dlq.t"',
]


def found(store: Engine, letter: Letter, text: str) -> bool:
    """Whether the list of groups has the one of this letter, of which nothing is left behind."""
    group = GroupDelta(
        fingerprint=letter.fingerprint,
        kafka_cluster="c",
        dlq_topic=letter.topic,
        dialect=letter.dialect,
        source_topic=letter.source_topic,
        consumer=letter.consumer,
        error_class=letter.error_class,
        message_pattern="",
        message=letter.message,
        records=1,
        first_ms=letter.timestamp_ms,
        last_ms=letter.timestamp_ms,
    )
    with store.connect() as connection:
        letters.merge(connection, [group], [], max_groups=10, samples_per_group=1, now_ms=0)
        rows = group_lists.find(connection, Asked(filter=text), NOTHING_HANDLED, now_ms=0).rows
        connection.rollback()
    return bool(rows)


def literal(text: str) -> str:
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


@pytest.mark.usefixtures("_reading")
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(headers=HEADERS, time_ms=TIMES_MS, field=st.sampled_from(TEXTS), shape=st.sampled_from(SHAPES))
def test_a_filter_says_the_same_of_a_group_and_of_its_record(
    store: Engine, headers: list[tuple[str, bytes | None]], time_ms: int, field: str, shape: str
) -> None:
    letter = letter_of("dlq.t", 0, 0, time_ms, None, None, headers)
    value = str(getattr(letter, field))
    text = shape.format(
        field=field, text=literal(value[:300]), half=literal(value[:20]), size=len(value) // 2
    )
    assert found(store, letter, text) is Filter(text)(letter), text


def test_where_a_dialect_names_group_and_connector_a_group_cannot_tell_which_it_is(store: Engine) -> None:
    both = Dialect(name="own", consumergroup="x-group", connector="x-connector")
    read_as(Reading((*DIALECTS, both)))
    try:
        own = letter_of("dlq.t", 0, 0, 1, None, None, [("x-group", b"a")])
        connects = letter_of("dlq.t", 0, 0, 1, None, None, [(names.CONNECT_CONNECTOR, b"a")])
        for field in CONSUMER:
            assert not found(store, own, f'{field} == "a"')
            assert not found(store, own, f'{field} != "a"')
        assert found(store, own, 'dialect == "own"')
        assert found(store, connects, 'connector == "a"')
    finally:
        read_as(Reading())
