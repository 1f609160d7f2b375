"""The checker is checked: a good history has no anomaly, and each that is put into one is found."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.chaos.checker import (
    Anomaly,
    Content,
    History,
    Kind,
    MovedRecord,
    Outcome,
    Place,
    anomalies,
    table,
)

PARTITIONS, RECORDS, TOGETHER = 3, 40, 7
Injury = Callable[[History], History]


def good(seed: int = 1) -> History:
    """Each partition is moved to the one of the same number; offsets of the target have gaps (markers)."""
    rng = Random(seed)
    content = {
        Place(partition, offset): Content(b"key-%d" % (offset % 5), b"%d/%d" % (partition, offset))
        for partition in range(PARTITIONS)
        for offset in range(RECORDS)
    }
    moved, outcomes = [], []
    ends = dict.fromkeys(range(PARTITIONS), 0)
    places = sorted(content, key=lambda place: (place.offset, place.partition))
    for first in range(0, len(places), TOGETHER):
        written = []
        for place in places[first : first + TOGETHER]:
            at = Place(place.partition, ends[place.partition])
            ends[place.partition] += 1
            written.append(MovedRecord(at, place, content[place]))
        for partition in ends:
            ends[partition] += rng.randint(0, 2)
        moved += written
        handled = frozenset(record.dead_letter for record in written)
        outcomes.append(Outcome(handled, frozenset(record.at for record in written)))
    offsets = dict.fromkeys(range(PARTITIONS), RECORDS)
    return History(content, moved, outcomes, offsets, seen=moved[: len(moved) // 2])


def without(history: History, *numbers: int) -> History:
    """Some records are not visible, and the reader on the way has not seen them."""
    gone = {history.moved[number] for number in numbers}
    left = [record for record in history.moved if record not in gone]
    return replace(history, moved=left, seen=[record for record in history.seen if record not in gone])


def copied(history: History) -> History:
    """A record stands there once more, and an outcome tells of it: another transaction has moved it."""
    first = history.moved[0]
    again = first._replace(at=Place(first.at.partition, 10_000))
    outcome = Outcome(frozenset({first.dead_letter}), frozenset({again.at}))
    return replace(history, moved=[*history.moved, again], outcomes=[*history.outcomes, outcome])


def swapped(history: History) -> History:
    """Two dead letters of a partition have changed places within their transaction."""
    moved = list(history.moved)
    first, second = moved[0], moved[PARTITIONS]
    moved[0] = first._replace(dead_letter=second.dead_letter, content=second.content)
    moved[PARTITIONS] = second._replace(dead_letter=first.dead_letter, content=first.content)
    return replace(history, moved=moved, seen=())


def with_value(history: History) -> History:
    moved = list(history.moved)
    moved[4] = moved[4]._replace(content=Content(moved[4].content.key, b"another"))
    return replace(history, moved=moved, seen=())


INJURIES: dict[str, tuple[Injury, set[Kind]]] = {
    "a whole transaction is gone, and nothing tells of it": (
        lambda h: replace(without(h, *range(TOGETHER)), outcomes=h.outcomes[1:]),
        {Kind.LOST},
    ),
    "a record twice": (copied, {Kind.DUPLICATED}),
    "another value": (with_value, {Kind.ALTERED}),
    "two have changed places": (swapped, {Kind.REORDERED}),
    "seen on the way, not there in the end": (
        lambda h: replace(h, seen=[h.moved[0]._replace(at=Place(0, 5_000))]),
        {Kind.ABORTED_READ},
    ),
    "another record in the end than was seen": (
        lambda h: replace(h, seen=[h.moved[0]._replace(content=Content(None, None))]),
        {Kind.ABORTED_READ},
    ),
    "half of a transaction": (lambda h: without(h, 0, 1), {Kind.TORN, Kind.LOST}),
    "records without their outcome": (lambda h: replace(h, outcomes=h.outcomes[:-1]), {Kind.TORN}),
    "an outcome that tells of another's records": (
        lambda h: replace(
            h,
            outcomes=[Outcome(h.outcomes[1].handled, h.outcomes[0].written), *h.outcomes[1:]],
        ),
        {Kind.TORN},
    ),
    "an outcome without its records": (lambda h: without(h, *range(TOGETHER)), {Kind.UNTOLD, Kind.LOST}),
    "an open transaction": (lambda h: replace(h, open_partitions=frozenset({1})), {Kind.HANGING}),
    "offsets that were not committed with the records": (
        lambda h: replace(h, offsets={**h.offsets, 2: RECORDS - 1}),
        {Kind.OFFSETS_BEHIND},
    ),
    "no offsets at all": (lambda h: replace(h, offsets={}), {Kind.OFFSETS_BEHIND}),
}


@pytest.mark.parametrize("seed", range(5))
def test_a_good_history_has_no_anomaly(seed: int) -> None:
    history = good(seed)
    assert len(history.moved) == PARTITIONS * RECORDS
    assert anomalies(history) == []


@pytest.mark.parametrize(("injury", "kinds"), INJURIES.values(), ids=INJURIES)
def test_every_anomaly_is_found_and_called_by_its_name(injury: Injury, kinds: set[Kind]) -> None:
    assert {one.kind for one in anomalies(injury(good()))} == kinds


def test_every_kind_is_tried() -> None:
    assert set.union(*(kinds for _, kinds in INJURIES.values())) == set(Kind)


def test_anomalies_are_counted_by_kind() -> None:
    found = [
        Anomaly(Kind.LOST, Place(0, 1)),
        Anomaly(Kind.LOST, Place(0, 2)),
        Anomaly(Kind.TORN, Place(1, 1)),
    ]
    assert table(found) == {"lost": 2, "torn": 1}
