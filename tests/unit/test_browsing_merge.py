"""The merge of partitions: complete and in order however it is cut, and it always moves."""

from collections.abc import Mapping
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.browsing.merge import Merge
from api.browsing.query import Order, Query, decode, encode
from api.browsing.windows import Budget, Reading, Windows
from api.errors import InvalidCursorError
from streaming.letter import Letter, letter_of
from streaming.redrive.order import Interval

Log = Mapping[int, Letter]
"""What a partition holds, by offset: with gaps."""

PARTITIONS = st.lists(
    st.dictionaries(st.integers(0, 400), st.integers(0, 50), max_size=40), min_size=1, max_size=4
)


class Kafka:
    """Reads windows as the real reader does; every ``stops_at``-th reading gives up after a few letters."""

    def __init__(self, logs: list[Log], most: int) -> None:
        self._logs, self._most = logs, most

    def read(self, windows: Windows, budget: Budget) -> dict[int, Reading]:
        left = self._most
        found = {partition: Reading(first) for partition, (first, _) in windows.items()}
        for partition, (first, end) in windows.items():
            for offset in sorted(self._logs[partition]):
                if first <= offset < end and left:
                    found[partition].letters.append(self._logs[partition][offset])
                    found[partition].position = offset + 1
                    left -= 1
                    budget.records -= 1
            if left:
                found[partition].position = end
        return found


def logs_of(partitions: list[dict[int, int]]) -> list[Log]:
    return [
        {
            offset: letter_of("dlq.t", number, offset, time_ms, None, b"v", ())
            for offset, time_ms in one.items()
        }
        for number, one in enumerate(partitions)
    ]


@given(
    partitions=PARTITIONS,
    most=st.integers(1, 200),
    budget=st.integers(1, 300),
    page=st.integers(1, 50),
    order=st.sampled_from(Order),
)
def test_pages_together_hold_every_letter_once_and_each_partition_in_its_order(
    partitions: list[dict[int, int]], most: int, budget: int, page: int, order: Order
) -> None:
    logs = logs_of(partitions)
    left: dict[int, Interval] = dict.fromkeys(range(len(logs)), (0, 401))
    given_out: list[Letter] = []
    while left:
        before = dict(left)
        merge = Merge(left, Kafka(logs, max(most, len(logs))).read, newest_first=order is Order.NEWEST)
        given_out += islice(merge.letters(Budget(budget, 1 << 30, 1, lambda: 0)), page)
        left = merge.left
        assert left != before
        if left:
            query = Query("dlq.t", order=order)
            assert decode(query, encode(query, left)) == left
    for number, log in enumerate(logs):
        offsets = [letter.offset for letter in given_out if letter.partition == number]
        assert offsets == sorted(log, reverse=order is Order.NEWEST)


@given(
    times=st.lists(st.integers(0, 1_000), min_size=1, max_size=60),
    parts=st.integers(1, 4),
    order=st.sampled_from(Order),
)
def test_where_partitions_are_in_time_order_so_is_the_whole(
    times: list[int], parts: int, order: Order
) -> None:
    logs = logs_of([dict(enumerate(sorted(times[part::parts]))) for part in range(parts)])
    left = {number: (0, len(log)) for number, log in enumerate(logs)}
    merge = Merge(left, Kafka(logs, 1_000).read, newest_first=order is Order.NEWEST)
    found = [one.timestamp_ms for one in merge.letters(Budget(1_000, 1_000, 1, lambda: 0))]
    assert found == sorted(times, reverse=order is Order.NEWEST)


def test_without_time_nothing_is_read_and_nothing_is_lost() -> None:
    logs = logs_of([{0: 1}])
    merge = Merge({0: (0, 1)}, Kafka(logs, 10).read, newest_first=True)
    assert [*merge.letters(Budget(10, 10, 0, lambda: 0))] == []
    assert (merge.moved, merge.left) == (False, {0: (0, 1)})


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "====", "A" * 50_000, "eJyLrlYqLU4tUrJSUEpMTk1JTVGqBQBJOAbE", "\ud800", "é"],
)
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        decode(Query("dlq.t"), cursor)


@pytest.mark.parametrize(
    "left", [{}, {0: (5, 5)}, {0: (7, 5)}, {-1: (0, 1)}, {0: (-1, 1)}, {2**31: (0, 1)}, {0: (0, 2**63)}]
)
def test_a_cursor_of_places_that_cannot_be_is_refused(left: dict[int, Interval]) -> None:
    query = Query("dlq.t")
    with pytest.raises(InvalidCursorError):
        decode(query, encode(query, left))
    with pytest.raises(InvalidCursorError):
        decode(Query("dlq.other"), encode(query, {0: (0, 1)}))
