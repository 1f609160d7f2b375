"""A batch is merged where it begins at the store's offsets, once, and nowhere else."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from deadwatch.store import schema
from deadwatch.store.batch import Offsets, delta
from deadwatch.store.errors import OffsetsMovedError
from deadwatch.store.series import RECORDS_MISSED
from deadwatch.store.store import Store
from deadwatch.store.write.progress import DEAD_LETTERS, EVENTS
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import EMPTY, Rows

rows = suite.rows
MISSED = delta(RECORDS_MISSED, {"topic": "t"}, 4, first_ms=1, last_ms=1)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        opened.apply(replace(EMPTY, offsets={HERE: 10}, stream=EVENTS))
        yield opened


HERE, THERE = ("t", 0), ("t", 1)
MOVES: dict[str, tuple[Offsets, Offsets, bool | None]] = {
    "it begins where the store is": ({HERE: 10}, {HERE: 12}, True),
    "a partition that is new": ({HERE: 10}, {HERE: 12, THERE: 3}, True),
    "only a partition that is new": ({}, {THERE: 3}, True),
    "it stays where it is": ({HERE: 10}, {HERE: 10}, True),
    "backwards, where another topic has the name": ({HERE: 10}, {HERE: 4}, True),
    "nothing was read": ({}, {}, True),
    "merged before": ({HERE: 5}, {HERE: 10}, False),
    "merged before, when the partition was new": ({}, {HERE: 10}, False),
    "the store is behind it": ({HERE: 11}, {HERE: 12}, None),
    "the store is ahead of it": ({HERE: 9}, {HERE: 12}, None),
    "the store knows a partition that it takes for new": ({}, {HERE: 12}, None),
    "the store does not know a partition": ({THERE: 1}, {THERE: 3}, None),
    "half of it was merged before": ({HERE: 5, THERE: 1}, {HERE: 10, THERE: 3}, None),
}
"""Batches on a store that is at 10 in one partition and knows no other; None: it is refused."""


@pytest.mark.parametrize(("begins", "offsets", "merged"), MOVES.values(), ids=MOVES)
def test_a_batch_is_merged_where_it_begins_at_the_stores_offsets(
    store: Store, rows: Rows, begins: Offsets, offsets: Offsets, merged: bool | None
) -> None:
    batch = replace(EMPTY, stream=EVENTS, begins=begins, offsets=offsets, series=(MISSED,))
    if merged is None:
        with pytest.raises(OffsetsMovedError, match=r"t-[01]: the batch begins at .*: nothing was merged"):
            store.apply(batch)
    else:
        assert store.apply(batch) is merged
    assert store.offsets() == {HERE: 10, **(offsets if merged else {})}
    assert rows(schema.series, "value") == ([4] if merged else [])
    assert rows(schema.batches, "query_id batch_id") == [(EVENTS, int(bool(merged)))]


def test_what_is_passed_over_is_counted_once(store: Store, rows: Rows) -> None:
    for _ in range(2):  # the answer to the first one was lost
        store.pass_over({HERE: 10}, {HERE: 15, THERE: 0}, {"t": "id"}, [MISSED])
        assert (store.offsets(), store.topic_ids()) == ({HERE: 15, THERE: 0}, {"t": "id"})
        assert rows(schema.series, "value") == [4]
    with pytest.raises(OffsetsMovedError):
        store.pass_over({HERE: 10}, {HERE: 16}, {}, [MISSED])
    assert rows(schema.series, "value") == [4]


def test_each_stream_notes_its_own_last_batch_and_one_without_records_leaves_its_lag(
    store: Store, rows: Rows
) -> None:
    late = replace(EMPTY, stream=DEAD_LETTERS, records=3, lag_ms=7_200_000)
    for batch in (
        late,
        replace(EMPTY, stream=EVENTS, records=1, lag_ms=40),
        replace(late, records=0, lag_ms=0),
    ):
        assert store.apply(batch)
    noted = rows(schema.batches, "query_id batch_id records lag_ms")
    assert noted == [(DEAD_LETTERS, 1, 0, 7_200_000), (EVENTS, 1, 1, 40)]
