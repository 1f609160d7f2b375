"""What was moved before is known to the offset, and takes a bit for each offset at most."""

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from deadwatch.orders.handled import BLOCK, BYTES, Block, Handled, blocks, united
from redrive.plan.history import behind

ZLIB = 16
"""Bytes around what cannot be made smaller."""

RUNS = st.lists(st.tuples(st.integers(0, 3 * BLOCK), st.integers(1, BLOCK + 9)), max_size=8)


def kept(*runs: tuple[int, tuple[int, int], str]) -> dict[Block, bytes]:
    found: dict[Block, bytes] = {}
    for partition, run, outcome in runs:
        for block, part in blocks(partition, run, outcome):
            found[block] = united(found.get(block), [part])
    return found


@settings(max_examples=25)
@example(runs=[(BLOCK - 1, 2), (2 * BLOCK, BLOCK)])
@given(runs=RUNS)
def test_exactly_the_offsets_that_were_handled_are_known(runs: list[tuple[int, int]]) -> None:
    ranges = [(first, first + length) for first, length in runs]
    handled = Handled(kept(*((7, run, "sent") for run in ranges)))
    edges = {offset + step for run in ranges for offset in run for step in (-1, 0, 1)} | {0, BLOCK, 5 * BLOCK}
    for offset in edges - {-1}:
        known = any(first <= offset < end for first, end in ranges)
        assert handled.reason(7, offset) == ("already_moved" if known else None)
        assert handled.reason(6, offset) is None


def test_what_was_parked_is_distinguished_and_what_was_moved_comes_first() -> None:
    handled = Handled(kept((0, (0, 10), "parked"), (0, (5, 6), "sent")))
    assert [handled.reason(0, offset) for offset in (4, 5, 10)] == ["already_parked", "already_moved", None]


def test_no_history_takes_more_than_a_bit_for_each_offset() -> None:
    chance = Random(1)
    packed = united(None, [(offset, offset + 1) for offset in range(BLOCK) if chance.random() < 0.5])
    assert len(packed) <= BYTES + ZLIB
    for _ in range(20):  # years of orders
        first = chance.randrange(BLOCK - 100)
        packed = united(packed, [(first, first + chance.randrange(1, 100))])
    assert len(packed) <= BYTES + ZLIB
    assert len(united(packed, [(0, BLOCK)])) < 50


def test_two_stores_have_together_what_each_has() -> None:
    block = Block(0, 0, "sent")
    both = Handled({block: united(united(None, [(0, 3)]), other=united(None, [(2, 5)]))})
    assert [offset for offset in range(10) if both.reason(0, offset)] == [0, 1, 2, 3, 4]


def test_streaming_is_behind_only_where_something_is_left_to_read() -> None:
    assert behind({0: 5}, {0: 0, 1: 7}, {0: 9, 1: 7}) == 4  # partition 1 is empty, and was never read
    assert behind({0: 9}, {0: 0}, {0: 9}) == 0
    assert behind({}, {0: 2}, {0: 9}) == 7
