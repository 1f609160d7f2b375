"""From where to where a backfill reads, and what it says it cannot."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.store.batch import Offsets
from streaming import rebuild_plan
from streaming.backfill import since_ms_of, written
from streaming.rebuild_plan import Extent, Plan
from tests.tables import named

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
EXTENT = Extent(
    begin={A0: 0, A1: 10, B0: 0},
    since={A0: 4, A1: 20, B0: 0},
    end={A0: 8, A1: 20, B0: 5},
    ids={"a": "id-a", "b": "id-b"},
)


def test_anew_reads_since_the_time_and_forgets_what_was_counted_before() -> None:
    work = rebuild_plan.anew(EXTENT, {A0: 8, A1: 15, B0: 5})
    assert work.plan == Plan({A0: 4, A1: 20, B0: 0}, EXTENT.end)
    assert work.plan.records == 4 + 0 + 5
    assert work.forgotten == {"a": 4 + 15}


def test_of_a_topic_that_is_gone_everything_is_forgotten_and_nothing_that_nobody_has_counted() -> None:
    assert rebuild_plan.anew(EXTENT, {("gone", 0): 7}).forgotten == {"gone": 7}
    assert rebuild_plan.anew(EXTENT, {}).forgotten == {}


NAMELESS = replace(EXTENT, ids={"a": "", "b": ""})
ON_TOP = [
    ("what the store has not", EXTENT, {A0: 3, A1: 12}, {"a": "id-a"}, {A0: 3, A1: 12}, {}),
    ("what was deleted unread", EXTENT, {A1: 2}, {"a": "id-a"}, {A1: 10}, {"a": 8}),
    ("a topic made anew", EXTENT, {A0: 3}, {"a": "another"}, {A0: 0}, {}),
    ("one that is shorter", EXTENT, {A0: 99}, {}, {A0: 0}, {}),
    ("a broker without ids tells no topic from its successor", NAMELESS, {A0: 3}, {"a": "id-a"}, {A0: 3}, {}),
]


@pytest.mark.parametrize(("extent", "stored", "ids", "begin", "unread"), named(ON_TOP))
def test_on_top_reads_on_from_the_store(
    extent: Extent, stored: Offsets, ids: dict[str, str], begin: Offsets, unread: dict[str, int]
) -> None:
    work = rebuild_plan.on_top(extent, stored, ids)
    assert work.plan.begin == {**EXTENT.begin, **begin}
    assert (work.forgotten, work.unread) == ({}, unread)


PLACES = st.tuples(st.sampled_from("abc"), st.integers(0, 2))


NOW_MS = 100


class Times:
    """The times of the records of partitions, whose first offset is 5."""

    def __init__(self, times: dict[tuple[str, int], list[int]]) -> None:
        self._times = times
        begin = dict.fromkeys(times, 5)
        self.plan = Plan(begin, {place: 5 + len(of) for place, of in times.items()})

    def offsets_at(self, time_ms: int) -> dict[tuple[str, int], int]:
        """As Kafka finds them: the first offset of a record of this time or later."""
        return {
            place: next((5 + at for at, record_ms in enumerate(of) if record_ms >= time_ms), -1)
            for place, of in self._times.items()
        }


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(PLACES, st.lists(st.integers(-1, NOW_MS + 20), max_size=50)), st.integers(1, 20))
def test_slices_follow_one_another_and_leave_nothing_out(
    times: dict[tuple[str, int], list[int]], most: int
) -> None:
    records = Times(times)
    reached = dict(records.plan.begin)
    for part in rebuild_plan.slices(records.plan, most, records.offsets_at, (0, NOW_MS)):
        assert 0 < part.records <= most + len(times)
        for place, begin in part.begin.items():
            assert begin == reached[place]
        reached |= part.end
    assert reached == records.plan.end


def test_what_was_written_first_is_read_first_though_its_source_has_come_to_another_partition() -> None:
    records = Times({A0: list(range(50)), A1: list(range(50, 100))})
    parts = list(rebuild_plan.slices(records.plan, 30, records.offsets_at, (0, NOW_MS)))
    read = [place for part in parts for place in sorted(part.end)]
    assert read == sorted(read), "the second partition is begun when the first one was read"
    assert sum(part.records for part in parts) == 100


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("beginning", 0),
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T01:00:00.250+01:00", 250),
        ("1969-01-01T00:00:00Z", 0),
    ],
)
def test_a_time_is_read(text: str, time_ms: int) -> None:
    assert since_ms_of(text) == time_ms


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-21", "2026-11-21T08:00:00"])
def test_a_time_without_its_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time with its zone"):
        since_ms_of(text)


@given(st.integers(0, 4_000_000_000_000))
def test_what_is_written_is_read_again(time_ms: int) -> None:
    assert since_ms_of(written(time_ms)) == time_ms
