"""How many records may go now: token buckets for the rates of an order, and its limits on a whole.

A bucket begins empty and fills with time, so at every moment no more than ``rate * seconds since`` has been
taken. What is not used is saved for ``SAVED_MS``: a commit that takes long costs no speed.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from deadwatch.orders.order import Limits

SAVED_MS: Final = 1_000
MIN_SAVED: Final = 2.0
"""At least this many tokens are saved: a rate below one a second keeps what is left over of a record."""
MAX_RECORDS: Final = 1_000_000
"""Of a transaction, whatever its order says: the store takes longer runs of offsets for invalid."""
SLICE_MS: Final = 200
"""A limited order moves what its rate allows in this time at once: a transaction for each record is dear."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """``rate`` tokens a second; a balance below zero is debt that has to be filled first."""

    rate: float
    at_ms: int
    balance: float = 0.0

    def filled(self, now_ms: int) -> "TokenBucket":
        """The bucket at ``now_ms``; a clock that goes back fills nothing."""
        grown = self.balance + self.rate * max(now_ms - self.at_ms, 0) / 1_000
        most = max(self.rate * SAVED_MS / 1_000, MIN_SAVED)
        return replace(self, balance=min(grown, most), at_ms=now_ms)

    def taken(self, amount: float) -> "TokenBucket":
        """The bucket after ``amount`` has been used."""
        return replace(self, balance=self.balance - amount)

    def ready_at_ms(self, amount: float) -> int:
        """When it holds ``amount``."""
        return self.at_ms + max(math.ceil((amount - self.balance) * 1_000 / self.rate), 0)


class OrderLimits:
    """What one order may still move; ``moved`` counts the records that all claims have sent to targets."""

    def __init__(self, limits: Limits, moved: int, now_ms: int) -> None:
        self._limits, self.moved = limits, moved
        self.max_in_flight = self._room = min(limits.max_in_flight, MAX_RECORDS)
        self._started = False
        self._records, self._bytes = self._empty_buckets(now_ms)

    def refill(self, now_ms: int) -> None:
        """Fill the buckets up to ``now_ms``."""
        self._records = self._records and self._records.filled(now_ms)
        self._bytes = self._bytes and self._bytes.filled(now_ms)

    def make_room(self, room: int | None) -> None:
        """The guard leaves room for so many records; None: for any number."""
        self._room = self.max_in_flight if room is None else room

    def start_at_first_record(self, now_ms: int, in_hand: int) -> None:
        """The rate counts from the first record: the time that it took to get there gives no burst."""
        if not self._started and in_hand:
            self._records, self._bytes = self._empty_buckets(now_ms)
            self._started = True

    def left(self) -> int:
        """How many records the order may still move in one transaction; 0: ``max_records`` is reached."""
        most = self._limits.max_records
        return self.max_in_flight if most is None else min(max(most - self.moved, 0), self.max_in_flight)

    def allowed(self) -> tuple[int, float]:
        """How many records a transaction may have now, and how many bytes without its last record."""
        size = self._bytes.balance if self._bytes else math.inf
        return min(self._records_now(self.left()), self._room), size

    def wait_until_ms(self, in_hand: int) -> int | None:
        """When the rate allows what is in hand; None where it does now."""
        records, size = self._records, self._bytes
        if not in_hand:
            return None
        if records is not None:
            wanted = min(in_hand, max(int(records.rate * SLICE_MS / 1_000), 1), self.left())
            if records.balance < wanted:
                return records.ready_at_ms(wanted)
        if self._records_now(1):
            return None
        return max(records.ready_at_ms(1) if records else 0, size.ready_at_ms(1) if size else 0)

    def committed(self, records: int, size: int, moved: int) -> None:
        """A transaction of so many records and bytes was committed; ``moved`` of them went to targets."""
        self._records = self._records and self._records.taken(records)
        self._bytes = self._bytes and self._bytes.taken(size)
        self.moved += moved

    def _empty_buckets(self, now_ms: int) -> tuple[TokenBucket | None, TokenBucket | None]:
        records, size = self._limits.records_per_second, self._limits.bytes_per_second
        return TokenBucket(records, now_ms) if records else None, TokenBucket(size, now_ms) if size else None

    def _records_now(self, most: int) -> int:
        """How many records the rates allow now, at most ``most``."""
        if self._bytes and self._bytes.balance <= 0:
            return 0
        return min(most, int(self._records.balance)) if self._records else most
