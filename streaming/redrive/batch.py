"""What one transaction does: the records it writes, the dead letters it is done with, and the outcomes."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from streaming.redrive.moved import DeadLetter, Record, Subject
from streaming.redrive.received import Received


class Result(StrEnum):
    """Values of ``RedriveOutcome.outcome``."""

    SENT = "sent"
    PARKED = "parked"
    SKIPPED = "skipped"
    FAILED = "failed"

    __hash__ = str.__hash__  # that of enumerations is slow, and every record is counted


class Outcome(NamedTuple):
    """What records share that are counted together; ``backoff_ms`` is the delay without its jitter."""

    target_topic: str
    result: Result
    reason: str = ""
    attempt: int = 0
    backoff_ms: int = 0
    fingerprint: str = ""
    """Of the group of dead letters that they were in."""


@dataclass(slots=True)
class Item:
    """One dead letter in hand. ``refused`` says why it cannot be moved whatever its target."""

    subject: Subject
    refused: str = ""
    failed: bool = False
    waited_ms: int = 0
    """The time that it had to wait for; 0: it did not."""
    reserved: bool = False
    """Whether its share of the target's rate is taken already."""

    @property
    def place(self) -> DeadLetter:
        """Where it is on its topic."""
        letter = self.subject.letter
        return letter.partition, letter.offset


@dataclass(slots=True)
class Batch:
    """Grows until it is committed."""

    items: list[Item] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    moved: Counter[int] = field(default_factory=Counter)
    """Records that go to a target, by partition of the dead letter topic."""
    size: int = 0
    straight: list[Received] = field(default_factory=list)
    """Records that were written without an item."""
    places: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Their offsets by partition, ascending."""
    written_for: list[DeadLetter] = field(default_factory=list)
    """The dead letters of the records."""
    placed: defaultdict[tuple[Result, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """Offsets of items that are sent or parked, by partition."""
    written: int = 0

    def unwritten(self) -> list[tuple[Record, DeadLetter]]:
        """The records since it was asked last."""
        begin, self.written = self.written, len(self.records)
        return list(zip(self.records[begin:], self.written_for[begin:], strict=True))

    @property
    def count(self) -> int:
        """How many records are written."""
        return len(self.records) + len(self.straight)

    @property
    def done(self) -> int:
        """How many dead letters."""
        return len(self.items) + len(self.straight)

    def handled(self, result: Result) -> dict[int, list[int]]:
        """The offsets of all dead letters that are sent, or parked, by partition."""
        found = {partition: offsets for (one, partition), offsets in self.placed.items() if one is result}
        if result is Result.SENT:
            for partition, offsets in self.places.items():
                found[partition] = [*offsets, *found.get(partition, ())]
        return found

    def add_straight(self, message: Received, partition: int, offset: int, outcome: Outcome) -> None:
        """One more record is written."""
        self.straight.append(message)
        self.places[partition].append(offset)
        self.outcomes[outcome] += 1
        self.moved[partition] += 1

    def add(self, item: Item, outcome: Outcome, record: Record | None = None) -> None:
        """One more letter is done."""
        self.items.append(item)
        self.outcomes[outcome] += 1
        if record is not None:
            self.placed[outcome.result, item.subject.letter.partition].append(item.subject.letter.offset)
            self.records.append(record)
            self.written_for.append(item.place)
            self.size += record.size
        if outcome.result is Result.SENT:
            self.moved[item.subject.letter.partition] += 1
