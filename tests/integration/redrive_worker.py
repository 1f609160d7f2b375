"""A redrive worker as a process, for tests: the order as JSON from a file, its claim's epoch as an argument.

It believes to hold the claim whatever others do, so two of them on one order are kept apart by Kafka alone.
Prints the state that it left the order in.
"""

import sys
import threading
from pathlib import Path
from random import Random

from deadwatch.orders.guards import Returns
from deadwatch.orders.order import Claim, Order, Status
from deadwatch.runtime.clock import clock_ms
from redrive.move.task import WorkerContext
from redrive.settings import RedriveSettings
from redrive.worker import run


class OneOrder:
    """An order that nobody else asks for; it is claimed once."""

    def __init__(self, order: Order, epoch: int, stop: threading.Event) -> None:
        self._order, self._epoch, self._stop = order, epoch, stop
        self.left, self._claimed = "RELEASED", False

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        del worker
        if self._claimed:
            self._stop.set()
            return None
        self._claimed = True
        return Claim(self._order, self._epoch, now_ms + lease_ms)

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        del now_ms, lease_ms
        return claim, Status.RUNNING

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        del claim, now_ms
        self.left = f"{status} {status_reason}".strip()
        self._stop.set()

    def release(self, claim: Claim) -> None:
        del claim
        self._stop.set()


def main(order_file: str, epoch: str) -> None:
    stop = threading.Event()
    orders = OneOrder(Order.model_validate_json(Path(order_file).read_text()), int(epoch), stop)
    context = WorkerContext(RedriveSettings(), lambda _: Returns(0, 0), clock_ms, Random())
    run(orders, context, stop, "test")
    sys.stdout.write(orders.left + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
