"""The demo's last act: dead letters are put back, through the api as anybody does it.

The consumer of the share group is mended: what it rejected is put back, and accepted. The sink is not mended:
what is put back there dies again, and as each record has had its one attempt, the next redrive parks it.
"""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.table import Table

from collector.contract.topics import PARKED_SUFFIX
from deadwatch import redrive_tables
from deadwatch.api_client import Api, RefusedError
from deadwatch.demo_acts import Act
from deadwatch.demo_truth import record_times
from lab import Lab, share
from lab.connect import FILESINK_DLQ

WITHIN_S: Final = 60
LOOK_EVERY_S: Final = 0.2
ONCE: Final[Mapping[str, object]] = {
    "retry": {"max_attempts": 1},
    "guards": {"max_bounce_ratio": None},  # it would stop a redrive whose records come back
}


@dataclass(frozen=True, slots=True)
class Redriven:
    """What was done: orders that the api calls COMPLETED, and records found on the topic of parked ones."""

    orders: int = 0
    parked: int = 0


class LastAct:
    """Three acts; ``present`` shows a dry run, ``done`` is what has been done so far."""

    def __init__(self, api: Api, present: Callable[[Table], None], records: int) -> None:
        self.done = Redriven()
        self._api, self._present, self._records = api, present, records

    @property
    def acts(self) -> Sequence[Act]:
        """In their order."""
        return (
            ("the share group is mended: its dead letters are put back", self._put_back),
            ("the sink is not mended: what is put back dies again", self._put_back_in_vain),
            ("each has had its one attempt: what came back is parked", self._park),
        )

    def _put_back(self, lab: Lab) -> None:
        self._redrive(share.DLQ, {"all": True}, "the consumer is mended")
        lab.accept_share_records(self._records)

    def _put_back_in_vain(self, lab: Lab) -> None:
        with lab.connect_records_return(self._records):
            self._redrive(FILESINK_DLQ, {"all": True}, "to see what happens", **ONCE)

    def _park(self, lab: Lab) -> None:
        self._redrive(FILESINK_DLQ, {"filter": "attempts > 0"}, "enough of them", **ONCE)
        parked = len(record_times(lab.bootstrap_servers, FILESINK_DLQ + PARKED_SUFFIX))
        self.done = replace(self.done, parked=parked)

    def _redrive(self, dlq_topic: str, selection: Mapping[str, object], reason: str, **more: object) -> None:
        """A dry run, then the order; returns when it is completed. Raises ``RefusedError`` when it is not."""
        request = {"dlq_topic": dlq_topic, "selection": selection, "reason": reason, **more}
        told = self._api.post("/redrives", {**request, "dry_run": True})
        self._present(redrive_tables.plan(told))
        confirmed = {**request, "dry_run": False, "confirm": told["plan"]["at_most"]}
        order = self._over(self._api.post("/redrives", confirmed, str(uuid.uuid4())))
        if order["status"] != "COMPLETED":
            why = order["status_reason"] or f"it was not done within {WITHIN_S} s"
            raise RefusedError(f"redrive {order['id']} is {order['status']}: {why}")
        self.done = replace(self.done, orders=self.done.orders + 1)

    def _over(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """The order when it runs no more, or has run for too long."""
        deadline_s = time.monotonic() + WITHIN_S
        while order["status"] == "RUNNING" and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
            order = self._api.get(f"/redrives/{order['id']}")
        return order
