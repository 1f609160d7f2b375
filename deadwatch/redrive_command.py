"""``deadwatch redrive``: a dry run is shown and confirmed, then the order is made and followed to its end."""

import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from deadwatch import redrive_tables
from deadwatch.api_client import DONE, INTERRUPTED, UNDONE, Api, SaidError

POLL_S: Final = 0.5
OVER: Final = frozenset({"COMPLETED", "CANCELLED", "FAILED"})
COUNTED_WITHIN_S: Final = 30
"""What an order did is counted a moment after its end: for so long that is waited for."""

Answer = Mapping[str, Any]
Ask = Callable[[str], bool]


def run(  # noqa: PLR0917 -- what was said, and the four ways to answer
    api: Api, request: dict[str, Any], dry: bool, yes: bool, as_json: bool, ask: Ask
) -> int:
    """The exit code: 0 the order is completed (or the dry run was all that was wanted), else 1.

    Raises:
        RefusedError: the api refuses, or nobody is there to confirm.
    """
    console = Console(quiet=as_json)
    told = api.post("/redrives", request)
    console.print(redrive_tables.plan(told))
    if dry:
        return _end(told, as_json, DONE)
    at_most = told["plan"]["at_most"]
    question = f"Move up to {at_most} records?" if told["plan"]["at_least"] else f"Move {at_most} records?"
    if not yes and not ask(question):
        return _end(told, as_json, UNDONE)
    order = api.post("/redrives", {**request, "dry_run": False, "confirm": at_most}, str(uuid.uuid4()))
    console.print(f"redrive {order['id']}: stop it with deadwatch cancel {order['id']}", highlight=False)
    return watch(api, order["id"], console, as_json)


def watch(api: Api, order: str, console: Console, as_json: bool) -> int:
    """Follow an order to its end; the exit code: 0 it is completed."""
    try:
        told = follow(api, order, console)
    except KeyboardInterrupt:
        console.print("it goes on; deadwatch jobs shows it", highlight=False)
        return INTERRUPTED
    console.print(redrive_tables.jobs([told]))
    return _end(told, as_json, DONE if told["status"] == "COMPLETED" else UNDONE)


def follow(api: Api, order: str, console: Console) -> Answer:
    """Show how far it is until it is over and counted, or paused; the order as it is then."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TextColumn("{task.fields[rate]}/s"),
        TimeRemainingColumn(),
    )
    polls_left = COUNTED_WITHIN_S / POLL_S
    with Progress(*columns, console=console) as bars:
        told: Answer = api.get(f"/redrives/{order}")
        bar = bars.add_task(told["status"], told="", rate="-")
        while True:
            rate, progress = told["records_per_second"], told["progress"]
            bars.update(
                bar,
                description=told["status"],
                total=progress["total"],
                completed=progress["done"],
                told=progress["text"],
                rate="-" if rate is None else rate,
            )
            over = told["status"] in OVER
            if told["status"] == "PAUSED" or (over and (progress["counted"] or polls_left <= 0)):
                return told
            polls_left -= over
            time.sleep(POLL_S)
            told = api.get(f"/redrives/{order}")


def ask_terminal(question: str) -> bool:
    """Ask whoever sits there. Raises ``SaidError`` where nobody does."""
    if not sys.stdin.isatty():
        raise SaidError("nobody is there to confirm: say --yes, or --dry-run")
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _end(told: Answer, as_json: bool, code: int) -> int:
    if as_json:
        print(json.dumps(told))
    return code
