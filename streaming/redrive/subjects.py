"""From what a consumer gives to what the order is about: a letter with the record that it stands for.

A share group's dead letter tells where its record is, and nothing else for sure: the record is read there,
with its key, value, headers and time. Where it is gone, a dead letter with a payload of its own stands for
itself; one that does not is refused, and never becomes a tombstone.
"""

from collections import defaultdict
from collections.abc import Iterable

from streaming.dialects import SHARE_GROUP
from streaming.letter import Letter
from streaming.redrive.batch import Item
from streaming.redrive.fetch import Absence, Fetcher, Place
from streaming.redrive.moved import Subject, rehydrated
from streaming.redrive.received import Received
from streaming.redrive.targets import SkipReason


class Subjects:
    """Makes items of letters; ``later`` are those whose origin cannot be read yet."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    def items(self, letters: list[Letter]) -> tuple[list[Item], list[Letter]]:
        """In their order; and the letters to ask for again."""
        shared = [one for one in letters if one.cause.dialect == SHARE_GROUP.name]
        if not shared:
            return [Item(Subject(one, one)) for one in letters], []
        found = self._originals(shared)
        items, later = [], []
        for one in letters:
            original = found.get(_origin(one)) if one.dialect == SHARE_GROUP.name else None
            if original is Absence.UNSTABLE:
                later.append(one)
            else:
                items.append(_item(one, original))
        return items, later

    def _originals(self, letters: Iterable[Letter]) -> dict[Place, Received | Absence]:
        wanted: dict[tuple[str, int], set[int]] = defaultdict(set)
        for one in letters:
            if _origin(one)[1] >= 0:
                wanted[_origin(one)[:2]].add(_origin(one)[2])
        return self._fetcher.fetch(wanted) if wanted else {}


def _origin(one: Letter) -> Place:
    known = one.source_topic and one.source_partition is not None and one.source_offset is not None
    if not known or one.source_partition is None or one.source_offset is None:
        return "", -1, -1
    return one.source_topic, one.source_partition, one.source_offset


def _item(one: Letter, original: Received | Absence | None) -> Item:
    itself = Subject(one, one)
    if one.dialect != SHARE_GROUP.name:
        return Item(itself)
    if original is not None and not isinstance(original, Absence):
        headers = tuple(original.headers() or ())
        return Item(rehydrated(one, (original.timestamp()[1], original.key(), original.value(), headers)))
    if one.value is not None or one.key is not None:
        return Item(itself)
    return Item(itself, refused=original.value if original is not None else SkipReason.NO_ORIGIN)
