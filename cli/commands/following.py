"""An order of redrive followed to its end, with its progress in the terminal."""

import time
from typing import TYPE_CHECKING, Final

from cli.api_client import Api, NoAnswerError
from cli.commands.output import Answer
from deadwatch.runtime.clock import monotonic_ms

if TYPE_CHECKING:
    from rich.console import Console

PATH: Final = "/redrives"
POLL_S: Final = 0.5
OVER: Final = frozenset({"COMPLETED", "CANCELLED", "FAILED"})
COUNTED_WITHIN_S: Final = 30
"""What an order did is counted a moment after its end: how long to wait for the last counts."""
AWAY_S: Final = 60
"""For how long an order is followed while the api gives no answer."""


def follow(api: Api, order_id: str, console: "Console") -> Answer:
    """Show how far an order is until it is over and counted, or paused; the order as it is then."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        TextColumn("{task.fields[rate]}/s"),
        TimeRemainingColumn(),
    )
    polls_left = COUNTED_WITHIN_S / POLL_S
    with Progress(*columns, console=console) as bars:
        order: Answer = api.get(f"{PATH}/{order_id}")
        bar = bars.add_task(order["status"], text="", rate="-")
        while True:
            rate, progress = order["records_per_second"], order["progress"]
            bars.update(
                bar,
                description=order["status"],
                total=progress["total"],
                completed=progress["done"],
                text=progress["text"],
                rate="-" if rate is None else rate,
            )
            over = order["status"] in OVER
            if order["status"] == "PAUSED" or (over and (progress["counted"] or polls_left <= 0)):
                return order
            polls_left -= over
            time.sleep(POLL_S)
            order = _looked_at(api, order_id)


def _looked_at(api: Api, order_id: str) -> Answer:
    """The order as it is now, from an api that may be away for ``AWAY_S``, as while it is started anew."""
    until_ms = monotonic_ms() + AWAY_S * 1_000  # a request that is not answered takes its own time
    while True:
        try:
            order: Answer = api.get(f"{PATH}/{order_id}")
        except NoAnswerError:
            if monotonic_ms() >= until_ms:
                raise
        else:
            return order
        time.sleep(POLL_S)
