"""The dead letters of an order that have no outcome yet: those in hand, and those that wait for their time.

Of a dead letter that waits only its place and time are kept in memory: it is read again when it is due, and
nothing new is taken before it. What is due at a moment comes in the order of its partition, not of the times,
so a later record that was put off for less does not overtake it.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.orders.handled import NOTHING, Handled
from deadwatch.orders.reasons import SkipReason
from redrive.librdkafka import ConsumerRecord, DeadLetterDecoder
from redrive.move.batch import Batch
from redrive.move.fetch import Fetcher, rehydrate
from redrive.move.reader import Reader
from redrive.move.rewrite import DeadLetterId, PendingRecord, place_of

Selects = Callable[[DeadLetter], bool]
LATER_MS: Final = 1_000
"""After this time a record is looked for again that an open transaction hides."""
BYTES_IN_HAND: Final = 64 << 20
"""With as many of keys and values in hand nothing new is read, nor as many again of what is due."""
UNKNOWN_BYTES: Final = 1 << 20
"""What a record is taken for that nobody has read since the order was claimed: Kafka's default limit."""


class DelayedRecord(NamedTuple):
    """One dead letter that waits; ``reserved``: its share of the target's rate is taken already.

    It is looked at again at ``at_ms``. ``due_ms`` is until when its own backoff or its target has made it
    wait, 0 where neither has. ``size`` is how many bytes its key and value have.
    """

    partition: int
    offset: int
    at_ms: int
    reserved: bool = False
    due_ms: int = 0
    size: int = UNKNOWN_BYTES


class RecordQueue:
    """The open records of one order.

    ``handled`` is what earlier orders have done and this one leaves out. ``passed_over``: offsets have to be
    committed although no record of them has an outcome.
    """

    def __init__(
        self, topic: str, reader: Reader, fetcher: Fetcher, selects: Selects, handled: Handled = NOTHING
    ) -> None:
        self._topic, self._reader, self._fetcher, self._selects = topic, reader, fetcher, selects
        self.handled = handled
        self.decoder = DeadLetterDecoder()
        self._later: list[tuple[int, DelayedRecord]] = []
        """A heap of the records that wait, by their time."""
        self._due: list[DelayedRecord] = []
        """A heap of those whose time has come, by partition and offset."""
        self._again: list[tuple[int, int, PendingRecord]] = []
        """A heap of the records that were taken before, by partition and offset."""
        self._new: deque[PendingRecord] = deque()
        self.passed_over = False

    def resume(self) -> None:
        """Take what the claim before has left open; what retention has removed is passed over."""
        self.passed_over = bool(self._reader.expired)
        for partition, state in self._reader.partitions.items():
            for offset in state.offsets.open:
                self._wait(DelayedRecord(partition, offset, 0))

    def gather(self, now_ms: int, most: int) -> None:
        """Have about ``most`` records in hand: what is due, else what is new, up to ``BYTES_IN_HAND``."""
        self._advance(now_ms)
        size = sum(pending.original.size for _, _, pending in self._again)
        room = most - len(self._again) if size < BYTES_IN_HAND else 0
        due = self._take_due(max(room, int(self._overtaken())), BYTES_IN_HAND - size)
        if due:
            self.put_back(self._read_again(due, now_ms))
            return
        size += sum(pending.original.size for pending in self._new)
        if self.in_hand() < most and size < BYTES_IN_HAND and not self.all_read():
            self.add(self._read(most - self.in_hand()), now_ms)

    def poll(self, now_ms: int, most: int) -> list[ConsumerRecord] | None:
        """New records for the fast path; None where something else comes first, or where all is read."""
        self._advance(now_ms)
        if self.in_hand() or self._due or self.all_read():
            return None
        return self._read(most)

    def add(self, messages: list[ConsumerRecord], now_ms: int) -> None:
        """Take new records in hand, as far as they are selected."""
        self._new.extend(self._pending(self._select(messages), now_ms))

    def take(self) -> PendingRecord | None:
        """The next record to decide; None where ``gather`` has to be called first."""
        if self._again:
            return None if self._overtaken() else heapq.heappop(self._again)[2]
        return self._new.popleft() if self._new and not self._due else None

    def in_hand(self) -> int:
        """How many records are ready for their decision."""
        return len(self._again) + len(self._new)

    def hold(self, pending: PendingRecord, until_ms: int) -> None:
        """Put a record off until then."""
        partition, offset = pending.id
        size = pending.original.size
        self._wait(DelayedRecord(partition, offset, until_ms, pending.reserved, until_ms, size))

    def close(self, batch: Batch) -> None:
        """Every record of the batch is done, if it is committed."""
        partitions = self._reader.partitions
        for pending in batch.decided:
            partition, offset = pending.id
            partitions[partition].offsets.done(offset)
        for partition, offsets in batch.sent.items():
            partitions[partition].offsets.all_moved(offsets)

    def reopen(self, batch: Batch) -> None:
        """Undo ``close``: the batch was not committed."""
        partitions = self._reader.partitions
        for pending in batch.decided:
            partition, offset = pending.id
            partitions[partition].offsets.undone(offset)
        for partition, offsets in batch.sent.items():
            partitions[partition].offsets.none_moved(offsets)

    def put_back(self, records: list[PendingRecord]) -> None:
        """These are to be decided again, before the others."""
        for pending in records:
            heapq.heappush(self._again, (*pending.id, pending))

    def put_all_back(self, batch: Batch, now_ms: int) -> None:
        """All records of an aborted transaction are to be decided again."""
        dead_letters = [self.decoder.decode(message) for message in batch.fast]
        self.put_back([*batch.decided, *self._pending(dead_letters, now_ms)])

    def refuse(self, reasons: Mapping[DeadLetterId, str]) -> None:
        """Of the records that were put back these are not to be moved, each for its reason."""
        for partition, offset, pending in self._again:
            if (partition, offset) in reasons:
                pending.refused, pending.failed = reasons[partition, offset], True

    def all_read(self) -> bool:
        """Whether the selection has been read to its end."""
        return all(state.read for state in self._reader.partitions.values())

    def finished(self) -> bool:
        """Whether every selected record has its outcome, and every offset is committed."""
        return not self.in_hand() and not self.waiting() and not self.passed_over and self.all_read()

    def next_due_ms(self) -> int | None:
        """When the first record that waits is due; None where none does."""
        return self._due[0].at_ms if self._due else self._later[0][0] if self._later else None

    def waiting(self) -> int:
        """How many records wait for their time."""
        return len(self._later) + len(self._due)

    def _wait(self, delayed: DelayedRecord) -> None:
        heapq.heappush(self._later, (delayed.at_ms, delayed))

    def _advance(self, now_ms: int) -> None:
        """Whatever is due by now may be taken."""
        while self._later and self._later[0][0] <= now_ms:
            heapq.heappush(self._due, heapq.heappop(self._later)[1])

    def _take_due(self, most: int, max_bytes: int) -> list[DelayedRecord]:
        """At most so many of those that are due, until they have as many bytes."""
        taken: list[DelayedRecord] = []
        while self._due and len(taken) < most:
            taken.append(heapq.heappop(self._due))
            max_bytes -= taken[-1].size
            if max_bytes <= 0:
                break
        return taken

    def _read(self, most: int) -> list[ConsumerRecord]:
        """New records; what retention took instead is passed over."""
        messages = self._reader.poll(most)
        self.passed_over = self.passed_over or bool(self._reader.expired)
        return messages

    def _overtaken(self) -> bool:
        """Whether a delayed record that is due comes before all in hand."""
        return bool(self._due) and (not self._again or self._due[0][:2] < self._again[0][:2])

    def _read_again(self, due: list[DelayedRecord], now_ms: int) -> list[PendingRecord]:
        """Read the records once more; one that is gone is refused, one that is hidden is put off again."""
        by_place = {(self._topic, one.partition, one.offset): one for one in due}
        wanted: dict[tuple[str, int], list[int]] = defaultdict(list)
        for topic, partition, offset in by_place:
            wanted[topic, partition].append(offset)
        found = self._fetcher.fetch(wanted)
        dead_letters, records = [], []
        for place, record in found.items():
            if record is None:
                self._wait(by_place[place]._replace(at_ms=now_ms + LATER_MS))
            elif isinstance(record, SkipReason):
                nothing = parse_record(*place, 0, None, None, ())
                records.append(PendingRecord(nothing, nothing, SkipReason.RECORD_GONE))
            else:
                dead_letters.append(self.decoder.decode(record))
        for pending in self._pending(dead_letters, now_ms):
            delayed = by_place[place_of(pending.dead_letter)]
            pending.reserved, pending.waited_ms = delayed.reserved, delayed.due_ms
            records.append(pending)
        return records

    def _select(self, messages: list[ConsumerRecord]) -> list[DeadLetter]:
        """The order's own dead letters; the others are done."""
        selected = []
        for message in messages:
            dead_letter = self.decoder.decode(message)
            if self._selects(dead_letter):
                selected.append(dead_letter)
            else:
                self._reader.partitions[dead_letter.partition].offsets.done(dead_letter.offset)
                self.passed_over = True
        return selected

    def _pending(self, dead_letters: list[DeadLetter], now_ms: int) -> list[PendingRecord]:
        """The records to decide; a dead letter whose origin cannot be read yet is put off."""
        asked = dead_letters if self.handled else ()
        reasons = ((one, self.handled.reason(one.partition, one.offset)) for one in asked)
        left_out = [PendingRecord(one, one, reason) for one, reason in reasons if reason is not None]
        known = {place_of(pending.dead_letter) for pending in left_out}
        wanted = [one for one in dead_letters if place_of(one) not in known] if known else dead_letters
        pending, later = rehydrate(self._fetcher, wanted)
        for one in later:
            self._wait(DelayedRecord(one.partition, one.offset, now_ms + LATER_MS))
        return left_out + pending
