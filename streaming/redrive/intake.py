"""Dead letters in hand, dead letters that wait, and what the ledgers say of both.

Waiting records are not kept in memory: only when each is due. They are read again then, and nothing new is
taken before them: what was put off, whether by its target or by an aborted transaction, keeps its place.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaException

from streaming.letter import Letter, letter_of
from streaming.redrive.batch import Batch, Item
from streaming.redrive.decision import SkipReason
from streaming.redrive.fetch import Absence, Fetcher, Place
from streaming.redrive.handled import NOTHING, Handled
from streaming.redrive.letters import Letters
from streaming.redrive.moved import DeadLetter, Subject
from streaming.redrive.reading import Reader
from streaming.redrive.received import Received
from streaming.redrive.subjects import Subjects
from streaming.redrive.waiting import Due, Waiting

Selects = Callable[[Letter], bool]
LATER_MS: Final = 1_000
"""After this an origin is looked for again that an open transaction hides."""


class Intake:
    """What is in hand was put off before, or is new; ``passed``: partitions with offsets and no outcome.

    ``handled`` is what orders have done before and this one leaves out.
    """

    def __init__(
        self, topic: str, reader: Reader, fetcher: Fetcher, selects: Selects, handled: Handled = NOTHING
    ) -> None:
        self._topic, self._reader, self._fetcher, self._selects = topic, reader, fetcher, selects
        self.handled = handled
        self._subjects, self.letters = Subjects(fetcher), Letters()
        self._waiting = Waiting()
        self._again: list[tuple[int, int, Item]] = []
        self._new: deque[Item] = deque()
        self.passed: set[int] = set()

    def resume(self) -> None:
        """What a predecessor has left open is looked at anew; what retention has removed is passed over."""
        self.passed.update(self._reader.expired)
        for partition, lane in self._reader.lanes.items():
            for offset in lane.ledger.open:
                self._waiting.hold(Due(partition, offset, 0, reserved=False))

    def gather(self, now_ms: int, most: int) -> None:
        """Have about ``most`` items in hand: what is due, else what is new."""
        self._waiting.ripen(now_ms)
        room = max(most - len(self._again), int(self._overtaken()))
        due = self._waiting.taken(room)
        if due:
            self.take_back(self._read_again(due, now_ms))
        elif self.in_hand() < most and not self.all_read():
            self.add(self._reader.poll(most - self.in_hand()), now_ms)

    def read(self, now_ms: int, most: int) -> list[Received] | None:
        """What is new, for who does without items; None where something else comes first, or nothing."""
        self._waiting.ripen(now_ms)
        if self.in_hand() or self._waiting.first() or self.all_read():
            return None
        return self._reader.poll(most)

    def add(self, messages: list[Received], now_ms: int) -> None:
        """What is new."""
        self._new.extend(self._items(self._select(messages), now_ms))

    def take(self) -> Item | None:
        """The next one to decide; none: gather first."""
        if self._again:
            return None if self._overtaken() else heapq.heappop(self._again)[2]
        return self._new.popleft() if self._new and self._waiting.first() is None else None

    def in_hand(self) -> int:
        """How many wait for their decision."""
        return len(self._again) + len(self._new)

    def hold(self, item: Item, until_ms: int) -> None:
        """Not before."""
        one = item.subject.letter
        self._waiting.hold(Due(one.partition, one.offset, until_ms, item.reserved))

    def close(self, batch: Batch) -> set[int]:
        """Every letter of the batch is done, if it is committed; the partitions to commit."""
        for item in batch.items:
            one = item.subject.letter
            self._reader.lanes[one.partition].ledger.done(one.offset)
        for partition, offsets in batch.places.items():
            self._reader.lanes[partition].ledger.all_done(offsets)
        for partition, count in batch.moved.items():
            self._reader.lanes[partition].ledger.moved += count
        return {item.subject.letter.partition for item in batch.items} | batch.places.keys() | self.passed

    def reopen(self, batch: Batch) -> None:
        """It was not."""
        for item in batch.items:
            one = item.subject.letter
            self._reader.lanes[one.partition].ledger.undone(one.offset)
        for partition, offsets in batch.places.items():
            for offset in offsets:
                self._reader.lanes[partition].ledger.undone(offset)
        for partition, count in batch.moved.items():
            self._reader.lanes[partition].ledger.moved -= count

    def take_back(self, items: list[Item]) -> None:
        """They are to be decided again, before the others."""
        for item in items:
            one = item.subject.letter
            heapq.heappush(self._again, (one.partition, one.offset, item))

    def take_all_back(self, batch: Batch, now_ms: int) -> None:
        """Of a transaction that came to nothing."""
        letters = [self.letters.letter(message) for message in batch.straight]
        self.take_back([*batch.items, *self._items(letters, now_ms)])

    def refuse(self, words: Mapping[DeadLetter, str]) -> None:
        """These were taken back and are not to be moved; each with the reason."""
        for partition, offset, item in self._again:
            if (partition, offset) in words:
                item.refused, item.failed = words[partition, offset], True

    def all_read(self) -> bool:
        """Whether the selection has been read to its end."""
        return all(lane.read for lane in self._reader.lanes.values())

    def finished(self) -> bool:
        """Whether nothing is left of it."""
        return not self.in_hand() and self.next_due_ms() is None and not self.passed and self.all_read()

    def next_due_ms(self) -> int | None:
        """When the first of them is due."""
        return self._waiting.next_due_ms()

    def waiting(self) -> int:
        """How many are put off."""
        return len(self._waiting)

    def _overtaken(self) -> bool:
        """Whether one that is due comes before all in hand."""
        first = self._waiting.first()
        return first is not None and (not self._again or first[:2] < self._again[0][:2])

    def _read_again(self, dues: list[Due], now_ms: int) -> list[Item]:
        """Read them once more; what is gone by now is passed over as such."""
        by_place = {(self._topic, due.partition, due.offset): due for due in dues}
        wanted: dict[tuple[str, int], list[int]] = defaultdict(list)
        for topic, partition, offset in by_place:
            wanted[topic, partition].append(offset)
        try:
            found = self._fetcher.fetch(wanted)
        except KafkaException:
            for due in dues:
                self._waiting.hold(due)
            raise
        letters = [
            self.letters.letter(record) for record in found.values() if not isinstance(record, Absence)
        ]
        items = self._items(letters, now_ms)
        for item in items:
            _, _, item.waited_ms, item.reserved = by_place[_place(item.subject.letter)]
        return items + [_gone(place) for place, record in found.items() if isinstance(record, Absence)]

    def _select(self, messages: list[Received]) -> list[Letter]:
        """The order's own letters; the others are done with."""
        chosen = []
        for message in messages:
            one = self.letters.letter(message)
            if self._selects(one):
                chosen.append(one)
            else:
                self._reader.lanes[one.partition].ledger.done(one.offset)
                self.passed.add(one.partition)
        return chosen

    def _items(self, letters: list[Letter], now_ms: int) -> list[Item]:
        left_out, later = self._left_out(letters) if self.handled else [], letters
        known = {_place(item.subject.letter) for item in left_out}
        wanted = [one for one in letters if _place(one) not in known] if known else letters
        try:
            items, later = self._subjects.items(wanted)
        finally:
            for one in later:
                self._waiting.hold(Due(one.partition, one.offset, now_ms + LATER_MS, reserved=False))
        return left_out + items

    def _left_out(self, letters: list[Letter]) -> list[Item]:
        """Those that were moved or parked before, with the reason."""
        reasons = ((one, self.handled.reason(one.partition, one.offset)) for one in letters)
        return [Item(Subject(one, one), refused=reason) for one, reason in reasons if reason is not None]


def _place(one: Letter) -> Place:
    return one.topic, one.partition, one.offset


def _gone(place: Place) -> Item:
    """A dead letter that retention has removed while it waited."""
    nothing = letter_of(*place, 0, None, None, ())
    return Item(Subject(nothing, nothing), refused=SkipReason.RECORD_GONE)
