"""What is done of a partition survives in a commit, whatever the order of completion."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.move.open_offsets import MAX_OPEN, MAX_SPAN, METADATA_BYTES, OpenOffsets, decode, encode

BEGIN = 1_000_000_000


def resumed(offsets: OpenOffsets) -> OpenOffsets:
    return OpenOffsets.resumed(*offsets.commit())


def remaining(offsets: OpenOffsets, end: int) -> set[int]:
    """What is still to be done up to ``end``."""
    return offsets.open | set(range(offsets.position, end))


@given(
    holes=st.sets(st.integers(0, 3_000), max_size=400),
    gap=st.integers(3_001, 1 << 40),
    moved=st.integers(0, 1 << 62),
)
def test_what_is_encoded_is_decoded(holes: set[int], gap: int, moved: int) -> None:
    wanted = sorted(holes | {0})
    metadata = encode(moved, gap, wanted)
    assert decode(metadata) == (moved, gap, wanted)
    assert len(metadata) <= METADATA_BYTES


@given(count=st.integers(1, 60), data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_order_of_completion_resumes_to_exactly_what_is_not_done(count: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(count)))
    cuts = set(data.draw(st.lists(st.integers(0, count), max_size=5)))
    offsets = OpenOffsets(BEGIN)
    for offset in range(BEGIN, BEGIN + count):
        offsets.read(offset)
    done: set[int] = set()
    for step, number in enumerate(order):
        if step in cuts:
            closed = offsets.closed
            offsets = resumed(offsets)
            assert offsets.closed == closed
            assert remaining(offsets, BEGIN + count) == {BEGIN + n for n in set(range(count)) - done}
            for offset in range(offsets.position, BEGIN + count):
                offsets.read(offset)
        closed = offsets.closed
        offsets.done(BEGIN + number)
        assert offsets.closed > closed
        done.add(number)
    assert resumed(offsets).commit() == (BEGIN + count, "")


@given(seed=st.integers(), jump=st.sampled_from([1, 2, 100, 1 << 30]))
@settings(max_examples=8, deadline=None)
def test_as_long_as_there_is_room_every_order_of_completion_fits(seed: int, jump: int) -> None:
    """Reads as far as it may, with gaps, and closes at random: the metadata never passes what Kafka takes."""
    rng = Random(seed)
    offsets = OpenOffsets(BEGIN, moved=(1 << 62))
    offset = BEGIN
    for _ in range(3):
        while offsets.room(offset):
            offsets.read(offset)
            offset += rng.randint(1, jump)
            if jump <= 2 and rng.random() < 0.3:
                offsets.done(offsets.position - 1)
        open_now = sorted(offsets.open)
        for closed in rng.sample(open_now[1:], k=len(open_now) // 2):
            offsets.done(closed)
        first, metadata = offsets.commit()
        assert len(metadata) <= METADATA_BYTES
        again = OpenOffsets.resumed(first, metadata)
        assert again.open == {one for one in offsets.open if one < offsets.done_to}
        offsets.done(open_now[0])


def test_a_hole_that_closes_makes_room() -> None:
    offsets = OpenOffsets(0)
    for offset in range(MAX_SPAN):
        assert offsets.room(offset)
        offsets.read(offset)
    assert not offsets.room(MAX_SPAN)
    offsets.done(0)
    assert offsets.room(MAX_SPAN)
    assert not offsets.room(MAX_SPAN + 1)


def test_few_holes_never_stop_the_reading() -> None:
    offsets = OpenOffsets(0)
    for offset in range(0, 10**12, 10**10):
        assert offsets.room(offset)
        offsets.read(offset)


def test_what_retention_took_is_passed_over_once_and_what_waits_is_kept() -> None:
    """Also where the distance is more than a bitmap has bits for."""
    offsets = OpenOffsets(0)
    for offset in range(4 * MAX_OPEN):
        offsets.read(offset)
    waiting = set(range(0, 4 * MAX_OPEN, 2))
    for offset in range(1, 4 * MAX_OPEN, 2):
        offsets.done(offset)
    offsets = resumed(offsets)
    closed = offsets.closed
    offsets.expired(10**9)
    assert offsets.closed > closed
    after = resumed(offsets)
    assert (after.position, after.open) == (10**9, waiting)
    assert len(offsets.commit()[1]) <= METADATA_BYTES


def test_what_came_to_nothing_is_open_again() -> None:
    offsets = OpenOffsets(5)
    offsets.read(5)
    offsets.read(6)
    offsets.done(5)
    offsets.undone(5)
    assert offsets.commit()[0] == 5
    assert remaining(resumed(offsets), 7) == {5, 6}


def test_what_is_moved_together_is_done_in_any_order_and_open_again_where_that_is_undone() -> None:
    """A transaction has what it moves by the fast path first, and then what was put off before."""
    offsets = OpenOffsets(5)
    for offset in range(5, 9):
        offsets.read(offset)
    offsets.all_moved([8, 5])
    assert remaining(resumed(offsets), 9) == {6, 7}
    offsets.none_moved([8, 5])
    assert offsets.moved == 0
    offsets.open.update(range(9, 5 + MAX_SPAN))
    assert not offsets.room(5 + MAX_SPAN)


def test_metadata_that_is_cut_is_refused() -> None:
    with pytest.raises((ValueError, StopIteration)):
        decode(encode(1 << 40, 5, [0, 3])[:3])
