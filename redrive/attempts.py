"""For how long an order whose attempts fail is tried again: ``task_timeout_ms``, from its first failure on.

After that its next failure, of one last attempt, pauses it (KIP-572).
"""

from dataclasses import dataclass, replace
from typing import Final, Self

from deadwatch.contract.deadline import Deadline
from deadwatch.orders.order import Claim

LEASES_TO_CLAIM: Final = 3
"""An order that has failed is claimed again within so many leases, or within ``task_timeout_ms``."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of an order, and the deadline that began with the first of those in a row.

    ``epoch`` is that of the claim that has failed, ``failed_at_ms`` is of a clock that never goes back.
    """

    deadline: Deadline
    epoch: int
    failed_at_ms: int

    def followed_by(self, later: Self, lease_ms: int) -> bool:
        """Whether the later failure comes as soon as one does when every claim in between fails at once.

        Else the order was paused meanwhile, or waited for its turn, or another worker has worked on it well.
        """
        claims_ms = (later.epoch - self.epoch) * LEASES_TO_CLAIM * lease_ms
        return later.failed_at_ms - self.failed_at_ms <= max(self.deadline.timeout_ms, claims_ms)


class Attempts:
    """What one worker knows of the orders whose attempts fail."""

    def __init__(self, lease_ms: int) -> None:
        self._lease_ms = lease_ms
        self._failures: dict[str, Failure] = {}
        """By the orders' ids."""

    def forget(self, order_id: str) -> None:
        """The order proceeds, is settled, or waits for Kafka: its next failure is a first one."""
        self._failures.pop(order_id, None)

    def failed(self, claim: Claim, now_ms: int) -> bool:
        """Note a failure; returns whether the time for further attempts is over."""
        order = claim.order
        anew = Failure(Deadline(order.request.task_timeout_ms), claim.epoch, now_ms)
        last = self._failures.get(order.id, anew)
        deadline = last.deadline if last.followed_by(anew, self._lease_ms) else anew.deadline
        self._failures[order.id] = replace(anew, deadline=deadline.timed_out(now_ms))
        return deadline.spent(now_ms)
