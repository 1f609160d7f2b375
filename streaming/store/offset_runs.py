"""Runs of offsets, ``(first, end)`` with the end left out: made of single ones, cut by others. Pure."""

from collections.abc import Iterable, Iterator

Run = tuple[int, int]


def runs(offsets: Iterable[int]) -> list[Run]:
    """The offsets as runs, in order and apart."""
    found: list[Run] = []
    for offset in sorted(set(offsets)):
        if found and found[-1][1] == offset:
            found[-1] = (found[-1][0], offset + 1)
        else:
            found.append((offset, offset + 1))
    return found


def common(one: Run, others: Iterable[Run]) -> Iterator[Run]:
    """The parts of ``one`` that are in one of the others."""
    for first, end in others:
        part = max(one[0], first), min(one[1], end)
        if part[0] < part[1]:
            yield part


def rest(one: Run, taken: Iterable[Run]) -> list[Run]:
    """What is left of ``one`` without the parts that are taken."""
    left, at = [], one[0]
    for first, end in sorted(common(one, taken)):
        if at < first:
            left.append((at, first))
        at = max(at, end)
    return [*left, (at, one[1])] if at < one[1] else left
