"""A redrive worker as a process, for tests: the order as JSON from a file, its claim's epoch as an argument.

It believes to hold the claim whatever others do, so two of them on one order are kept apart by Kafka alone.
Prints the state that it left the order in.
"""

import sys
import threading
from pathlib import Path

from deadwatch.orders.order import Claim, Order
from redrive.move.task import WorkerContext
from redrive.settings import RedriveSettings
from redrive.worker import run
from tests.integration.redrive_place import Orders


class OneOrder(Orders):
    """An order that nobody else asks for; who finds that it was let go of stops."""

    stop = threading.Event()

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        if not (claim := super().claim(worker, now_ms, lease_ms)):
            self.stop.set()
        return claim


def main(order_file: str, epoch: str) -> None:
    order = Order.model_validate_json(Path(order_file).read_text())
    orders = OneOrder.of(order, most_claims=int(epoch))
    orders.claims[order.id] = Claim(order, int(epoch) - 1, 0)
    context = WorkerContext(RedriveSettings())
    run(orders, context, orders.stop, "test")
    reason = orders.reason.get(order.id)
    left = "RELEASED" if reason is None else f"{orders.status[order.id]} {reason}".strip()
    sys.stdout.write(left + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
