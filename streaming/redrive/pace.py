"""How fast: a bucket that fills with time and never gives more than the rate, counted from its beginning.

It begins empty, so at every moment no more than ``rate * seconds since`` has been taken. What is not used is
kept for ``KEPT_MS``: a commit that takes long costs no speed.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

KEPT_MS: Final = 1_000
LEAST_KEPT: Final = 2.0
"""So that a rate below one a second keeps what is over when a record goes."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """``rate`` a second; a balance below zero is debt that has to be filled first."""

    rate: float
    at_ms: int
    balance: float = 0.0

    def filled(self, now_ms: int) -> "Bucket":
        """The bucket at ``now_ms``; a clock that goes back fills nothing."""
        grown = self.balance + self.rate * max(now_ms - self.at_ms, 0) / 1_000
        most = max(self.rate * KEPT_MS / 1_000, LEAST_KEPT)
        return replace(self, balance=min(grown, most), at_ms=now_ms)

    def taken(self, amount: float) -> "Bucket":
        """After ``amount`` has been used."""
        return replace(self, balance=self.balance - amount)

    def ready_at_ms(self, amount: float) -> int:
        """When it holds ``amount``."""
        return self.at_ms + max(math.ceil((amount - self.balance) * 1_000 / self.rate), 0)


@dataclass(frozen=True, slots=True)
class Pace:
    """Records and bytes a second together; ``None`` is no limit."""

    records: Bucket | None
    bytes: Bucket | None

    @classmethod
    def start(cls, records_per_second: float | None, bytes_per_second: float | None, now_ms: int) -> "Pace":
        """Both empty."""
        return cls(
            Bucket(records_per_second, now_ms) if records_per_second else None,
            Bucket(bytes_per_second, now_ms) if bytes_per_second else None,
        )

    def filled(self, now_ms: int) -> "Pace":
        """At ``now_ms``."""
        return Pace(
            self.records.filled(now_ms) if self.records else None,
            self.bytes.filled(now_ms) if self.bytes else None,
        )

    def taken(self, records: int, size: int) -> "Pace":
        """After a transaction."""
        return Pace(
            self.records.taken(records) if self.records else None,
            self.bytes.taken(size) if self.bytes else None,
        )

    def records_now(self, most: int) -> int:
        """How many records may go, ``most`` where nothing limits them."""
        if self.bytes and self.bytes.balance <= 0:
            return 0
        return min(most, int(self.records.balance)) if self.records else most

    def bytes_now(self) -> float:
        """How many bytes may go; the record that passes this is the last one."""
        return self.bytes.balance if self.bytes else math.inf

    def ready_at_ms(self) -> int:
        """When at least one record may go."""
        return max(
            self.records.ready_at_ms(1) if self.records else 0,
            self.bytes.ready_at_ms(1) if self.bytes else 0,
        )
