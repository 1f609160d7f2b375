"""A search text is words or a filter; a filter says of a group what it says of the group's newest record.

Spark and Python read the same out of the headers (``tests/spark/test_filter_parity.py``); a scan of Kafka, a
redrive and its Spark executors evaluate one and the same ``Filter`` on what Python reads. This is the index.
"""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from api.signals import group_lists
from api.signals.group_filter import GROUP_FIELDS, MAX_WORDS, matcher, words_in
from api.signals.group_lists import GroupListRequest
from api.signals.waiting import Waiting
from deadwatch.contract import headers as names
from deadwatch.deadletter.dialects import DIALECTS, Dialect, Reading
from deadwatch.deadletter.dialects.dialect import FromTopic
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.store import schema
from deadwatch.store.batch import GroupDelta
from deadwatch.store.write import dead_letters
from tests.hostile_headers import HEADERS, reading_as

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


def found(store: Engine, record: DeadLetter, text: str) -> bool:
    """Whether the list of groups has the group of this dead letter, of which nothing is left behind."""
    place = (record.fingerprint, "c", record.topic, record.dialect, record.source_topic)
    cause = (record.connector or record.consumergroup, record.error_class, "", record.message)
    group = GroupDelta(*place, *cause, 1, record.timestamp_ms, record.timestamp_ms)
    with store.connect() as connection:
        dead_letters.merge(connection, [group], [], max_groups=10, samples_per_group=1, now_ms=0)
        rows = group_lists.find(connection, GroupListRequest(filter=text), NOTHING_HANDLED, now_ms=0).rows
        connection.rollback()
    return bool(rows)


def literal(text: str) -> str:
    return '"' + "".join(f"\\U{ord(char):08x}" for char in text) + '"'


@pytest.mark.usefixtures("_reading")
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(headers=HEADERS, time_ms=TIMES_MS, field=st.sampled_from(TEXTS), shape=st.sampled_from(SHAPES))
def test_a_filter_says_the_same_of_a_group_and_of_its_record(
    store: Engine, headers: list[tuple[str, bytes | None]], time_ms: int, field: str, shape: str
) -> None:
    record = parse_record("dlq.t", 0, 0, time_ms, None, None, headers)
    value = str(getattr(record, field))
    text = shape.format(
        field=field, text=literal(value[:300]), half=literal(value[:20]), size=len(value) // 2
    )
    assert found(store, record, text) is Filter(text)(record), text


@pytest.mark.parametrize(
    "both",
    [
        Dialect(name="own", consumergroup="x-group", connector="x-connector"),
        Dialect(
            name="own",
            consumergroup="x-group",
            from_topic={"connector": FromTopic(topic="other", value="c")},
        ),
    ],
    ids=["by headers", "by a header and a topic"],
)
def test_where_a_dialect_names_group_and_connector_a_group_cannot_tell_which_it_is(
    store: Engine, both: Dialect
) -> None:
    with reading_as(Reading((*DIALECTS, both))):
        own = parse_record("dlq.t", 0, 0, 1, None, None, [("x-group", b"a")])
        connects = parse_record("dlq.t", 0, 0, 1, None, None, [(names.CONNECT_CONNECTOR, b"a")])
        for field in ("connector", "consumergroup"):
            assert not found(store, own, f'{field} == "a"')
            assert not found(store, own, f'{field} != "a"')
        assert found(store, own, 'dialect == "own"')
        assert found(store, connects, 'connector == "a"')


def test_a_filter_that_takes_long_gives_a_page_of_what_was_looked_at(
    store: Engine, add_row: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        add_row(schema.groups, fingerprint=f"f{number}", last_ms=number + 1)
    monkeypatch.setattr(group_lists, "SEARCH_MS", 0)
    pages, after = [], None
    with store.connect() as connection:
        for _ in range(4):
            asked = GroupListRequest(filter='fingerprint != "f1"', after=after)
            page = group_lists.find(connection, asked, NOTHING_HANDLED, now_ms=0)
            pages.append([row.fingerprint for row in page.rows])
            after = page.next
    assert (pages, after) == ([["f2"], [], ["f0"], []], None)


WORDS: dict[str, tuple[str, ...] | None] = {
    "": (),
    "   ": (),
    "org.apache.kafka.connect.errors.DataException": ("org.apache.kafka.connect.errors.DataException",),
    "timeout orders timeout": ("timeout", "orders"),
    'price "is null"  orders': ("price", "is null", "orders"),
    '"a == b && c"': ("a == b && c",),
    "Expiring 3 record(s) for orders-0:120004 ms": (
        "Expiring",
        "3",
        "record(s)",
        "for",
        "orders-0:120004",
        "ms",
    ),
    "(topic=orders, offset=17) -> List<String>": ("(topic=orders,", "offset=17)", "->", "List<String>"),
    "an error in orders": ("an", "error", "in", "orders"),
    'unclosed "quote': ("unclosed", '"quote'),
    "error_class == 'A'": None,
    '"A" == error_class': None,
    'error_class=="A B"': None,
    "error_class = 3": None,
    "attempts < 3": None,
    "attempts<3": None,
    'error_class>"A"': None,
    'dialect in ["connect"]': None,
    'message.contains("a b")': None,
    '!message.startsWith("a")': None,
}


@pytest.mark.parametrize("text", WORDS)
def test_a_search_text_is_words_unless_it_has_an_operator_or_a_function(text: str) -> None:
    assert words_in(text) == WORDS[text]


@pytest.mark.parametrize("text", ["message.contains(", "a == b", "Map.get(Map.java:17)"])
def test_a_broken_filter_says_how_to_search_for_its_text(text: str) -> None:
    with pytest.raises(FilterError, match="put it between double quotes"):
        matcher(text)
    assert matcher(f'"{text}"')[1](text)


def test_words_are_bounded_and_the_refusal_says_what_to_do() -> None:
    most = " ".join(map(str, range(MAX_WORDS)))
    assert matcher(most)[1](most)
    with pytest.raises(FilterError, match="51 words are more than 50; search for fewer words"):
        matcher(f"{most} one-more")
