"""Which records are to blame for what Kafka has refused; of one order.

Kafka refuses a whole batch for one record of it, or because the batch as a whole is larger than the topic
allows, and the client names every record of the batch. Where that leaves open which one it was, those that
it may have been are written alone the next time: of records that are too large the largest, of those with a
wrong time the oldest and the newest. Where that one is taken, the batch was too large: smaller ones follow.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError

from streaming.redrive.delivery_reports import Refusal
from streaming.redrive.moved import DeadLetter, Record, wire_size
from streaming.redrive.refusals import Blame, blame
from streaming.redrive.transaction import BATCH_BYTES

TOO_LARGE: Final = KafkaError.MSG_SIZE_TOO_LARGE
SMALLER: Final = 4
"""By how much fewer records are written together."""


class Isolation:
    """What has been found out. ``alone``: the dead letters whose records share their batch with no other.

    ``too_large``: the least size that each topic has refused; what is as large is not tried any more.
    """

    def __init__(self) -> None:
        self.alone: set[DeadLetter] = set()
        self.too_large: dict[str, int] = {}
        self.together: int | None = None
        self._taken: set[DeadLetter] = set()

    def refuses(self, record: Record) -> bool:
        """Whether its topic has refused one that is not larger."""
        least = self.too_large.get(record.topic)
        return least is not None and wire_size(record.key, record.value, record.headers) >= least

    def judge(self, refusals: Iterable[Refusal]) -> Mapping[DeadLetter, str] | None:
        """The dead letters whose records are to blame, with Kafka's word; None where no record is.

        Empty where that is still to be found out.
        """
        by_target: dict[tuple[str, int], dict[DeadLetter, Refusal]] = defaultdict(dict)
        for one in refusals:
            if one.dead_letter is not None and blame(one.error.code()) is Blame.RECORD:
                by_target[one.target][one.dead_letter] = one
        words: dict[DeadLetter, str] = {}
        for group in by_target.values():
            guilty = _guilty(group)
            if not guilty:
                self._suspect(group)
            for place, one in guilty.items():
                words[place] = one.error.name().lower()
                if one.error.code() == TOO_LARGE:
                    topic = one.target[0]
                    self.too_large[topic] = min(one.size, self.too_large.get(topic, one.size))
        return words if by_target else None

    def taken(self, place: DeadLetter) -> None:
        """Kafka has the record, which was alone."""
        self.alone.discard(place)
        self._taken.add(place)

    def committed(self) -> None:
        """All is clear."""
        self.alone.clear()
        self._taken.clear()

    def _suspect(self, group: Mapping[DeadLetter, Refusal]) -> None:
        suspects = _suspects(list(group.values())) - self._taken
        if suspects:
            self.alone |= suspects
        elif all(one.error.code() == TOO_LARGE for one in group.values()):
            self.together = max(min(self.together or len(group), len(group)) // SMALLER, 1)
        else:
            self.alone |= group.keys()


def _guilty(group: Mapping[DeadLetter, Refusal]) -> dict[DeadLetter, Refusal]:
    """Of one target: those of which it is certain.

    INVALID_RECORD is said of single records, unless one lacks the key that a compacted topic asks for.
    """
    if len(group) == 1:
        return dict(group)
    invalid = {at: one for at, one in group.items() if one.error.code() == KafkaError.INVALID_RECORD}
    keyless = {at: one for at, one in invalid.items() if not one.keyed}
    large = {
        at: one
        for at, one in group.items()
        if one.error.code() == TOO_LARGE and one.size > BATCH_BYTES  # the client wrote it alone
    }
    return (keyless or invalid) | large


def _suspects(group: Sequence[Refusal]) -> set[DeadLetter]:
    """Where any of them is to blame, one of these is."""
    codes = {one.error.code() for one in group}
    if codes == {TOO_LARGE}:
        chosen = [max(group, key=lambda one: one.size)]
    elif codes == {KafkaError.INVALID_TIMESTAMP}:
        chosen = [pick(group, key=lambda one: one.timestamp_ms) for pick in (min, max)]
    else:
        chosen = list(group)
    return {one.dead_letter for one in chosen if one.dead_letter is not None}
