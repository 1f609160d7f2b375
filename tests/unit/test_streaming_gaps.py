"""What counts as a gap, and what the store remembers of a topic that is no more."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from streaming import gaps, plans
from streaming.gaps import Cluster, Hole
from streaming.plans import Plan
from streaming.store.batch import Batch
from streaming.store.read_topics import Ended
from streaming.store.schema import series
from streaming.store.series import RECORDS_MISSED
from streaming.store.store import Store

Offsets = Mapping[tuple[str, int], int]
HERE = ("t", 0)
PLAN = Plan({HERE: 10}, {HERE: 50})


@dataclass(frozen=True)
class Case:
    name: str
    missed: int
    first: Offsets = field(default_factory=dict)
    beginning: Offsets = field(default_factory=dict)
    plan: Plan = PLAN


CASES = [
    Case("all was read", 0, {HERE: 10}, {HERE: 10}),
    Case("deleted after it was read", 0, {HERE: 10}, {HERE: 30}),
    Case("markers and aborted records come first", 0, {HERE: 15}, {HERE: 10}),
    Case("deleted before it was read", 20, {HERE: 30}, {HERE: 30}),
    Case("deleted to a marker, which is not read", 20, {HERE: 31}, {HERE: 30}),
    Case("more was deleted since", 20, {HERE: 30}, {HERE: 45}),
    Case("all of it was deleted", 40, {}, {HERE: 90}),
    Case("a range of markers alone", 0, {}, {HERE: 10}),
    Case("the topic is gone since", 40, {}, {}),
    Case("the topic is gone since, after it was read", 0, {HERE: 10}, {}),
    Case("the query's first look at a partition", 0, {HERE: 30}, {HERE: 30}, Plan({}, {HERE: 50})),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_gap_is_what_was_planned_not_read_and_is_no_more(case: Case) -> None:
    counts = gaps.missed(gaps.holes(case.plan, case.first), case.beginning)
    assert counts.total() == case.missed


def test_gaps_of_partitions_add_up_by_topic() -> None:
    found = {("a", 0): Hole(0, 5), ("a", 1): Hole(3, 9), ("b", 0): Hole(0, 1)}
    assert gaps.missed(found, {("a", 0): 5, ("a", 1): 4, ("b", 0): 0}) == {"a": 6}


def test_an_end_before_the_begin_is_of_another_topic() -> None:
    plan = Plan({("a", 0): 9, ("b", 0): 9}, {("a", 0): 3, ("b", 0): 9, ("c", 0): 1})
    assert gaps.went_back(plan) == {"a"}


@dataclass(frozen=True)
class End:
    name: str
    now: Cluster
    expected: list[Ended] = field(default_factory=list)
    last_seen: Offsets = field(default_factory=lambda: {HERE: 15})
    ids: Mapping[str, str] = field(default_factory=lambda: {"t": "1"})


ENDED = [
    End("the same topic", Cluster({"t": "1"}, {HERE: 90})),
    End("the same topic has lost its last records", Cluster({"t": "1"}, {HERE: 3})),
    End("another one", Cluster({"t": "2"}, {HERE: 90}), [Ended("t", "topic_recreated", 5)]),
    End("another one, all was read", Cluster({"t": "2"}, {}), [Ended("t", "topic_recreated", 0)], {HERE: 10}),
    End("another one, never looked at", Cluster({"t": "2"}, {}), [Ended("t", "topic_recreated", 0)], {}),
    End("no ids, it goes on", Cluster({"t": ""}, {HERE: 90}), ids={}),
    End("no ids, it is shorter", Cluster({"t": ""}, {HERE: 9}), [Ended("t", "topic_recreated", 5)], ids={}),
    End("the first look at its id", Cluster({"t": "1"}, {HERE: 10}), ids={}),
    End("gone, all was read", Cluster({}, {}, frozenset("t")), last_seen={HERE: 10}),
    End("gone", Cluster({}, {}, frozenset("t")), [Ended("t", "topic_deleted", 5, {0: 15})]),
    End("kept from us", Cluster({}, {})),
]


@pytest.mark.parametrize("case", ENDED, ids=lambda case: case.name)
def test_which_topics_have_ended(case: End) -> None:
    assert list(gaps.ended({HERE: 10}, case.ids, case.now, case.last_seen)) == case.expected


def written(tmp_path: Path, files: Mapping[str, object]) -> Path:
    for name, offsets in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        head = ["v1"] if name.startswith("sources") else ["v1", "{}"]
        sources = offsets if isinstance(offsets, list) else [offsets]
        file.write_text("\n".join((*head, *(one if one == "-" else json.dumps(one) for one in sources))))
    return tmp_path


def test_a_plan_goes_from_the_batch_before_to_its_own_end(tmp_path: Path) -> None:
    checkpoint = written(
        tmp_path,
        {
            "sources/0/0": {"t": {"0": 3}},
            "offsets/0": {"t": {"0": 7}},
            "offsets/1": {"t": {"0": 7, "1": 2}},
            "commits/0": {},
        },
    )
    assert plans.read(checkpoint, 0) == Plan({HERE: 3}, {HERE: 7})
    assert plans.read(checkpoint, 1) == Plan({HERE: 7}, {HERE: 7, ("t", 1): 2})
    assert plans.read(checkpoint, 2) is None
    assert plans.newest_topics(checkpoint) == (frozenset("t"), True)
    written(tmp_path, {"commits/1": {}})
    assert plans.newest_topics(checkpoint) == (frozenset("t"), False)


def test_a_plan_is_that_of_all_sources(tmp_path: Path) -> None:
    checkpoint = written(
        tmp_path,
        {
            "sources/0/0": {"t": {"0": 3}},
            "sources/1/0": {"u": {"0": 0}},
            "offsets/0": ["-", {"u": {"0": 4}}],
            "offsets/1": [{"t": {"0": 5}}, {"u": {"0": 4}}],
        },
    )
    assert plans.read(checkpoint, 0) == Plan({HERE: 3, ("u", 0): 0}, {("u", 0): 4})
    assert plans.read(checkpoint, 1) == Plan({("u", 0): 4}, {HERE: 5, ("u", 0): 4})


def test_without_a_checkpoint_nothing_is_planned(tmp_path: Path) -> None:
    assert plans.read(tmp_path, 0) is None
    assert plans.newest_topics(tmp_path / "none") == (frozenset(), False)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        batch = Batch(
            query_id="q",
            batch_id=0,
            committed_at_ms=1,
            offsets={("t", 0): 10, ("t", 1): 4, ("u", 0): 1},
            topic_ids={"t": "1", "u": "9"},
            marks={},
        )
        opened.apply(batch)
        yield opened


def missed(url: str) -> dict[tuple[str, str], int]:
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(select(series).where(series.c.name == RECORDS_MISSED.name)).all()
    engine.dispose()
    told = [(json.loads(row.labels), row.value) for row in rows]
    return {(labels["topic"], labels["reason"]): value for labels, value in told}


def test_a_topic_made_anew_is_forgotten_and_counted_once(url: str, store: Store) -> None:
    assert store.topic_ids() == {"t": "1", "u": "9"}
    for _ in range(2):
        store.end_topics([Ended("t", "topic_recreated", 5)], "c1", 1)
        assert (store.offsets(), store.topic_ids()) == ({("u", 0): 1}, {"u": "9"})
        assert missed(url) == {("t", "topic_recreated"): 5}


def test_what_a_deleted_topic_held_is_passed_over_once(url: str, store: Store) -> None:
    for _ in range(2):
        store.end_topics([Ended("t", "topic_deleted", 5, {0: 15, 1: 4})], "c1", 1)
        assert store.offsets() == {("t", 0): 15, ("t", 1): 4, ("u", 0): 1}
        assert store.topic_ids() == {"t": "1", "u": "9"}
        assert missed(url) == {("t", "topic_deleted"): 5}
