"""What a redrive worker and the place where orders are kept agree on.

A worker claims an order for a while and renews the claim while it works. Every claim has a higher ``epoch``
than the one before: whoever comes with an older one is refused, and Kafka fences its transactions. What an
order has moved is not kept here: that is in Kafka, in the same transactions as the records.
"""

from dataclasses import dataclass
from typing import Protocol

from streaming.redrive.order import Order, Status


class ClaimLostError(Exception):
    """Another worker has the order now, or it is over: do nothing more for it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on an order until ``expires_at_ms``; ``epoch`` counts the claims from 1.

    ``waiting`` is how many of its records are put off now.
    """

    order: Order
    epoch: int
    expires_at_ms: int
    waiting: int = 0


class Orders(Protocol):
    """Where orders are kept. Every call with a claim raises ``ClaimLostError`` when it is not the latest."""

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        """The oldest order that is RUNNING or CANCELLING and that nobody holds."""

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        """Hold it longer; with the status that users want: stop in PAUSED and CANCELLING."""

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        """Let go of it in this state: PAUSED with the reason, or a final one."""

    def release(self, claim: Claim, now_ms: int) -> None:
        """Let go of it as it is: the next worker takes over at once."""
