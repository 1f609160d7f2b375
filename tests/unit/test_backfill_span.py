"""From where to where a backfill reads, and what it says it cannot."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.backfill import span
from streaming.backfill.span import Extent
from streaming.plans import Plan

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
EXTENT = Extent(
    begin={A0: 0, A1: 10, B0: 0},
    since={A0: 4, A1: 20, B0: 0},
    end={A0: 8, A1: 20, B0: 5},
    ids={"a": "id-a", "b": "id-b"},
)


def test_anew_is_read_what_kafka_has_since_the_time_and_what_was_counted_before_is_told() -> None:
    work = span.anew(EXTENT, {A0: 8, A1: 15, B0: 5})
    assert work.plan == Plan({A0: 4, A1: 20, B0: 0}, EXTENT.end)
    assert work.records == 4 + 0 + 5
    assert work.forgotten == {"a": 4 + 15}


def test_of_a_topic_that_is_gone_everything_is_forgotten() -> None:
    assert span.anew(EXTENT, {("gone", 0): 7}).forgotten == {"gone": 7}


def test_what_nobody_has_counted_is_not_forgotten() -> None:
    assert span.anew(EXTENT, {}).forgotten == {}


def test_on_top_is_read_what_the_store_has_not() -> None:
    work = span.on_top(EXTENT, {A0: 3, A1: 12}, {"a": "id-a"})
    assert work.plan.begin == {A0: 3, A1: 12, B0: 0}
    assert (work.forgotten, work.unread) == ({}, {})


def test_on_top_what_was_deleted_unread_is_told() -> None:
    work = span.on_top(EXTENT, {A1: 2}, {"a": "id-a"})
    assert work.plan.begin[A1] == 10
    assert work.unread == {"a": 8}


def test_on_top_a_topic_that_was_made_anew_is_read_from_its_beginning() -> None:
    assert span.on_top(EXTENT, {A0: 3}, {"a": "another"}).plan.begin[A0] == 0
    assert span.on_top(EXTENT, {A0: 99}, {}).plan.begin[A0] == 0


def test_a_broker_without_ids_tells_no_topic_from_its_successor() -> None:
    nameless = Extent(EXTENT.begin, EXTENT.since, EXTENT.end, {"a": "", "b": ""})
    assert span.on_top(nameless, {A0: 3}, {"a": "id-a"}).plan.begin[A0] == 3


@given(
    st.dictionaries(st.tuples(st.text(max_size=1), st.integers(0, 2)), st.integers(0, 50)), st.integers(1, 20)
)
def test_slices_follow_one_another_and_leave_nothing_out(
    widths: dict[tuple[str, int], int], most: int
) -> None:
    plan = Plan(dict.fromkeys(widths, 5), {place: 5 + width for place, width in widths.items()})
    reached = dict(plan.begin)
    for part in span.slices(plan, most):
        assert 0 < sum(part.end[place] - part.begin[place] for place in part.end) <= most + len(widths)
        for place, begin in part.begin.items():
            assert begin == reached[place]
        reached |= part.end
    assert reached == plan.end


@dataclass(frozen=True)
class Case:
    text: str
    time_ms: int


@pytest.mark.parametrize(
    "case",
    [
        Case("beginning", 0),
        Case("1970-01-01T00:00:01Z", 1_000),
        Case("1970-01-01T01:00:00.250+01:00", 250),
        Case("1969-01-01T00:00:00Z", 0),
    ],
    ids=lambda case: case.text,
)
def test_a_time_is_read(case: Case) -> None:
    assert span.since_ms(case.text) == case.time_ms


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-21", "2026-11-21T08:00:00"])
def test_a_time_without_its_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time with its zone"):
        span.since_ms(text)


@given(st.integers(0, 4_000_000_000_000))
def test_what_is_written_is_read_again(time_ms: int) -> None:
    assert span.since_ms(span.written(time_ms)) == time_ms
