"""What counts as a gap, and what the store remembers of a topic that is no more."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from deadwatch.store.batch import Offsets
from deadwatch.store.series import RECORDS_MISSED
from deadwatch.store.store import Store
from deadwatch.store.write.progress import Ended
from streaming import data_loss
from streaming.data_loss import Topics
from tests.unit.deadwatch.store.suite import EMPTY

HERE = ("t", 0)
STORED = {HERE: 10, ("t", 1): 4, ("u", 0): 1}
IDS = {"t": "1", "u": "9"}


GAPS = {
    "all was read": (0, 10, {HERE: 10}),
    "deleted after it was read": (0, 10, {HERE: 30}),
    "markers and aborted records come first": (0, 15, {HERE: 10}),
    "deleted before it was read": (20, 30, {HERE: 30}),
    "deleted to a marker, which is not read": (20, 31, {HERE: 30}),
    "more was deleted since": (20, 30, {HERE: 45}),
    "the topic is gone since": (20, 30, {}),
    "the topic is gone since, after it was read": (0, 10, {}),
    "the query's first look at a partition": (0, 30, {HERE: 30}, {}),
}


@pytest.mark.parametrize("case", GAPS.values(), ids=GAPS)
def test_a_gap_is_what_was_not_read_and_is_no_more(case: tuple[Any, ...]) -> None:
    """The store is at 10; ``reached`` is the first record, or where Spark has come without one."""
    missed, reached, beginning, begins = (*case, {HERE: 10})[:4]
    assert data_loss.missed(data_loss.skipped(begins, {HERE: reached}), beginning).total() == missed


def test_gaps_of_partitions_add_up_by_topic() -> None:
    found = {("a", 0): range(5), ("a", 1): range(3, 9), ("b", 0): range(1)}
    assert data_loss.missed(found, {("a", 0): 5, ("a", 1): 4, ("b", 0): 0}) == {"a": 6}


@dataclass(frozen=True)
class End:
    name: str
    now: Topics
    expected: Ended | None = None
    last_seen: int | None = 15
    ids: Mapping[str, str] = field(default_factory=lambda: {"t": "1"})


RECREATED = Ended("t", "topic_recreated", 5)
ENDED = [
    End("the same topic", Topics({"t": "1"}, {HERE: 90})),
    End(
        "it has lost its last records",
        Topics({"t": "1"}, {HERE: 3}),
        Ended("t", "topic_truncated", 5, {0: 3}),
    ),
    End(
        "it has lost what no leader has, and so has another topic",
        Topics({"t": "1"}, {HERE: 3}, written={HERE: 4, ("u", 2): 1}),
        Ended("t", "topic_truncated", 5, {0: 3}, {0: 4}),
    ),
    End("another one", Topics({"t": "2"}, {HERE: 90}), RECREATED),
    End("another one, all was read", Topics({"t": "2"}, {}), replace(RECREATED, unread=0), 10),
    End("another one, never looked at", Topics({"t": "2"}, {}), replace(RECREATED, unread=0), None),
    End("no ids, it goes on", Topics({"t": ""}, {HERE: 90}), ids={}),
    End("no ids, it is shorter", Topics({"t": ""}, {HERE: 9}), RECREATED, ids={}),
    End("the first look at its id", Topics({"t": "1"}, {HERE: 10}), ids={}),
    End("gone, all was read", Topics({}, {}, frozenset("t")), None, 10),
    End("gone", Topics({}, {}, frozenset("t")), Ended("t", "topic_deleted", 5, {0: 15})),
    End("kept from us", Topics({}, {})),
]


@pytest.mark.parametrize("case", ENDED, ids=lambda case: case.name)
def test_which_topics_have_ended(case: End) -> None:
    other = ("u", 1)
    last_ends = {} if case.last_seen is None else {HERE: case.last_seen, other: 9}
    found = list(data_loss.ended({HERE: 10, other: 4}, case.ids, case.now, last_ends))
    assert found == ([case.expected] if case.expected else [])


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        opened.apply(replace(EMPTY, offsets=STORED, topic_ids=IDS))
        yield opened


def records_missed(url: str) -> dict[tuple[str, str], int]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        query = "SELECT labels, value FROM series WHERE name = ?"
        rows = connection.execute(query, (RECORDS_MISSED.name,)).fetchall()
    found = [(json.loads(labels), value) for labels, value in rows]
    return {(labels["topic"], labels["reason"]): value for labels, value in found}


@pytest.mark.parametrize(
    ("ended", "offsets", "topic_ids"),
    [
        (Ended("t", "topic_recreated", 5), {("u", 0): 1}, {"u": "9"}),
        (Ended("t", "topic_deleted", 5, {0: 15, 1: 4}), {**STORED, HERE: 15}, IDS),
        (Ended("t", "topic_truncated", 5, {0: 3}), {**STORED, HERE: 3}, IDS),
    ],
    ids=["one made anew is forgotten", "a deleted one is passed over", "a shorter one goes on at its end"],
)
def test_what_a_topic_held_unread_is_counted_once(
    url: str, store: Store, ended: Ended, offsets: Offsets, topic_ids: Mapping[str, str]
) -> None:
    assert (store.offsets(), store.topic_ids()) == (STORED, IDS)
    for _ in range(2):
        store.end_topics([ended], "c1", 1)
        assert (store.offsets(), store.topic_ids()) == (offsets, topic_ids)
        assert records_missed(url) == {("t", ended.reason): 5}
