"""Records that go to their target without a letter being made of them: most, and the speed of the mover.

Of records with the cause of one that was decided before, nothing has to be found out but whether each has
waited long enough; what is written is what ``deciding`` would write. The first record of which more has to be
known ends it: that one and all behind it are letters.
"""

from typing import Final

from collector.contract import headers as names
from streaming.redrive.batch import Batch
from streaming.redrive.causes import Causes
from streaming.redrive.intake import Intake
from streaming.redrive.isolation import Isolation
from streaming.redrive.moved import Record, marks
from streaming.redrive.received import Received
from streaming.redrive.transaction import Transactions

ZERO: Final = ord("0")


class Straight:
    """For one order that selects all."""

    def __init__(
        self, order: str, intake: Intake, causes: Causes, transactions: Transactions, isolation: Isolation
    ) -> None:
        self._order, self._letters, self._causes = order, intake.letters, causes
        self._transactions, self._isolation = transactions, isolation
        self._left_out = intake.handled.reason if intake.handled else None

    def write(self, messages: list[Received], batch: Batch, now_ms: int) -> None:
        """As many from the beginning as may; they are in the batch, also where this raises."""
        cause, course = None, None
        for message in messages:
            pairs = message.headers() or []
            known = self._letters.cause(pairs)
            if known is None:
                return
            if known[0] is not cause:
                cause = known[0]
                course = self._causes.known(cause)
            raw, timestamp_ms = known[1], message.timestamp()[1]
            if course is None or not course.prefix or timestamp_ms + course.longest_delay_ms > now_ms:
                return
            if raw[0] == ZERO and len(raw) > 1:
                return
            at, offset = message.partition(), message.offset()
            if self._left_out is not None and self._left_out(at, offset):
                return
            topic, partition = course.to
            by, attempts, group, moved_at = marks(self._order, course.attempt, cause.fingerprint, now_ms)
            headers = [*pairs, by, attempts, group, (names.REDRIVE_ORIGIN, course.prefix + raw), moved_at]
            key, value = message.key(), message.value()
            if topic in self._isolation.too_large and self._isolation.refuses(
                Record(topic, partition, timestamp_ms, key, value, tuple(headers))
            ):
                return
            batch.add_straight(message, at, offset, course.outcome)
            self._transactions.put(topic, partition, timestamp_ms, key, value, headers, (at, offset))
