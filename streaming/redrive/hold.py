"""Holding an order: its lease is renewed beside the work, and what users want is heard within moments."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from streaming.redrive.claim import Claim, ClaimLostError, Orders
from streaming.redrive.order import Status

logger = logging.getLogger(__name__)

STOPPING = frozenset({Status.PAUSED, Status.CANCELLING})


class Hold:
    """Use it by ``with``. ``stopped`` is set when work has to end; ``wanted`` and ``lost`` say why.

    ``waiting`` is told to whoever keeps the order.
    """

    def __init__(
        self, orders: Orders, claim: Claim, clock: Callable[[], int], times_ms: tuple[int, int]
    ) -> None:
        self._orders, self._claim, self._clock = orders, claim, clock
        self._lease_ms, self._poll_interval_ms = times_ms
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"hold-{claim.order.id}", daemon=True)
        self.stopped = threading.Event()
        self.stopped_since_ms: int | None = None
        self.wanted = Status.RUNNING
        self.lost = False
        self.waiting = 0

    def __enter__(self) -> Self:
        """Start renewing."""
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop renewing; the claim can be settled or released afterwards."""
        self._ended.set()
        self._thread.join()

    def stop(self) -> None:
        """Ask the work to end."""
        if self.stopped_since_ms is None:
            self.stopped_since_ms = self._clock()
        self.stopped.set()

    def _renew(self) -> None:
        while not self._ended.wait(self._poll_interval_ms / 1_000):
            try:
                told = replace(self._claim, waiting=self.waiting)
                self._claim, self.wanted = self._orders.renew(told, self._clock(), self._lease_ms)
            except ClaimLostError:
                self.lost = True
            except Exception:  # the store may be away for a moment; the lease says for how long
                logger.exception("the claim of order %s could not be renewed", self._claim.order.id)
                self.lost = self._clock() >= self._claim.expires_at_ms
            if self.lost or self.wanted in STOPPING:
                self.stop()
            if self.lost:
                return
