"""What an operator may say, right or wrong, as strategies of Hypothesis."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tests.chaos.traffic import DLQ_TOPIC, ELSEWHERE, ORIGIN

MOST = 1 << 63

number = st.integers(0, 1_000)
"""Chooses one of what there is."""
text = st.one_of(
    st.sampled_from(("fixed", "it's <b>fixed</b>", "line\nline", "", "\0", "ünïcödé \u202e", "x" * 5_000)),
    st.text(max_size=30),
)
integer = st.one_of(st.integers(-2, 200), st.sampled_from((MOST, -MOST, 10**40)))
time = st.one_of(
    st.integers(1_790_000_000, 1_800_000_000).map(lambda at_s: datetime.fromtimestamp(at_s, UTC).isoformat()),
    st.sampled_from(("2026-11-21T12:00:00", "yesterday", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")),
)
expression = st.one_of(
    st.sampled_from(
        (
            "attempts < 3",
            'dialect == "streams"',
            'error_class.endsWith("7")',
            'value.contains("1") && dialect != "unknown"',
            "source_partition == 1 || attempts > 0",
            "ataempts < 3",
            "1",
            "((((",
            '"' * 3,
            "true",
        )
    ),
    text,
)
topic = st.one_of(
    *3 * (st.just(DLQ_TOPIC),),
    st.sampled_from((f"{DLQ_TOPIC}.parked", ORIGIN, "missing", "__consumer_offsets", ".")),
)
target = st.one_of(
    *2 * (st.just({"kind": "origin"}),),
    st.just({"kind": "topic", "topic": ELSEWHERE}),
    st.just({"kind": "map", "map": {ORIGIN: ELSEWHERE}}),
    st.sampled_from(
        (
            {"kind": "topic", "topic": DLQ_TOPIC},
            {"kind": "topic", "topic": "missing"},
            {"kind": "retry", "consumergroup": "group"},
            {"kind": "map", "map": {ORIGIN: "b", "b": ORIGIN}},
            {"kind": "nowhere"},
        )
    ),
)
place = st.fixed_dictionaries({"partition": st.integers(0, 2), "offset": st.integers(0, 500)})
interval = st.tuples(st.integers(0, 400), st.integers(1, 80)).map(lambda one: [one[0], one[0] + one[1]])
offsets = st.dictionaries(st.sampled_from(("0", "1")), interval, min_size=1)
selection: st.SearchStrategy[dict[str, Any]] = st.one_of(
    offsets.map(lambda one: {"offsets": one}),
    st.lists(place, min_size=1, max_size=20).map(lambda one: {"records": one}),
    expression.map(lambda one: {"filter": one}),
    st.just({"all": True}),
    st.just({"group": ""}),  # stands for one that there is
    st.fixed_dictionaries({}, optional={"from": time, "to": time}),
    st.sampled_from(({"all": False}, {"all": True, "filter": "attempts < 3"}, {"offsets": {"-1": [0, 1]}})),
)
rate = st.sampled_from((None, 50, 500))
limits = st.fixed_dictionaries(
    {"records_per_second": rate, "max_records": st.one_of(*3 * (st.integers(1, 200),), integer)}
)
reason = st.one_of(*3 * (st.just("fixed"),), text)
order = st.fixed_dictionaries(
    {"dlq_topic": topic, "selection": selection, "limits": limits, "reason": reason},
    optional={"target": target, "retry": st.just({"retry_backoff_ms": 0})},
)
policy = st.fixed_dictionaries(
    {
        "dlq_topics": st.sampled_from(([r"dlq\.orders"], [r"dlq\.others"], [r"dlq\.none"], ["("], [])),
        "enabled": st.booleans(),
        "reason": reason,
    },
    optional={
        "filter": expression,
        "include_existing": st.booleans(),
        "limits": st.fixed_dictionaries({"records_per_second": st.none()}),
    },
)
token = st.fixed_dictionaries(
    {"name": text, "role": st.sampled_from(("viewer", "operator", "admin", "king"))},
    optional={"expires_in_days": st.none() | integer},
)
page = st.fixed_dictionaries(
    {}, optional={"limit": integer, "after": text, "filter": expression, "order": text, "surprise": text}
)
junk = st.one_of(
    st.binary(max_size=60),
    st.sampled_from((b"", b"{", b"[]", b"null", b'{"a":' * 2_000, b"\xff\xfe", b'{"reason": "\\ud800"}')),
)
